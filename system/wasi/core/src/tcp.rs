//! Sockets of the system's network: a port at which a program listens, and the connections that come there.
//!
//! When the program ends, perhaps with the whole system, what it has sent last may still be under way. So the
//! end of each connection is asked for when it begins, and waited for when the program ends: of the last
//! [`MOST`] connections, and for [`PATIENCE`] at most. That is for sockets: the connection of a request by HTTP has
//! all that it is for when it is left, and its control would keep it from ending by itself.

use crate::errno::{Errno, Result};
use crate::host::Listener;
use crate::sing::{Sink, look};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use sing_sdk::contracts::{TcpConnectionContract, TcpFault};
use sing_sdk::io::Reader;
use sing_sdk::net::{Awaited, Joined, ip};
use sing_sdk::prelude::*;
use sing_sdk::program::Local;
use sing_sdk::rt::Handle;
use sing_sdk::time::Timeout;
use sing_sdk::{sync, time};

/// The channel of a connection whose end has been asked for.
pub(crate) type Ending = TcpConnectionContract::Imp<TcpConnectionContract::Joined_Wait>;

/// Connections whose ends are waited for.
const MOST: usize = 64;
/// How long, in all.
const PATIENCE: Duration = Duration::from_secs(2);

static ENDING: Local<Vec<Ending>> = Local::new();

/// Keeps a connection, and those before it that have not ended.
pub(crate) fn keep(joined: Joined) {
    ENDING.with(|all| {
        let all = all.get_or_insert_default();
        all.retain(|ending| look(ending.handle()) == Some(None));
        if all.len() == MOST {
            drop(all.remove(0));
        }
        all.push(joined.send_wait());
    });
}

/// The two ends of a connection, the local one first; `None` if the network has gone.
pub(crate) fn ends(joined: Joined) -> Option<(Joined, [SocketAddr; 2])> {
    let joined = joined.send_get_end_points();
    let (local, local_port, remote, remote_port, joined) = joined.recv_end_points().ok()?;
    let ends = [
        (ip(local), local_port).into(),
        (ip(remote), remote_port).into(),
    ];
    Some((joined, ends))
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

/// What an adapter gives a program as a socket that listens (a [`Port`]).
pub trait Listens {
    /// Waits for the next connection.
    ///
    /// # Errors
    /// Why it cannot be taken.
    fn accept(&mut self) -> Result<(Reader, Sink)>;
    /// The same, with the two ends of the connection, the local one first.
    ///
    /// # Errors
    /// Why it cannot be taken.
    fn accept_with_ends(&mut self) -> Result<(Reader, Sink, [SocketAddr; 2])>;
    /// What to wait for until there is one.
    fn handle(&self) -> Handle;
}

impl Listener for Box<dyn Listens> {
    type Source = Reader;
    type Sink = Sink;

    fn accept(&mut self) -> Result<(Reader, Sink)> {
        (**self).accept()
    }

    fn accept_with_ends(&mut self) -> Result<(Reader, Sink, [SocketAddr; 2])> {
        (**self).accept_with_ends()
    }

    fn is_ready(&self) -> bool {
        look(self.handle()) != Some(None)
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

impl Port {
    fn next(&mut self) -> Result<(Reader, Sink, Joined)> {
        let (connection, _) = self.0.accept().map_err(errno)?;
        let (output, input, joined) = connection.into_pipes().map_err(errno)?;
        Ok((input, Sink::Pipe(output), joined))
    }
}

impl Listens for Port {
    fn accept(&mut self) -> Result<(Reader, Sink)> {
        let (input, output, joined) = self.next()?;
        keep(joined);
        Ok((input, output))
    }

    fn accept_with_ends(&mut self) -> Result<(Reader, Sink, [SocketAddr; 2])> {
        let (input, output, joined) = self.next()?;
        let (joined, ends) = ends(joined).ok_or(Errno::Connaborted)?;
        keep(joined);
        Ok((input, output, ends))
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
