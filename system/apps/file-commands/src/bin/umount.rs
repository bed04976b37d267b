//! Takes a file system out of the name space.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::{failure::Failure, program, volume::Worker};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "umount",
    description: "takes a mounted file system away: umount AT [--force]",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Closes files that are open.
    force: flag "--force";
    /// Where it is mounted.
    at: one Path "AT";
}

fn act(names: &mut Names, arguments: &Arguments) -> Result<(), Failure> {
    Worker::bind(names)?.unmount(&arguments.at, arguments.force)
}

#[sing_sdk::main]
fn main(arguments: Arguments) -> i32 {
    match program::names("umount", startup::names()) {
        Ok(mut names) => program::report("umount", act(&mut names, &arguments)),
        Err(code) => code,
    }
}
