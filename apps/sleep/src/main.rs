//! Sleeps so many seconds.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;

sing_sdk::manifest! {
    name: "sleep",
    description: "sleeps SECONDS",
    endpoints: { stderr: optional PipeContract.Imp:Start },
}

#[sing_sdk::main]
fn main() -> i32 {
    let seconds = sing_sdk::args::get(1).and_then(|s| s.parse().ok());
    let Some(duration) = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()) else {
        eprintln!("usage: sleep SECONDS");
        return 2;
    };
    sing_sdk::thread::sleep(duration);
    0
}
