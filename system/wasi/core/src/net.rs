//! The network of a program that makes its own sockets: what the calls of `wasi:sockets` are made of.
//!
//! The system's own implementation is in [`system`]; tests have another. A program has a network if it was
//! given one; without, no socket is made and no name is looked up.

mod datagrams;
pub mod system;

use crate::host::Listener;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

/// Why something was not done, with the numbers of `wasi:sockets/network#error-code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)] // The interface's.
pub enum Code {
    Unknown = 0,
    AccessDenied = 1,
    NotSupported = 2,
    InvalidArgument = 3,
    OutOfMemory = 4,
    Timeout = 5,
    ConcurrencyConflict = 6,
    NotInProgress = 7,
    WouldBlock = 8,
    InvalidState = 9,
    NewSocketLimit = 10,
    AddressNotBindable = 11,
    AddressInUse = 12,
    RemoteUnreachable = 13,
    ConnectionRefused = 14,
    ConnectionReset = 15,
    ConnectionAborted = 16,
    DatagramTooLarge = 17,
    NameUnresolvable = 18,
    TemporaryResolverFailure = 19,
    PermanentResolverFailure = 20,
}

/// What the network answers.
pub type Answer<T = ()> = core::result::Result<T, Code>;

/// A connection's streams, and its two ends: the local one and the remote one.
pub type Connection<N> = (
    <N as Network>::Source,
    <N as Network>::Sink,
    [SocketAddr; 2],
);

/// A connection's streams, and its control.
pub type Controlled<N> = (
    <N as Network>::Source,
    <N as Network>::Sink,
    <N as Network>::Control,
);

/// A network. No call waits for anybody beyond it.
#[allow(clippy::missing_errors_doc)] // Why it could not be done.
pub trait Network {
    /// Bytes on their way.
    type Block;
    /// What is read of a connection.
    type Source;
    /// What is written of it.
    type Sink;
    /// A socket of TCP that is neither connected nor listens.
    type Tcp;
    /// A connection that is being made.
    type Connecting: Pending;
    /// What can end a connection.
    type Control: Control;
    /// A socket that listens.
    type Listener: Listener<Source = Self::Source, Sink = Self::Sink>;
    /// A socket of UDP without a port.
    type Udp;
    /// A socket of UDP.
    type Datagrams: Datagrams<Block = Self::Block>;
    /// A name that is being looked up.
    type Lookup: Pending;

    /// A socket of TCP; `AccessDenied` if the program may have none.
    fn tcp(&mut self) -> Answer<Self::Tcp>;
    /// Gives it an address and a port: the port, which is chosen for port 0.
    fn bind(&mut self, socket: &mut Self::Tcp, local: SocketAddr) -> Answer<u16>;
    /// Begins a connection.
    fn connect(&mut self, socket: Self::Tcp, remote: SocketAddr) -> Answer<Self::Connecting>;
    /// What has become of it, when it is ready.
    fn connected(&mut self, connecting: Self::Connecting) -> Answer<Connection<Self>>;
    /// The same, with what can end the connection.
    fn joined(&mut self, connecting: Self::Connecting) -> Answer<Controlled<Self>>;
    /// Listens at the port that the socket has; so many connections are taken before they are asked for.
    fn listen(&mut self, socket: Self::Tcp, backlog: u32) -> Answer<Self::Listener>;

    /// A socket of UDP; `AccessDenied` if the program may have none.
    fn udp(&mut self) -> Answer<Self::Udp>;
    /// Gives it an address and a port: what goes through it, and the port, which is drawn by `chance` for port 0. One
    /// that gets none can be tried again.
    fn open(
        &mut self,
        socket: &mut Self::Udp,
        local: SocketAddr,
        chance: u64,
    ) -> Answer<(Self::Datagrams, u16)>;

    /// Begins to look up a name, which is no address.
    fn look_up(&mut self, name: &str) -> Answer<Self::Lookup>;
    /// Its addresses, when it is ready: one at least.
    fn found(&mut self, lookup: Self::Lookup) -> Answer<Vec<IpAddr>>;
}

/// What is under way.
pub trait Pending {
    /// Whether there is an answer.
    fn is_ready(&self) -> bool;
}

/// The control of a connection. Dropping it leaves the connection to the network, which sends what it has been given,
/// and then ends it.
#[allow(clippy::missing_errors_doc)] // How the connection has ended.
pub trait Control: Pending {
    /// Ends the connection at once, with what is under way in both directions; one that was asked how it ends, is left.
    fn abort(self);
    /// Asks how the connection ends. There is an answer (`is_ready`) at once if the connection has ended by a fault,
    /// and else when both sides have ended their directions.
    fn ask(&mut self);
    /// The answer, once, when there is one: without a fault, all has come that was sent.
    fn ended(&mut self) -> Answer;
}

/// A datagram that has come: the block, so many bytes of it, and from where.
pub type Came<B> = (B, usize, SocketAddr);

/// What there is to receive, if anything.
pub type Received<B> = core::result::Result<Option<Came<B>>, (Option<SocketAddr>, Code)>;

/// The datagrams at a port.
#[allow(clippy::missing_errors_doc)] // Why it could not be done.
pub trait Datagrams {
    /// Bytes on their way.
    type Block;
    /// Takes what has come, without waiting; or the news that what was sent to there has not arrived. Without an
    /// address, nothing comes any more.
    fn receive(&mut self) -> Received<Self::Block>;
    /// Whether something has come, or the network has gone.
    fn has_come(&self) -> bool;
    /// Whether there is room for a datagram; the error of the one before, if it was not sent, once.
    fn room(&mut self) -> Answer<bool>;
    /// Whether that has an answer other than "no room".
    fn has_room(&self) -> bool;
    /// Sends a block as a datagram; `WouldBlock` if there is no room.
    fn send(&mut self, to: SocketAddr, block: Self::Block) -> Answer;
}

/// What a program waits for that is no stream.
pub enum Waited<'a, N: Network + ?Sized> {
    /// A connection that is being made.
    Connecting(&'a N::Connecting),
    /// Datagrams that come.
    Come(&'a N::Datagrams),
    /// Room for a datagram.
    Room(&'a N::Datagrams),
    /// A name that is being looked up.
    Lookup(&'a N::Lookup),
    /// The end of a connection that was asked how it ends.
    Ending(&'a N::Control),
}

impl<N: Network + ?Sized> Waited<'_, N> {
    /// Whether it is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        match self {
            Waited::Connecting(pending) => pending.is_ready(),
            Waited::Come(datagrams) => datagrams.has_come(),
            Waited::Room(datagrams) => datagrams.has_room(),
            Waited::Lookup(pending) => pending.is_ready(),
            Waited::Ending(control) => control.is_ready(),
        }
    }
}
