//! Disk driver and file system, killed at random moments while clients change files: each request
//! is answered, or can be made again when the file system is back; nothing that was synced is lost,
//! and nothing is left behind.
//!
//! `filestorm TIMES PATH` kills so often, on the file system mounted at PATH. Run as `filestorm
//! client`, it is such a client.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod client;
#[path = "../../clients.rs"]
mod clients;
#[path = "../../servicestorm/src/services.rs"]
#[allow(dead_code, reason = "servicestorm uses the rest")]
mod services;
#[path = "../../storm.rs"]
mod storm;

use clients::Clients;
use core::time::Duration;
use services::{Manager, wait_for};
use sing_sdk::fs::Directory;
use sing_sdk::prelude::*;
use sing_sdk::process::stop;
use sing_sdk::{system, time};
use storm::{Draw, State, left_behind, settled, verdict};

sing_sdk::manifest! {
    name: "filestorm",
    description: "kills the disk's driver and the file system while files change",
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
    /// The directory to work in: of the file system for the storm, of its own for a client.
    path: one String "PATH";
}

/// What is killed.
const NAMES: [&str; 3] = ["disk0", "files", "nameserver"];
const CLIENTS: u64 = 3;

struct Storm {
    manager: Manager,
    path: String,
    draw: Draw,
}

impl Storm {
    /// Waits until what is killed is up, and the file system is there.
    fn settle(&mut self) -> Result<(), Error> {
        for name in NAMES {
            // Begins its limit of restarts anew.
            let _ = self.manager.start(name);
            wait_for(&mut self.manager, name, |s| s.state == ServiceState::Up)?;
        }
        let path = &self.path;
        client::again(|| Directory::open(&mut self.manager.names, path).map(drop))
    }

    /// Kills so often under load; how many were killed, and how many clients failed.
    fn round(&mut self, times: u32) -> Result<(u32, u32), Error> {
        let mut clients = Clients::default();
        for number in 0..CLIENTS {
            let directory = format!("{}/storm{number}", self.path.trim_end_matches('/'));
            clients.start(&mut self.manager.names, &["filestorm", "0", &directory])?;
        }
        let mut killed = 0;
        while killed < times {
            let name = NAMES[self.draw.below(NAMES.len() as u64) as usize];
            let status = self.manager.status(name)?;
            if status.process > 0 && system::stop(status.process, stop::KILLED).is_ok() {
                killed += 1;
            }
            if status.process == 0 {
                // At once, and not when its back-off is over.
                let _ = self.manager.start(name);
            }
            // Often in the middle of a start, and often long enough for some work.
            let most = if self.draw.below(4) == 0 {
                30_000
            } else {
                3000
            };
            time::sleep(Duration::from_micros(self.draw.below(most)));
        }
        self.settle()?;
        Ok((killed, clients.end()?))
    }

    /// What the system has, when those that were killed have just started.
    fn memory(&mut self) -> Result<State, Error> {
        for name in NAMES {
            self.manager.restart(name)?;
        }
        self.settle()?;
        settled()
    }
}

fn kills(times: u32, path: String) -> Result<i32, Error> {
    let names = startup::names().ok_or(Error::NotFound)?;
    let manager = Manager::new(names)?;
    let mut storm = Storm {
        manager,
        path,
        draw: Draw(0x5eed),
    };
    storm.settle()?;
    storm.round(10)?;
    let before = storm.memory()?;
    let (killed, failed) = storm.round(times)?;
    let left = left_behind("filestorm", &before, 0, || storm.memory())?;
    Ok(verdict("filestorm", left, killed, failed, "clients"))
}

#[sing_sdk::main]
fn main(Arguments { times, path }: Arguments) -> Result<i32, Error> {
    match times {
        0 => client::run(&path),
        times => kills(times, path),
    }
}
