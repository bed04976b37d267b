//! A program that may make processes, for the tests of embedding: the kernel refuses to call it, as
//! what it made could outlive the call.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "brood",
    description: "makes processes, and is not called",
    privileges: [create],
    endpoints: { calls: CallContract.Exp:Start },
    memory: 4 MiB,
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    // It is not started; a program that is run from the prompt has no such endpoint.
    Err(Error::NotPermitted)
}
