//! The service: adds up the numbers of its clients.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use sing_sdk::prelude::*;
use {{crate}}::{{Name}}Contract;

sing_sdk::manifest! {
    name: "{{name}}",
    description: "adds up the numbers of its clients",
    endpoints: {
        stderr: optional PipeContract.Imp:Start,
        clients: many {{Name}}Contract.Exp:Start,
    },
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    {{crate}}::serve(startup::clients())?;
    Ok(())
}
