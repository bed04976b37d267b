//! The web server ([O] 6.3, [S] 5.1): HTTP/1.1 over `/tcp`. It serves files, and has the requests
//! below some paths answered by programs, each request by a process of its own.
//!
//! Each connection has a thread (`connection.rs`), so that none waits for another; what the bytes
//! mean is the library's affair (`lib.rs`), which is tested on the host.
//!
//! Invariants:
//! - No client can stop another: connections, requests, headers, bodies and waits are bounded, and
//!   a quiet connection makes way when there are as many as may be.
//! - A program costs one request when it crashes, hangs or talks nonsense.
//! - Nothing outside the directory of files is served.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod connection;
mod control;
mod exchange;
mod files;
mod grants;
mod pieces;
mod pool;
mod root;
mod server;
mod service;
mod sink;
mod slots;
mod spans;
mod storage;
mod trace;
mod wire;

use alloc::sync::Arc;
use server::Server;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::thread;
use web::config::{self, Config};

sing_sdk::manifest! {
    name: "web",
    description: "the web server, whose extensions are processes",
    category: service,
    privileges: [create],
    serves: { web: optional WebServerContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
    memory: 1 GiB,
}

sing_sdk::arguments! {
    /// The port, in place of the configuration's.
    port: option u32 "--port PORT";
    /// The configuration: the first of these files that is there.
    files: many String "FILE";
}

/// Reads the first configuration that is there; the usual one if none is.
fn configuration(names: &mut Names, files: &[String]) -> Result<Config, String> {
    for path in files {
        // More than may be is not read: its size alone says that it is too much.
        let read = storage::find(names, true, |names| {
            let mut file = names.open(path)?;
            let size = file.size()?;
            let whole = size <= config::MOST_BYTES as u64;
            let bytes = if whole {
                file.read_to_end()?
            } else {
                Vec::new()
            };
            Ok((size, bytes))
        });
        let (size, bytes) = match read {
            Ok(read) => read,
            Err(Error::NotFound) => continue,
            Err(e) => return Err(format!("{path}: {e}")),
        };
        if size > config::MOST_BYTES as u64 {
            return Err(format!(
                "{path}: {size} bytes; {} may be",
                config::MOST_BYTES
            ));
        }
        let text = String::from_utf8(bytes).map_err(|_| format!("{path}: is not UTF-8"))?;
        return Config::read(&text).map_err(|why| format!("{path}: {why}"));
    }
    Ok(Config::default())
}

#[sing_sdk::main]
fn main(Arguments { port, files }: Arguments) -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let mut config = match configuration(&mut names, &files) {
        Ok(config) => config,
        Err(why) => {
            eprintln!("web: {why}");
            return Ok(2);
        }
    };
    if let Some(port) = port {
        config.port = match u16::try_from(port) {
            Ok(port) if port > 0 => port,
            _ => {
                eprintln!("web: {port} is not a port: they go from 1 to 65535");
                return Ok(2);
            }
        };
    }
    let sender = match &config.spans {
        Some(_) => Some(Names::new(names.connect()?)?),
        None => None,
    };
    let further = match config.listen.clone() {
        Some(path) => Some((path, Names::new(names.connect()?)?)),
        None => None,
    };
    let server = Arc::new(Server::new(names, config)?);
    if let Some(sender) = sender {
        let shared = Arc::clone(&server);
        thread::spawn(move || spans::run(&shared, sender))?;
    }
    if let Some((path, mut names)) = further {
        let shared = Arc::clone(&server);
        thread::spawn(move || server::accept_at(&shared, &path, &mut names))?;
    }
    let shared = Arc::clone(&server);
    match startup::web() {
        None => server::accept(&server),
        Some(lookup) => {
            thread::spawn(move || server::accept(&shared))?;
            control::serve(&server, lookup)?;
        }
    }
    Ok(0)
}
