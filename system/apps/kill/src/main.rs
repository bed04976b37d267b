//! Ends processes, by number or by name, and what descends from them.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::inspect;
use sing_sdk::process::stop;
use sing_sdk::system::{Stop, stop_by};
use sing_sdk::usage::{Kind, Value};

sing_sdk::manifest! {
    name: "kill",
    description: "ends processes and what descends from them: kill [--only] [--force] ID|NAME…",
    privileges: [control, inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {
    /// Leave what descends from them running.
    only: flag "--only";
    /// Even if the system cannot do without it, and ends then.
    force: flag "--force";
    /// The numbers or names of the processes, as `ps` shows them.
    who: some Who "ID";
}

/// A process.
enum Who {
    Id(u32),
    Name(String),
}

impl Value for Who {
    const KIND: Kind = Kind::Process;

    fn parse(text: &str) -> Option<Who> {
        Self::KIND.accepts(text).then(|| {
            text.parse()
                .map_or_else(|_| Who::Name(text.into()), Who::Id)
        })
    }
}

/// The one process of this name.
fn named(name: &str) -> Result<u32, String> {
    let all = inspect::processes().map_err(|e| e.to_string())?;
    let ids: Vec<u32> = all
        .iter()
        .filter(|p| p.name == name)
        .map(|p| p.id)
        .collect();
    match &ids[..] {
        [id] => Ok(*id),
        [] => Err("no process has this name; `ps` shows all".into()),
        several => Err(format!(
            "{} processes have this name: {several:?}; say which by number",
            several.len()
        )),
    }
}

#[sing_sdk::main]
fn main(Arguments { only, force, who }: Arguments) -> i32 {
    let mut status = 0;
    for who in who {
        let (said, id) = match who {
            Who::Id(id) => (id.to_string(), Ok(id)),
            Who::Name(name) => {
                let id = named(&name);
                (name, id)
            }
        };
        let id = match id {
            Ok(id) => id,
            Err(reason) => {
                eprintln!("kill: {said}: {reason}");
                status = 1;
                continue;
            }
        };
        match stop_by(id, stop::KILLED, Stop { only, force }) {
            Ok(()) => continue,
            Err(Error::NotPermitted) => eprintln!(
                "kill: {said}: the system cannot do without this process and would end; `kill --force {said}` does it"
            ),
            Err(e) => eprintln!("kill: {said}: {e}"),
        }
        status = 1;
    }
    status
}
