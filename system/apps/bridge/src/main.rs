//! Channels to another machine, by a server that speaks the protocol of NATS. At the machine of a
//! service, `bridge out CONTRACT PATH SUBJECT SERVER` has requests that come for a subject carried out
//! by the service at a path. At another machine, `bridge in` with the same words registers a service
//! at a path, and sends what its clients ask to the subject.
//!
//! Each message is of the contract at both ends: what comes is taken apart by the contract's table,
//! and refused where it is not what the table says, or of another version of the contract. Nothing
//! is sent twice, so a request is carried out at most once.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod attempts;
mod inward;
mod link;
mod outward;
mod shape;

/// The code for each contract that is carried, made by `build/` from the contract.
mod bridged {
    #![allow(unused_variables, unreachable_pub)]
    include!(concat!(env!("OUT_DIR"), "/bridged.rs"));
}

use link::Server;
use shape::Bridged;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::contract!("remote.contract", use sing_sdk::contracts::ServiceContract);

/// The headers of a message: its contract, its name, and why there is no answer.
const CONTRACT: &str = "Sing-Contract";
const MESSAGE: &str = "Sing-Message";
const REFUSED: &str = "Sing-Refused";
sing_sdk::manifest! {
    name: "bridge",
    description: "channels to another machine, by a NATS server: bridge in|out CONTRACT PATH SUBJECT SERVER",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
    memory: 16 MiB,
}

sing_sdk::choices! {
    /// Which way requests go.
    Way: "in" In, "out" Out
}

sing_sdk::arguments! {
    /// in: a service elsewhere is used here; out: one of here is used elsewhere.
    way: one Way "in|out";
    /// The contract of the service.
    contract: one String "CONTRACT";
    /// Where the service is, or is to be.
    path: one Path "PATH";
    /// The subject of its requests.
    subject: one String "SUBJECT";
    /// The NATS server.
    server: one String "HOST:PORT";
}

fn run<B: Bridged>(
    names: Names,
    way: &Way,
    words: [&str; 2],
    server: Server,
) -> Result<i32, Error> {
    let [path, subject] = words;
    match way {
        Way::In => inward::run::<B>(names, path, subject, server),
        Way::Out => outward::run::<B>(names, path, subject, server),
    }
}

#[sing_sdk::main]
fn main(
    Arguments {
        way,
        contract,
        path,
        subject,
        server,
    }: Arguments,
) -> i32 {
    use bridged::{clock_contract, entropy_contract, remote_contract};
    let server = match Server::read(&server) {
        Ok(server) => server,
        Err(why) => {
            eprintln!("bridge: {why}");
            return 2;
        }
    };
    if let Some(why) = bridge::not_a_subject(&subject) {
        eprintln!("bridge: {subject}: {why}");
        return 2;
    }
    let Some(names) = startup::names().and_then(|names| Names::new(names).ok()) else {
        eprintln!("bridge: no name server");
        return 1;
    };
    let words = [path.as_str(), subject.as_str()];
    let known = [
        clock_contract::Carried::NAME,
        entropy_contract::Carried::NAME,
        remote_contract::Carried::NAME,
    ];
    let ended = match known.iter().position(|name| *name == contract) {
        Some(0) => run::<clock_contract::Carried>(names, &way, words, server),
        Some(1) => run::<entropy_contract::Carried>(names, &way, words, server),
        Some(_) => run::<remote_contract::Carried>(names, &way, words, server),
        None => {
            eprintln!(
                "bridge: {contract}: it carries {}; a program can speak only the contracts with which \
                 it was built (`system/apps/bridge/build/main.rs` names them)",
                known.join(", ")
            );
            return 2;
        }
    };
    match ended {
        Ok(status) => status,
        Err(error) => {
            eprintln!("bridge: {path}: {error}");
            1
        }
    }
}
