//! Moves and renames files and directories.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::failure::Failure;
use file_commands::place::Place;
use file_commands::{moving, open, program};
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "mv",
    description: "moves files and directories: mv PATH… TO",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// From where, and at the end to where: a directory, or a new name.
    paths: some String "PATH";
}

#[sing_sdk::main]
fn main(Arguments { paths }: Arguments) -> i32 {
    let Some((sources, to)) = program::to_last(&paths) else {
        return USAGE.refuse("the last PATH says to where, and is missing");
    };
    let to = match Place::new(to) {
        Ok(to) => to,
        Err(failure) => return program::report("mv", Err(failure)),
    };
    let mut names = match program::names("mv", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    if sources.len() > 1 {
        let outcome = open::is_directory(&mut names, &to).and_then(|is| match is {
            true => Ok(()),
            false => Err(Failure::because(to.path(), "is no directory for several")),
        });
        if outcome.is_err() {
            return program::report("mv", outcome);
        }
    }
    program::each("mv", sources, |from| {
        let to = open::destination(&mut names, &to, from.name())?;
        moving::move_to(&mut names, from, &to)
    })
}
