//! Moves and renames files and directories.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::{moving, program};
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "mv",
    description: "moves files and directories: mv PATH… TO",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// From where, and at the end to where: a directory, or a new name.
    paths: some Path "PATH";
}

#[sing_sdk::main]
fn main(Arguments { paths }: Arguments) -> i32 {
    let done = program::to_destination("mv", &paths, startup::names(), moving::move_to);
    done.unwrap_or_else(|| USAGE.refuse("the last PATH says to where, and is missing"))
}
