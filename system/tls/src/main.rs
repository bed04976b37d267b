//! Ends TLS before a server that speaks without: a process of its own, so that the key lies where no
//! request is read, and what reads requests has never seen the key.
//!
//! It serves `TcpConnectionContract` at a name, `/tls`, as the network does at `/tcp`: a server that
//! listens there gets connections whose handshake is over, from the client's own address, and plain
//! bytes over its pipes.
//!
//! Started as a command, it says what is wrong with its configuration.
//!
//! Invariants:
//! - Handshakes, those that wait to be taken, and connections are bounded in number, each in its
//!   bytes, and each handshake in its time.
//! - A connection that a client cuts is cut for the server, and the other way round: neither takes a
//!   part for the whole.
//! - Random bytes are the machine's; without them it does not start.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod gate;
mod handshake;
mod random;
mod relay;
mod wire;

use alloc::sync::Arc;
use gate::Gate;
use random::Device;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::thread;
use tls::config::{self, Config};
use tls::keys::{self, File};
use tls::provider::provider;

sing_sdk::manifest! {
    name: "tls",
    description: "ends TLS before a server that speaks without",
    category: service,
    serves: { tcp: optional TcpConnectionContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
    memory: 128 MiB,
}

sing_sdk::arguments! {
    /// The configuration.
    file: one String "FILE";
}

/// Those who are bound to its name: one listens, and a further one is refused.
const CLIENTS: usize = 16;

/// A file's bytes, of so many at most.
fn read(names: &mut Names, path: &str, most: usize) -> Result<Vec<u8>, String> {
    let unread = |error| format!("{path}: {error}");
    let mut file = names.open(path).map_err(unread)?;
    let size = file.size().map_err(unread)?;
    if size > most as u64 {
        return Err(format!("{path}: {size} bytes; {most} may be"));
    }
    file.read_to_end().map_err(unread)
}

/// The configuration, and what the server shows and signs with.
fn gate(names: &mut Names, path: &str) -> Result<Gate, String> {
    let text = read(names, path, config::MOST_BYTES).map_err(|why| {
        format!("{why}; it says `port`, `certificate` and `key`, a setting a line")
    })?;
    let text = String::from_utf8(text).map_err(|_| format!("{path}: is not UTF-8"))?;
    let config = Config::read(&text).map_err(|why| format!("{path}: {why}"))?;
    let mut pem = |path: &str| {
        let read = read(names, path, keys::MOST_BYTES);
        read.map_err(|why| format!("{why}; {}", keys::HOW))
    };
    let (certificate, key) = (pem(&config.certificate)?, pem(&config.key)?);
    let random = Device::new(names).map_err(|error| {
        let device = sing_sdk::entropy::PATH;
        format!("{device}: {error}; without random bytes there are no secrets")
    })?;
    let server = keys::server(
        provider(Box::leak(Box::new(random))),
        File {
            path: &config.certificate,
            bytes: &certificate,
        },
        File {
            path: &config.key,
            bytes: &key,
        },
    )?;
    let failed = |error: Error| format!("{path}: {error}");
    let own = names.connect().and_then(Names::new).map_err(failed)?;
    Gate::new(config, server, own).map_err(failed)
}

#[sing_sdk::main]
fn main(Arguments { file }: Arguments) -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let gate = match gate(&mut names, &file) {
        Ok(gate) => Arc::new(gate),
        Err(why) => {
            eprintln!("tls: {why}");
            return Ok(2);
        }
    };
    let Some(lookup) = startup::tcp() else {
        println!("{file}: nothing is wrong with it, its certificate and its key");
        return Ok(0);
    };
    let begin = TcpConnectionContract::Exp::send_success;
    let mut provider: Provider<_, _> = Provider::new(lookup, begin)?.at_most(CLIENTS);
    loop {
        switch_receive! {
            case provider.clients[key].BindLocalEndPoint(_address, _port) as client => {
                match gate.open() {
                    // The port is that of the configuration.
                    true => {
                        let bound = client.send_ok(gate.config.port);
                        // It goes on with the gate, and its messages are not for this set.
                        provider.clients.release(key, &bound);
                        let shared = Arc::clone(&gate);
                        if thread::spawn(move || gate::serve(&shared, bound)).is_err() {
                            gate.shut();
                        }
                    }
                    false => {
                        let refused = client.send_invalid_end_point(TcpFault::InUse);
                        provider.clients.put(key, refused);
                    }
                }
            }
            case provider.clients[key].Connect(_address, _port, _output, _input) as client => {
                provider.clients.put(key, client.send_failed(TcpFault::NotPermitted));
            }
            case provider.clients[key].Open(_output, _input) as client => {
                provider.clients.put(key, client.send_failed(TcpFault::NotPermitted));
            }
            case provider.clients[_].ChannelClosed() => {}
            case &provider.lookup => {
                if provider.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(0);
                }
            }
        }
    }
}
