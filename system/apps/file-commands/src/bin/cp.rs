//! Copies files and directories. Links are copied as links.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::copy::How;
use file_commands::failure::Failure;
use file_commands::place::Place;
use file_commands::{alone, moving, open, program};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "cp",
    description: "copies files: cp [-r] PATH… TO",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Directories too, with all below them.
    all: flag "-r";
    /// From where, and at the end to where: a directory, or a new name.
    paths: some Path "PATH";
}

fn copy(names: &mut Names, from: &Place, to: &Place, all: bool) -> Result<(), Failure> {
    let refused = |text: String| Err(Failure::because(from.path(), text));
    if program::again(|| open::is_directory(names, from))? {
        if !all {
            return refused("is a directory; `cp -r` copies it with all below it".into());
        }
        // Said before anything is made. Where a link leads back, the copy finds it on its way.
        if to.from(from).is_some() {
            return refused(format!("cannot be copied into itself, to {to}"));
        }
    }
    if alone::copy(names, from, to)? {
        return Ok(());
    }
    moving::copy_to(names, from, to, How::default())
}

#[sing_sdk::main]
fn main(Arguments { all, paths }: Arguments) -> i32 {
    let done = program::to_destination("cp", &paths, startup::names(), |names, from, to| {
        copy(names, from, to, all)
    });
    done.unwrap_or_else(|| USAGE.refuse("the last PATH says to where, and is missing"))
}
