//! Makes an empty file system on a disk.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::{failure::Failure, program, volume::Worker};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "format",
    description: "makes an empty file system: format DISK [--label LABEL] [--force]",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Also on a disk that holds something.
    force: flag "--force";
    /// The file system's label.
    label: option String "--label LABEL";
    /// The disk, by its path: /dev/disk0.
    disk: one Path "DISK";
}

fn act(names: &mut Names, arguments: &Arguments) -> Result<(), Failure> {
    let label = arguments.label.as_deref().unwrap_or_default();
    let worker = Worker::bind(names)?;
    let worker = worker.format(&arguments.disk, label, arguments.force)?;
    // A system without files: the way to them.
    if worker.mounts().is_ok_and(|(mounts, _)| mounts.is_empty()) {
        println!("{} is formatted; `mount {0} /` mounts it", arguments.disk);
    }
    Ok(())
}

#[sing_sdk::main]
fn main(arguments: Arguments) -> i32 {
    match program::names("format", startup::names()) {
        Ok(mut names) => program::report("format", act(&mut names, &arguments)),
        Err(code) => code,
    }
}
