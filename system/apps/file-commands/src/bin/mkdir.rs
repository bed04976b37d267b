//! Makes directories.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::failure::{Failure, is};
use file_commands::place::Place;
use file_commands::tree::is_directory;
use file_commands::{open, program};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "mkdir",
    description: "makes directories: mkdir [-p] PATH…",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Those above are made too, and one that exists is no error.
    parents: flag "-p";
    /// Their paths.
    paths: some Path "PATH";
}

/// Makes it, and those above it that there are not.
fn make_all(names: &mut Names, place: &Place) -> Result<(), Failure> {
    let mut opened = open::at(names, place)?;
    let ends = opened.path.match_indices('/').map(|(at, _)| at);
    for end in ends.chain([opened.path.len()]).filter(|end| *end > 0) {
        let path = &opened.path[..end];
        let outcome = match opened.directory.make_directory(path) {
            Err(error) if is(error, FileFault::Exists) => {
                // It may be a link to a directory.
                match opened.directory.attributes(path) {
                    Ok(there) if is_directory(&there) => Ok(()),
                    _ => Err(error),
                }
            }
            other => other,
        };
        outcome.map_err(Failure::of(opened.place.below(path).path()))?;
    }
    Ok(())
}

#[sing_sdk::main]
fn main(Arguments { parents, paths }: Arguments) -> i32 {
    let mut names = match program::names("mkdir", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    program::each("mkdir", &paths, |place| {
        if parents {
            return make_all(&mut names, place);
        }
        let mut opened = open::above(&mut names, place)?;
        let made = opened.directory.make_directory(&opened.path);
        made.map_err(Failure::of(place.path()))
    })
}
