//! Lists all processes.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::inspect::{self, State};

sing_sdk::manifest! {
    name: "ps",
    description: "lists all processes",
    privileges: [inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

fn state(state: State) -> &'static str {
    match state {
        State::Created => "created",
        State::Ready => "ready",
        State::Blocked => "blocked",
        State::Suspended => "suspended",
        State::Ended => "ended",
    }
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let mut table = format!(
        "{:>5} {:<14} {:<9} {:>7} {:>7} {:>11} {:>11} {:>6} {}\n",
        "ID", "NAME", "STATE", "THREADS", "PAGES", "EXCHANGE", "CPU", "PARENT", "ROLE"
    );
    for p in inspect::processes()? {
        table.push_str(&format!(
            "{:>5} {:<14} {:<9} {:>7} {:>7} {:>11} {:>11} {:>6} {}\n",
            p.id,
            p.name,
            state(p.state),
            p.threads,
            p.pages,
            p.exchange,
            format!("{:.1?}", Duration::from_nanos(p.cpu_ns)),
            p.parent,
            if p.essential { "essential" } else { "-" }
        ));
    }
    print!("{table}");
    Ok(())
}
