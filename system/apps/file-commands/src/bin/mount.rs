//! Mounts a file system; without arguments, says what is mounted.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use file_commands::{failure::Failure, program, volume::Worker};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "mount",
    description: "mounts a file system: mount [DISK AT] [--read-only]",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Nothing is written to the disk.
    read_only: flag "--read-only";
    /// The disk, by its path, and where its files are to be: /dev/disk0 / or /dev/disk1 /more.
    paths: many Path "DISK AT";
}

fn act(names: &mut Names, disk: &str, at: &str, read_only: bool) -> Result<(), Failure> {
    Worker::bind(names)?.mount(disk, at, read_only)
}

fn list(names: &mut Names) -> Result<(), Failure> {
    for mount in Worker::bind(names)?.mounts()?.0 {
        let line = alloc::format!(
            "{} on {} {} {}",
            mount.disk,
            mount.at,
            mount.mode,
            mount.label
        );
        println!("{}", line.trim_end());
    }
    Ok(())
}

#[sing_sdk::main]
fn main(arguments: Arguments) -> i32 {
    let mut names = match program::names("mount", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    let read_only = arguments.read_only;
    match &arguments.paths[..] {
        [disk, at] => program::report("mount", act(&mut names, disk, at, read_only)),
        [] if !read_only => program::report("mount", list(&mut names)),
        _ => USAGE.refuse("a disk and a mount point, or nothing"),
    }
}
