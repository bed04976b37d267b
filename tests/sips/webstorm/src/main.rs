//! Everything that serves a web page, killed at random moments while pages are fetched and files are
//! replaced: the card's driver, the network, the web server, programs that answer requests, the
//! disk's driver, the file system, the name server, the console, the clock and the service that shows
//! the system; and what is named besides. A client that asks again gets every page, with the right content; nothing that was
//! synced is lost, and nothing is left behind.
//!
//! `webstorm TIMES PORT FAR SERVICE...` kills so often: the web server is at PORT, and at the address FAR
//! is a machine beyond the card that fetches pages from this one; these services are there, too, and are
//! killed. Run as `webstorm 0 PORT FAR`, it is a
//! client.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

#[path = "../../webs/src/client.rs"]
#[allow(dead_code, reason = "webs uses the rest")]
mod client;
#[path = "../../clients.rs"]
mod clients;
mod pages;
#[path = "../../servicestorm/src/services.rs"]
#[allow(dead_code, reason = "servicestorm uses the rest")]
mod services;
#[path = "../../storm.rs"]
mod storm;

use clients::Clients;
use core::time::Duration;
use pages::Pages;
use services::{Manager, wait_for};
use sing_sdk::prelude::*;
use sing_sdk::process::stop;
use sing_sdk::{inspect, system, time};
use storm::{Draw, State, left_behind, settled, verdict};

sing_sdk::manifest! {
    name: "webstorm",
    description: "kills whatever serves the web while pages are fetched",
    privileges: [create, inspect, control],
    endpoints: {
        until: optional PipeContract.Exp:Start,
        stdout: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
    memory: 64 MiB,
}

sing_sdk::arguments! {
    /// How often to kill; 0 is a client.
    times: one u32 "TIMES";
    /// The web server's port.
    port: one u32 "PORT";
    /// A machine beyond the card.
    far: one String "FAR";
    /// Further services to kill.
    more: many String "SERVICE";
}

/// The services that are killed on every machine.
const SERVICES: [&str; 9] = [
    "nic0",
    "network",
    "web",
    "disk0",
    "files",
    "nameserver",
    "console",
    "clock",
    "watch",
];
/// The programs that answer requests.
const EXTENSIONS: [&str; 2] = ["web-hello", "web-try"];
/// Pages that programs may have more: as many requests at once need memory that stays theirs, and
/// how many are at once is left to chance. What each of hundreds of kills leaves behind is more.
const KEPT: u64 = 128;
/// The longest pause between two kills in microseconds: in one of four cases, and in the others.
const PAUSES: [u64; 2] = [60_000, 5_000];

struct Storm {
    manager: Manager,
    port: u16,
    far: String,
    services: Vec<String>,
    draw: Draw,
}

impl Storm {
    /// Waits until all services are up and all pages come.
    fn settle(&mut self) -> Result<(), Error> {
        for name in &self.services {
            // Begins its limit of restarts anew.
            let _ = self.manager.start(name);
            wait_for(&mut self.manager, name, |s| s.state == ServiceState::Up)?;
        }
        let pages = Pages::new(&mut self.manager.names, self.port, &self.far).all();
        pages.inspect_err(|_| self.tell())
    }

    /// Says how the services are, and which names there are.
    fn tell(&mut self) {
        for name in &self.services {
            match self.manager.status(name) {
                Ok(s) => println!(
                    "webstorm: {name}: {:?}, process {}, {}",
                    s.state, s.process, s.reason
                ),
                Err(error) => println!("webstorm: {name}: {error}"),
            }
        }
        match self.manager.names.list("/") {
            Ok(all) => all
                .iter()
                .for_each(|found| println!("webstorm: {}", found.path)),
            Err(error) => println!("webstorm: /: {error}"),
        }
    }

    /// The process of a service or a program, if it has one now.
    fn victim(&mut self) -> Result<Option<u32>, Error> {
        let count = (self.services.len() + EXTENSIONS.len()) as u64;
        let chosen = self.draw.below(count) as usize;
        let Some(name) = self.services.get(chosen) else {
            let name = EXTENSIONS[chosen - self.services.len()];
            let all = inspect::processes()?;
            return Ok(all.iter().find(|p| p.name == name).map(|p| p.id));
        };
        let process = self.manager.status(name)?.process;
        if process == 0 {
            // At once, and not when its back-off is over.
            let _ = self.manager.start(name);
            return Ok(None);
        }
        Ok(Some(process))
    }

    /// Kills so often under load; how many were killed, and how many clients failed.
    fn round(&mut self, times: u32) -> Result<(u32, u32), Error> {
        let mut clients = Clients::default();
        let (port, far) = (self.port.to_string(), self.far.clone());
        for _ in 0..2 {
            clients.start(&mut self.manager.names, &["webstorm", "0", &port, &far])?;
        }
        clients.start(&mut self.manager.names, &["filestorm", "0", "/storm"])?;
        let mut killed = 0;
        while killed < times {
            if let Some(process) = self.victim()?
                && system::stop(process, stop::KILLED).is_ok()
            {
                killed += 1;
            }
            let pause = PAUSES[usize::from(self.draw.below(4) != 0)];
            time::sleep(Duration::from_micros(self.draw.below(pause)));
        }
        self.settle()?;
        let failed = clients.end()?;
        Ok((killed, failed))
    }

    /// What the system has, when those that were killed have just started.
    fn memory(&mut self) -> Result<State, Error> {
        for name in &self.services {
            self.manager.restart(name)?;
        }
        self.settle()?;
        settled()
    }
}

#[sing_sdk::main]
fn main(arguments: Arguments) -> Result<i32, Error> {
    let Arguments {
        times,
        port,
        far,
        more,
    } = arguments;
    let port = u16::try_from(port).map_err(|_| Error::BadArgument)?;
    let names = startup::names().ok_or(Error::NotFound)?;
    if times == 0 {
        return pages::client(names, port, &far);
    }
    let mut storm = Storm {
        manager: Manager::new(names)?,
        port,
        far,
        services: SERVICES.map(String::from).into_iter().chain(more).collect(),
        draw: Draw(0x5eed),
    };
    storm.settle()?;
    storm.round(20)?;
    let before = storm.memory()?;
    let (killed, failed) = storm.round(times)?;
    let left = left_behind("webstorm", &before, KEPT, || storm.memory())?;
    Ok(verdict("webstorm", left, killed, failed, "clients"))
}
