//! Removes files, links, and directories with all below them.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::failure::{Failure, is};
use file_commands::place::Place;
use file_commands::{moving, open, program};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "rm",
    description: "removes files: rm [-r] [-f] PATH…",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Directories too, with all below them.
    all: flag "-r";
    /// What is not there is no error.
    force: flag "-f";
    /// Their paths.
    paths: some Path "PATH";
}

fn remove(names: &mut Names, place: &Place, all: bool) -> Result<(), Failure> {
    if all {
        return moving::remove_at(names, place);
    }
    let mut opened = open::above(names, place)?;
    match opened.directory.remove(&opened.path) {
        Err(error) if is(error, FileFault::IsDirectory) => {
            let text = "is a directory; `rm -r` removes it with all below it";
            Err(Failure::because(place.path(), text))
        }
        removed => removed.map_err(Failure::of(place.path())),
    }
}

#[sing_sdk::main]
fn main(Arguments { all, force, paths }: Arguments) -> i32 {
    let mut names = match program::names("rm", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    program::each("rm", &paths, |place| match remove(&mut names, place, all) {
        Err(failure) if force && failure.is_not_found() => Ok(()),
        outcome => outcome,
    })
}
