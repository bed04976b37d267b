//! Lists all channels: contract, and for each end its owner, its state, and the number of waiting
//! messages.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::inspect::{self, ChannelEnd};

sing_sdk::manifest! {
    name: "channels",
    description: "lists all channels",
    privileges: [inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

fn end(end: &ChannelEnd) -> String {
    let owner = match end.owner {
        None => "in a message".into(),
        Some(0) => "kernel".into(),
        Some(id) => format!("{}({id})", end.name),
    };
    let closed = if end.closed { " closed" } else { "" };
    format!("{owner} {}{closed}, {} queued", end.state, end.queued)
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let mut table = format!(
        "{:>5} {:<18} {:<38} {}\n",
        "ID", "CONTRACT", "IMPORTING SIDE", "EXPORTING SIDE"
    );
    for c in inspect::channels()? {
        let [imp, exp] = &c.ends;
        table.push_str(&format!(
            "{:>5} {:<18} {:<38} {}\n",
            c.id,
            c.contract,
            end(imp),
            end(exp)
        ));
    }
    print!("{table}");
    Ok(())
}
