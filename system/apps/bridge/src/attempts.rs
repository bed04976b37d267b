//! Attempts to connect, one after the other.
//!
//! Invariants:
//! - They follow each other at growing distances, from [`WAITS`]`.0` to `.1`; the shortest comes back
//!   only behind a connection that has held.
//! - A server that is away for days does not fill the log: the same reason is logged at the first,
//!   second, fourth, eighth attempt, and so on.

use crate::link::{Link, Server};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;

/// The waits between two attempts: the first, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How long a connection must have held that the next attempt is a first one again.
const HELD: Duration = Duration::from_secs(10);

pub struct Attempts {
    server: Server,
    wait: Duration,
    /// Since when there is a connection.
    since: Option<Duration>,
    /// Why the last attempt, or its connection, has ended, and how often in a row it was that.
    ended: String,
    times: u32,
}

impl Attempts {
    pub fn new(server: Server) -> Attempts {
        Attempts {
            server,
            wait: WAITS.0,
            since: None,
            ended: String::new(),
            times: 0,
        }
    }

    /// Connects, and says to the server what `first` says.
    ///
    /// # Errors
    /// Why there is no connection; [`Attempts::ended`] is told of it.
    pub fn connect(&mut self, names: &mut Names, first: &[u8]) -> Result<Link, String> {
        let mut link = Link::open(names, &self.server)?;
        link.send(first)?;
        // One that connects each time, and then ends, is told of as rarely as its end.
        if self.times < 2 || (self.times + 1).is_power_of_two() {
            sing_sdk::log!("{}: connected", self.server.host);
        }
        self.since = Some(uptime());
        Ok(link)
    }

    /// There is no connection, or none any more; returns how long to wait for the next attempt.
    pub fn ended(&mut self, why: &str) -> Duration {
        let since = self.since.take();
        if since.is_some_and(|since| uptime().saturating_sub(since) >= HELD) {
            self.wait = WAITS.0;
            self.times = 0;
        }
        if self.ended != why {
            self.ended = why.into();
            self.times = 0;
        }
        self.times = self.times.saturating_add(1);
        if self.times.is_power_of_two() {
            let Server { host, port } = &self.server;
            match self.times {
                1 => sing_sdk::log!("{host}:{port}: {why}"),
                times => sing_sdk::log!("{host}:{port}: {why} ({times} times)"),
            }
        }
        let wait = self.wait;
        self.wait = (self.wait * 2).min(WAITS.1);
        wait
    }
}
