//! Tries the file system through its contracts: what it promises, errors, a model, and what is left
//! after kills of clients, drivers and itself.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod basic;
mod stage;

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
}

#[sing_sdk::main]
fn main(Arguments { part }: Arguments) -> i32 {
    match part.as_str() {
        "basic" => checks::run("filetest", basic::ALL.iter().copied()),
        other => {
            println!("filetest: there is no part {other}");
            2
        }
    }
}
