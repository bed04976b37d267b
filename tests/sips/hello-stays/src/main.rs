//! Says hello, and is there for as many seconds as its argument says. `cargo xtask bench hello` has it
//! beside programs in other languages that do the same.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;

sing_sdk::manifest! {
    name: "hello-stays",
    description: "says hello and stays: hello-stays [SECONDS]",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    stack: 8 KiB,
}

sing_sdk::arguments! {
    /// How long it stays.
    seconds: default u32 = 0, "SECONDS";
}

#[sing_sdk::main]
fn main(Arguments { seconds }: Arguments) {
    println!("Hello.");
    sing_sdk::time::sleep(Duration::from_secs(seconds.into()));
}
