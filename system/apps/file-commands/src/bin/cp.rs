//! Copies files and directories. Links are copied as links.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::time::Duration;
use file_commands::copy::How;
use file_commands::failure::Failure;
use file_commands::place::Place;
use file_commands::{moving, open, program};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time;

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
    if open::is_directory(names, from)? {
        if !all {
            return refused("is a directory; `cp -r` copies it with all below it".into());
        }
        // Said before anything is made. Where a link leads back, the copy finds it on its way.
        if to.from(from).is_some() {
            return refused(format!("cannot be copied into itself, to {to}"));
        }
    }
    // A service that is ended under a copy comes back. All is copied once more then: what had been
    // copied may be lost, too, if the file system has not written it down.
    for _ in 0..ATTEMPTS {
        match moving::copy_to(names, from, to, How::default()) {
            Err(failure) if failure.is_closed() => time::sleep(WAIT),
            done => return done,
        }
    }
    moving::copy_to(names, from, to, How::default())
}

/// How often a copy is begun again after an end of a service in the middle of it.
const ATTEMPTS: u32 = 3;
/// The wait before that, for a service that is started again in 10 ms.
const WAIT: Duration = Duration::from_millis(50);

#[sing_sdk::main]
fn main(Arguments { all, paths }: Arguments) -> i32 {
    let done = program::to_destination("cp", &paths, startup::names(), |names, from, to| {
        copy(names, from, to, all)
    });
    done.unwrap_or_else(|| USAGE.refuse("the last PATH says to where, and is missing"))
}
