//! Watches over the web server of the system that `sing serve` makes: its main program.
//!
//! `wasi-server AWAITED` waits until there is something at the paths of AWAITED (with commas between them, or
//! nothing), has the web server started by asking for it, and says on the console when it listens: `listening`,
//! or `not listening` if it does not within some seconds. Whatever comes from the console, or its end, has the
//! web server answer what is under way and end, and then the system; what comes after that ends it at once.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::client;
use sing_sdk::console::{self, LINE_INPUT, LINE_OUTPUT};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::sync::{Interrupt, wait};
use sing_sdk::time::{Timeout, sleep, uptime};
use sing_sdk::{args, process, thread};

sing_sdk::manifest! {
    name: "wasi-server",
    description: "starts the web server, says when it listens, and ends it in order",
    privileges: [console],
    uses: { "/httpd": WebServerContract },
    endpoints: { names: NamespaceContract.Imp:Start },
}

/// How the server says that it does not listen yet.
const WAITS: &str = "waits for the network";
/// How long it is waited for, and between two looks.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(2);
/// The server answers what is under way for five seconds at most.
const STOPPING: Duration = Duration::from_secs(10);
/// The status of a system that is ended at once, as a shell has it for Ctrl-C.
const INTERRUPTED: i32 = 130;

type Server = WebServerContract::Imp<WebServerContract::Ready>;

/// Says a line to who has started the system.
fn say(line: &str) -> Result<(), Error> {
    let room = Interrupt::new(LINE_OUTPUT)?;
    let mut bytes = line.as_bytes();
    while !bytes.is_empty() {
        match console::write(bytes)? {
            0 => {
                wait(&room, Timeout::FOREVER)?;
                room.acknowledge();
            }
            taken => bytes = bytes.get(taken..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Waits until something comes from the console, or its end.
fn told(typed: &Interrupt) {
    let mut word = [0; 16];
    while let Ok(0) = console::read(&mut word) {
        if wait(typed, Timeout::FOREVER).is_err() {
            return;
        }
        typed.acknowledge();
    }
}

/// The server, once it listens; `None` if it does not.
fn listening(names: &mut Names) -> Result<Option<Server>, Error> {
    let mut server = client::bind(names, "/httpd", WebServerContract::connect)?;
    let end = uptime() + PATIENCE;
    loop {
        let (text, next) = server.call_get_status().status()?;
        if !text.to_lossy().contains(WAITS) {
            return Ok(Some(next));
        }
        if uptime() >= end {
            return Ok(None);
        }
        sleep(LOOK);
        server = next;
    }
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let words: Vec<_> = args::rest();
    let mut names = Names::given(startup::names())?;
    let awaited = words.first().map_or("", |word| word.as_str());
    names.await_paths(awaited.split(',').filter(|path| !path.is_empty()), PATIENCE);
    let Ok(Some(server)) = listening(&mut names) else {
        say("not listening\n")?;
        return Ok(1);
    };
    say("listening\n")?;
    let typed = Interrupt::new(LINE_INPUT)?;
    told(&typed);
    thread::spawn(move || {
        // At the end of input there is nothing more to come.
        let mut word = [0; 16];
        while let Ok(0) = console::read(&mut word) {
            if wait(&typed, Timeout::FOREVER).is_err() {
                return;
            }
            typed.acknowledge();
        }
        if word[0] != 0 {
            process::exit(INTERRUPTED);
        }
    })?;
    // It may have been started anew meanwhile.
    let server = match server.call_get_status().status() {
        Ok((_, server)) => server,
        Err(_) => match listening(&mut names) {
            Ok(Some(server)) => server,
            _ => return Ok(0),
        },
    };
    if let Ok(server) = server.call_stop().stopping() {
        // Until it has ended.
        let _ = wait(&server, Timeout::from(STOPPING));
    }
    Ok(0)
}
