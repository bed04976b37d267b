//! Removes empty directories.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::failure::Failure;
use file_commands::{open, program};
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "rmdir",
    description: "removes empty directories: rmdir PATH…",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Their paths.
    paths: some Path "PATH";
}

#[sing_sdk::main]
fn main(Arguments { paths }: Arguments) -> i32 {
    let mut names = match program::names("rmdir", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    program::each("rmdir", &paths, |place| {
        let mut opened = open::above(&mut names, place)?;
        let removed = opened.directory.remove_directory(&opened.path);
        removed.map_err(Failure::of(place.path()))
    })
}
