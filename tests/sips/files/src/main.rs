//! Tries the file system through its contracts: what it promises, errors, a model, and what is left
//! after kills of clients, drivers and itself.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod basic;
mod bench;
mod changes;
mod copies;
mod faults;
mod flood;
mod kills;
mod late;
mod model;
mod names;
mod slow;
mod stage;
mod volumes;
mod watching;

#[path = "../../checks.rs"]
mod checks;

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "filetest",
    description: "tries the file system",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Which of the checks.
    part: one String "PART";
    /// Of a storm, the directory.
    at: optional String "AT";
}

#[sing_sdk::main]
fn main(Arguments { part, at }: Arguments) -> i32 {
    match part.as_str() {
        "basic" => checks::run(
            "filetest",
            basic::ALL
                .iter()
                .chain(names::ALL)
                .chain(watching::ALL)
                .chain(changes::ALL)
                .copied(),
        ),
        "volumes" => checks::run("filetest", volumes::ALL.iter().copied()),
        "faults" => checks::run("filetest", faults::ALL.iter().copied()),
        "model" => checks::run("filetest", model::ALL.iter().copied()),
        "kills" => checks::run("filetest", kills::ALL.iter().copied()),
        "late" => checks::run("filetest", late::ALL.iter().copied()),
        "copies" => checks::run("filetest", copies::ALL.iter().copied()),
        "flood" => checks::run("filetest", [("a flood of requests", flood::flood)]),
        "beside" => checks::run("filetest", [("beside a flood", flood::beside)]),
        "bench" => bench::run(),
        "storm" => kills::storm(&at.unwrap_or_default()),
        other => {
            println!("filetest: there is no part {other}");
            2
        }
    }
}
