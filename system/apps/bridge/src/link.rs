//! A connection to a NATS server.
//!
//! Invariant: nothing waits for a server without end. One that does not greet, or does not take what
//! it is sent, is left.

use bridge::{Bad, CONNECT, Lines, PONG, Said};
use core::time::Duration;
use sing_sdk::io::{LARGEST, Reader, Writer};
use sing_sdk::names::Names;
use sing_sdk::net::{self, Joined};
use sing_sdk::prelude::*;
use sing_sdk::sync;
use sing_sdk::time::{Timeout, uptime};

/// How long a server may take to greet.
const GREETING: Duration = Duration::from_secs(5);
/// How long it may take to take what it is sent.
const TAKING: Duration = Duration::from_secs(2);

/// Where a server is.
#[derive(Clone, Debug)]
pub struct Server {
    pub host: String,
    pub port: u16,
}

impl Server {
    /// Reads `HOST:PORT`, or `HOST`, whose port is the usual one.
    pub fn read(text: &str) -> Result<Server, String> {
        let (host, port) = match text.rsplit_once(':') {
            // An address of IPv6 has more than one, and stands in brackets if a port follows.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().ok().filter(|port| *port != 0))
            }
            _ => (text, Some(4222)),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match port {
            Some(port) if !host.is_empty() && !host.contains('/') => Ok(Server {
                host: host.into(),
                port,
            }),
            _ => Err(format!(
                "{text}: not a server; write HOST:PORT, such as 10.0.2.2:4222"
            )),
        }
    }
}

/// A connection that has been greeted.
pub struct Link {
    pub input: Reader,
    output: Writer,
    lines: Lines,
    /// It has been told since something came that somebody is there.
    told: bool,
    joined: Option<Joined>,
}

/// One that is left ends at once: otherwise the network would take what the server sends for a while.
impl Drop for Link {
    fn drop(&mut self) {
        if let Some(joined) = self.joined.take() {
            drop(joined.send_abort());
        }
    }
}

impl Link {
    /// Connects and waits for the greeting.
    ///
    /// # Errors
    /// Why there is no connection.
    pub fn open(names: &mut Names, server: &Server) -> Result<Link, String> {
        let path = format!("/tcp/{}/{}", server.host, server.port);
        let connected = net::connect(names, &path).and_then(net::Connection::into_pipes);
        let (output, input, joined) = connected.map_err(|e| e.to_string())?;
        let mut link = Link {
            input,
            output,
            lines: Lines::default(),
            told: false,
            joined: Some(joined),
        };
        let end = uptime() + GREETING;
        let Said::Info(about) = link.wait(end)? else {
            return Err("it does not say INFO: no server of NATS".into());
        };
        if let Some(why) = bridge::unfit(&about) {
            return Err(why);
        }
        link.send(CONNECT)?;
        loop {
            match link.wait(end)? {
                Said::Pong => return Ok(link),
                Said::Error(why) => return Err(format!("it says {why}")),
                _ => {}
            }
        }
    }

    /// The next thing that it says, waited for until a time.
    fn wait(&mut self, end: Duration) -> Result<Said, String> {
        loop {
            // What is there already is no reason to go on: there may be no end of it.
            if uptime() >= end {
                return Err("it does not greet".into());
            }
            if let Some(said) = self.said().map_err(|bad| bad.to_string())? {
                return Ok(said);
            }
            let left = end.saturating_sub(uptime());
            if sync::wait(&self.input, Timeout::from(left)).is_err() {
                return Err("it does not greet".into());
            }
            self.receive()?;
        }
    }

    /// Takes what has come, which must be something.
    pub fn receive(&mut self) -> Result<(), String> {
        let block = self.input.receive().ok_or("it has ended the connection")?;
        self.lines.push(&block.to_vec());
        self.told = false;
        Ok(())
    }

    /// The next thing that has been said as a whole.
    pub fn said(&mut self) -> Result<Option<Said>, Bad> {
        self.lines.said()
    }

    /// Sends bytes; those before must have been taken.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        // In pieces for none of which the writer waits by itself.
        for piece in bytes.chunks(LARGEST) {
            let taken = self.output.settle_within(Timeout::from(TAKING));
            let sent = taken.and_then(|()| self.output.write(piece));
            sent.map_err(|e| match e {
                Error::Timeout => "it does not take what it is sent".into(),
                e => e.to_string(),
            })?;
        }
        Ok(())
    }

    /// Answers what a server asks of any client, once for all that has come together: each answer may
    /// have to wait. Why the connection is at its end, if it is.
    pub fn keep(&mut self, said: &Said) -> Result<(), String> {
        match said {
            Said::Ping if self.told => Ok(()),
            Said::Ping => {
                self.told = true;
                self.send(PONG)
            }
            Said::Error(why) => Err(format!("it says {why}")),
            _ => Ok(()),
        }
    }
}
