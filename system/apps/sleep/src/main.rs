//! Sleeps so many seconds.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;

sing_sdk::manifest! {
    name: "sleep",
    description: "sleeps SECONDS",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {
    /// How long.
    duration: one Duration "SECONDS";
}

#[sing_sdk::main]
fn main(Arguments { duration }: Arguments) {
    sing_sdk::thread::sleep(duration);
}
