//! An extension of the web server that never answers, and whose manifest says how long that may take.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;
use sing_sdk::web;

sing_sdk::manifest! {
    name: "web-late",
    description: "an extension of the web server that is late",
    endpoints: { requests: WebContract.Exp:Start, stderr: optional PipeContract.Imp:Start },
    memory: 4 MiB,
    deadline: 300 ms,
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    web::serve(startup::requests().ok_or(Error::NotFound)?, |_| {
        loop {
            core::hint::spin_loop();
        }
    })
}
