//! Calls preview 1's functions as an ordinary program would, with a piece of its own memory in the
//! place of the program's: files on a disk, pipes with another thread at their other end, clocks.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod files;
mod program;
mod streams;

#[path = "../../checks.rs"]
mod checks;
#[allow(
    dead_code,
    reason = "the stage of the tests of files, of which these need a part"
)]
#[path = "../../files/src/stage.rs"]
mod stage;

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "wasitest",
    description: "tries the calls of ordinary programs",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

#[sing_sdk::main]
fn main() -> i32 {
    checks::run("wasitest", files::ALL.iter().chain(streams::ALL).copied())
}
