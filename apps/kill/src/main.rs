//! Ends processes.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "kill",
    description: "ends processes: kill ID…",
    privileges: [control],
    endpoints: { stderr: optional PipeContract.Imp:Start },
}

#[sing_sdk::main]
fn main() -> i32 {
    let ids = sing_sdk::args::rest();
    if ids.is_empty() {
        eprintln!("usage: kill ID…");
        return 2;
    }
    let mut status = 0;
    for id in ids {
        let ended = id.parse().map_err(|_| Error::BadArgument).and_then(|id| {
            // What a stop by hand looks like to the parent; as in other shells, 128 and the signal.
            sing_sdk::system::stop(id, 137)
        });
        if let Err(e) = ended {
            eprintln!("kill: {id}: {e}");
            status = 1;
        }
    }
    status
}
