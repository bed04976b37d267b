//! Prints its arguments, all of them: as POSIX says, it takes no options, `--help` included.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "echo",
    description: "prints its arguments",
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

#[sing_sdk::main]
fn main() {
    println!("{}", sing_sdk::args::rest().join(" "));
}
