//! Says hello.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "hello",
    description: "says hello",
    endpoints: { stdout: optional PipeContract.Imp:Start },
    stack: 8 KiB,
}

#[sing_sdk::main]
fn main() {
    let id = sing_sdk::process::id();
    println!("Hello from a sealed process, number {id}.");
}
