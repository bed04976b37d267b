//! An extension of the web server: greets whoever the query names.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;
use sing_sdk::web::{self, Response};

sing_sdk::manifest! {
    name: "web-hello",
    description: "an extension of the web server that says hello",
    endpoints: { requests: WebContract.Exp:Start, stderr: optional PipeContract.Imp:Start },
    memory: 4 MiB,
    deadline: 2 s,
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    web::serve(startup::requests().ok_or(Error::NotFound)?, |request| {
        let name = request
            .parameter("name")
            .unwrap_or_else(|| "stranger".into());
        let number = sing_sdk::process::id();
        Response::text(&format!(
            "Hello, {name}, from a process of your own, number {number}.\n"
        ))
    })
}
