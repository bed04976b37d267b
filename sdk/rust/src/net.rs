//! The network: connections of TCP, where what goes into one pipe comes out of the other side's;
//! datagrams of UDP ([`Datagrams`]); names of hosts ([`look_up`]), and whether they answer ([`Echo`]).
//!
//! ```
//! use sing_sdk::names::Names;
//! use sing_sdk::net;
//! use sing_sdk::prelude::*;
//!
//! /// What a server says of itself, up to the end of the connection.
//! fn greeting(names: &mut Names) -> Result<Vec<u8>, Error> {
//!     let (mut output, mut input, _connection) = net::connect(names, "/tcp/127.0.0.1/7")?.into_pipes()?;
//!     output.write(b"hello\n")?;
//!     output.settle()?;
//!     drop(output);
//!     Ok(input.read_to_end())
//! }
//! ```
//!
//! A program that only passes data on gives its own pipes away: [`Connection::open`] takes standard
//! input and output as well as any other, and the program has nothing to do with the data.

mod awaited;
mod datagrams;
mod hosts;

pub use awaited::Awaited;
pub use datagrams::{Came, Datagrams, Incoming, Outgoing};
pub use hosts::{Echo, Link, explain, links, look_up, query};

use crate::Error;
use crate::contracts::{IpAddress, PipeContract, TcpConnectionContract, TcpFault};
use crate::io::{Reader, Writer};
use crate::names::Names;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The end of a pipe from which the network reads.
pub type Output = PipeContract::Exp<PipeContract::Start>;
/// The end of a pipe into which the network writes.
pub type Input = PipeContract::Imp<PipeContract::Start>;
/// The channel of a connection: to wait for its end, or to end it.
pub type Joined = TcpConnectionContract::Imp<TcpConnectionContract::Joined>;

type Ready = TcpConnectionContract::Imp<TcpConnectionContract::Ready>;

impl fmt::Display for TcpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TcpFault::None => "the connection has ended",
            TcpFault::Refused => "connection refused",
            TcpFault::Reset => "the other side has reset the connection",
            TcpFault::TimedOut => "the other side does not answer",
            TcpFault::Unreachable => "there is no way to this address",
            TcpFault::NotLocal => "not an address of this machine",
            TcpFault::InUse => "the port is in use",
            TcpFault::NotPermitted => {
                "not permitted, by the name that was bound or by the machine's option `--net`"
            }
            TcpFault::NoResources => "the network has no room for it",
            TcpFault::Down => "the network is down",
            TcpFault::NoName => "no host has this name",
            TcpFault::NoServer => "no server of names is known, or none answers",
            TcpFault::TooLong => "longer than a datagram may be",
        })
    }
}

/// An address, as contracts have it.
#[must_use]
pub fn address(ip: IpAddr) -> IpAddress {
    let bits = match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    let bits = bits.to_bits();
    IpAddress {
        high: (bits >> 64) as u64,
        low: bits as u64,
    }
}

/// An address of a contract.
#[must_use]
pub fn ip(address: IpAddress) -> IpAddr {
    let bits = u128::from(address.high) << 64 | u128::from(address.low);
    Ipv6Addr::from_bits(bits).to_canonical()
}

/// One address for all that its owner has: an address of IPv6 stands for the network of 64 bits that it is in, as whoever
/// has one has the others of that; one of IPv4 for itself, also within IPv6.
#[must_use]
pub fn owner(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

fn bind(names: &mut Names, path: &str) -> Result<Ready, Error> {
    let (imp, exp) = TcpConnectionContract::new_channel()?;
    names.bind(path, exp)?;
    Ok(imp.recv_success()?)
}

/// A connection whose other side is known, and that is not open yet.
#[derive(Debug)]
pub struct Connection(Ready);

/// A connection to where a path says: `/tcp/10.0.2.2/80`.
///
/// # Errors
/// Those of [`Names::bind`].
pub fn connect(names: &mut Names, path: &str) -> Result<Connection, Error> {
    bind(names, path).map(Connection)
}

impl Connection {
    /// Has the network connect these pipes with the other side, and waits until it is done.
    ///
    /// # Errors
    /// [`Error::Network`] if there is no connection: the pipes are closed then.
    pub fn open(self, output: Output, input: Input) -> Result<Joined, Error> {
        use TcpConnectionContract::imp::Connecting;
        match self.0.call_open(output, input) {
            Connecting::Connected(joined) => Ok(joined),
            Connecting::Failed(reason, _) => Err(Error::Network(reason)),
            Connecting::Closed => Err(Error::Closed),
        }
    }

    /// Opens it for this program: what it writes to, what it reads from, and the channel.
    ///
    /// # Errors
    /// As [`Connection::open`], and [`Error::NoResources`] if handles are short.
    pub fn into_pipes(self) -> Result<(Writer, Reader, Joined), Error> {
        let (output, from) = PipeContract::new_channel()?;
        let (to, input) = PipeContract::new_channel()?;
        let joined = self.open(from, to)?;
        Ok((Writer::new(output), Reader::new(input), joined))
    }
}

/// Waits until a connection has ended in both directions.
///
/// # Errors
/// [`Error::Network`] with how it has ended, if before its time.
pub fn wait(joined: Joined) -> Result<(), Error> {
    use TcpConnectionContract::imp::Joined_Wait;
    match joined.call_wait() {
        Joined_Wait::Ended(TcpFault::None, _) => Ok(()),
        Joined_Wait::Ended(reason, _) => Err(Error::Network(reason)),
        Joined_Wait::Closed => Err(Error::Closed),
    }
}

/// A port at which connections are taken.
pub struct Listener {
    channel: Option<TcpConnectionContract::Imp<TcpConnectionContract::Listens>>,
    port: u16,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({})", self.port)
    }
}

impl Listener {
    /// Listens: at the port of a path as `/tcp/listen/80`, or, with `/tcp`, at the one that is said.
    /// So many connections are taken before they are asked for.
    ///
    /// # Errors
    /// Those of [`Names::bind`], and [`Error::Network`].
    pub fn new(
        names: &mut Names,
        path: &str,
        local: SocketAddr,
        backlog: u32,
    ) -> Result<Listener, Error> {
        use TcpConnectionContract::imp::{BindResult, ListenResult};
        let ready = bind(names, path)?;
        let (port, bound) = match ready.call_bind_local_end_point(address(local.ip()), local.port())
        {
            BindResult::OK(port, bound) => (port, bound),
            BindResult::InvalidEndPoint(reason, _) => return Err(Error::Network(reason)),
            BindResult::Closed => return Err(Error::Closed),
        };
        match bound.call_listen(backlog) {
            ListenResult::Listening(listens) => Ok(Listener {
                channel: Some(listens),
                port,
            }),
            ListenResult::Failed(reason, _) => Err(Error::Network(reason)),
            ListenResult::Closed => Err(Error::Closed),
        }
    }

    /// The channel, for another process.
    ///
    /// # Errors
    /// [`Error::Closed`] if the network has gone.
    pub fn into_channel(
        self,
    ) -> Result<TcpConnectionContract::Imp<TcpConnectionContract::Listens>, Error> {
        self.channel.ok_or(Error::Closed)
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the next connection; it, and from where it comes.
    ///
    /// # Errors
    /// [`Error::Network`] if it cannot be taken, [`Error::Closed`] if the network has gone.
    pub fn accept(&mut self) -> Result<(Connection, SocketAddr), Error> {
        use TcpConnectionContract::imp::Accepting;
        let (imp, exp) = TcpConnectionContract::new_channel()?;
        match self.channel.take().ok_or(Error::Closed)?.call_accept(exp) {
            Accepting::Accepted(address, port, next) => {
                self.channel = Some(next);
                Ok((Connection(imp.recv_success()?), (ip(address), port).into()))
            }
            Accepting::NotAccepted(reason, _, next) => {
                self.channel = Some(next);
                Err(Error::Network(reason))
            }
            Accepting::Closed => Err(Error::Closed),
        }
    }
}
