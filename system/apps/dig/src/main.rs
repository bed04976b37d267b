//! Shows what the servers of DNS know of a host.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_packets::dns::{self, Answer, Name};
use sing_sdk::names::Names;
use sing_sdk::net;

sing_sdk::manifest! {
    name: "dig",
    description: "shows what DNS knows of a host: dig NAME [TYPE]",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// The host.
    name: one String "NAME";
    /// The type of the records: A, AAAA, MX, TXT, TYPE65; A and AAAA if it is left out.
    kind: optional String "TYPE";
}

/// Prints the records of a type; how many.
fn show(names: &mut Names, name: &Name, kind: u16) -> Result<usize, Error> {
    let (message, age) = net::query(names, name.as_str(), kind)?;
    // The number of the question is the network's business.
    let id = message
        .first_chunk()
        .map_or(0, |id| u16::from_be_bytes(*id));
    let answer = Answer::read(&message, id, name, kind).ok_or(Error::BadState)?;
    for record in &answer.records {
        let left = Duration::from_secs(record.seconds.into()).saturating_sub(age);
        let kind = dns::kind_name(record.kind);
        println!(
            "{:<24} {:>6}  {kind:<6} {}",
            record.name,
            left.as_secs(),
            record.text
        );
    }
    if answer.truncated {
        eprintln!("dig: {name}: the server has more than fits one datagram; the rest is not shown");
    }
    Ok(answer.records.len())
}

#[sing_sdk::main]
fn main(Arguments { name, kind }: Arguments) -> Result<i32, Error> {
    let Some(host) = Name::parse(&name) else {
        eprintln!("dig: {name}: no name of a host; write one such as example.org");
        return Ok(2);
    };
    let kinds = match kind.as_deref().map(dns::kind) {
        None => vec![dns::A, dns::AAAA],
        Some(Some(kind)) => vec![kind],
        Some(None) => {
            let kind = kind.unwrap_or_default();
            eprintln!("dig: {kind}: no type of records; write one such as AAAA, MX or TYPE65");
            return Ok(2);
        }
    };
    let mut names = Names::given(startup::names())?;
    let mut shown = 0;
    for kind in kinds {
        match show(&mut names, &host, kind) {
            Ok(count) => shown += count,
            Err(error) => {
                eprintln!("dig: {name}: {error}");
                return Ok(1);
            }
        }
    }
    if shown == 0 {
        eprintln!("dig: {name}: has no such records");
        return Ok(1);
    }
    Ok(0)
}
