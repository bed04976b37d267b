//! Ends processes, and what descends from them.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::process::stop;
use sing_sdk::system::{Stop, stop_by};
use sing_sdk::usage::Value;

sing_sdk::manifest! {
    name: "kill",
    description: "ends processes and what descends from them: kill [--only] [--force] ID…",
    privileges: [control],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Leave what descends from them running.
    only: flag "--only";
    /// Even if the system cannot do without it, and ends then.
    force: flag "--force";
    /// The numbers of the processes, as `ps` shows them.
    ids: some Id "ID";
}

/// The number of a process.
struct Id(u32);

impl Value for Id {
    // For who types `kill -9 5`.
    const KIND: &'static str =
        "the number of a process; there are no signals: `kill ID`, `kill --force ID`";

    fn parse(text: &str) -> Option<Id> {
        text.parse().ok().map(Id)
    }
}

#[sing_sdk::main]
fn main(Arguments { only, force, ids }: Arguments) -> i32 {
    let mut status = 0;
    for Id(id) in ids {
        match stop_by(id, stop::KILLED, Stop { only, force }) {
            Ok(()) => continue,
            Err(Error::NotPermitted) => eprintln!(
                "kill: {id}: the system cannot do without this process and would end; `kill --force {id}` does it"
            ),
            Err(e) => eprintln!("kill: {id}: {e}"),
        }
        status = 1;
    }
    status
}
