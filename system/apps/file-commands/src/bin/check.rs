//! Looks whether a file system is without faults.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::{failure::Failure, program, volume::Worker};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "check",
    description: "looks for faults in the file system on a disk: check DISK",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// The disk, by its path; its file system must not be mounted.
    disk: one Path "DISK";
}

fn act(names: &mut Names, disk: &str) -> Result<u32, Failure> {
    let (problems, lines) = Worker::bind(names)?.check(disk)?;
    print!("{lines}");
    println!("{disk}: {problems} problems");
    Ok(problems)
}

#[sing_sdk::main]
fn main(Arguments { disk }: Arguments) -> i32 {
    let mut names = match program::names("check", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    match act(&mut names, &disk) {
        Ok(problems) => i32::from(problems > 0),
        Err(failure) => program::report("check", Err(failure)),
    }
}
