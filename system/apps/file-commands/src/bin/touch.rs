//! Makes empty files; those that exist get the time of now.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::failure::{Failure, is};
use file_commands::{open, program};
use sing_sdk::fs::Options;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "touch",
    description: "makes empty files, or sets their times: touch PATH…",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Their paths.
    paths: some Path "PATH";
}

#[sing_sdk::main]
fn main(Arguments { paths }: Arguments) -> i32 {
    let mut names = match program::names("touch", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    let now = u64::try_from(sing_sdk::time::utc().as_nanos()).unwrap_or(sing_sdk::fs::KEEP);
    program::each("touch", &paths, |place| {
        let mut opened = open::at(&mut names, place)?;
        let made = match opened
            .directory
            .open_with(&opened.path, Options::create_new())
        {
            Err(error) if is(error, FileFault::Exists) || opened.path.is_empty() => {
                opened.directory.set_times(&opened.path, now, now)
            }
            made => made.map(drop),
        };
        made.map_err(Failure::of(place.path()))
    })
}
