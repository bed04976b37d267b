//! Says hello.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "hello",
    description: "says hello",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    stack: 8 KiB,
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) {
    let id = sing_sdk::process::id();
    println!("Hello from a sealed process, number {id}.");
}
