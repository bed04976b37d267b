//! Sockets of the system's network: a port at which a program listens, and the connections that come there.
//!
//! When the program ends, perhaps with the whole system, what it has sent last may still be under way. So the
//! end of each connection is asked for when it begins, and waited for when the program ends: of the last
//! [`MOST`] connections, and for [`PATIENCE`] at most.

use crate::errno::{Errno, Result};
use crate::sing::{Listens, Sink, look};
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::contracts::{TcpConnectionContract, TcpFault};
use sing_sdk::io::Reader;
use sing_sdk::net::{Awaited, Joined};
use sing_sdk::prelude::*;
use sing_sdk::program::Local;
use sing_sdk::rt::Handle;
use sing_sdk::time::Timeout;
use sing_sdk::{sync, time};

/// The channel of a connection whose end has been asked for.
type Ending = TcpConnectionContract::Imp<TcpConnectionContract::Joined_Wait>;

/// Connections whose ends are waited for.
const MOST: usize = 64;
/// How long, in all.
const PATIENCE: Duration = Duration::from_secs(2);

static ENDING: Local<Vec<Ending>> = Local::new();

/// Keeps a connection, and those before it that have not ended.
fn keep(joined: Joined) {
    ENDING.with(|all| {
        let all = all.get_or_insert_default();
        all.retain(|ending| look(ending.handle()) == Some(None));
        if all.len() == MOST {
            drop(all.remove(0));
        }
        all.push(joined.send_wait());
    });
}

/// Waits until what was sent has arrived, when the program has ended and given up all that it had.
pub fn linger() {
    let end = time::uptime() + PATIENCE;
    let all = ENDING.with(Option::take).unwrap_or_default();
    for ending in all {
        let left = end.saturating_sub(time::uptime());
        if sync::wait(&ending, Timeout::from(left)).is_err() {
            return;
        }
    }
}

/// A port, whose next connection is always asked for.
#[derive(Debug)]
pub struct Port(Awaited);

impl Port {
    /// A port that listens.
    ///
    /// # Errors
    /// If handles are short.
    pub fn new(
        channel: TcpConnectionContract::Imp<TcpConnectionContract::Listens>,
    ) -> core::result::Result<Port, Error> {
        Awaited::new(channel).map(Port)
    }
}

impl Listens for Port {
    fn accept(&mut self) -> Result<(Reader, Sink)> {
        let (connection, _) = self.0.accept().map_err(errno)?;
        let (output, input, joined) = connection.into_pipes().map_err(errno)?;
        keep(joined);
        Ok((input, Sink::Pipe(output)))
    }

    fn handle(&self) -> Handle {
        self.0.handle()
    }
}

fn errno(error: Error) -> Errno {
    match error {
        Error::Network(TcpFault::NoResources) | Error::NoResources => Errno::Nobufs,
        Error::Network(TcpFault::Down) | Error::Closed => Errno::Netdown,
        _ => Errno::Connaborted,
    }
}
