//! Waits until all changes of file systems are safe from a power cut.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::failure::Failure;
use file_commands::{open, program};
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "sync",
    description: "makes changes safe from a power cut: sync PATH…",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Something in each file system.
    paths: some Path "PATH";
}

#[sing_sdk::main]
fn main(Arguments { paths }: Arguments) -> i32 {
    let mut names = match program::names("sync", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    program::each("sync", &paths, |place| {
        let mut opened = open::at(&mut names, place)?;
        let found = opened.attributes().map(drop);
        let synced = found.and_then(|()| opened.directory.sync());
        synced.map_err(Failure::of(place.path()))
    })
}
