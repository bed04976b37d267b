//! The system's network: the contracts of TCP, of datagrams and of names.
//!
//! Each socket is a channel of the network service's, which the program's name space leads to; so what may be
//! reached is what that name space names, and what a socket has is on the program's account there.

use super::datagrams::{Datagrams, Udp};
use super::{Answer, Code, Connection, Controlled, Waited};
use crate::sing::{Sink, look};
use crate::tcp::{self, Ending, Listens, Port};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::net::{IpAddr, SocketAddr};
use sing_sdk::contracts::{
    PipeContract, ResolveContract, TcpConnectionContract, TcpFault, UdpContract,
};
use sing_sdk::io::{Reader, Writer};
use sing_sdk::names::Names;
use sing_sdk::net::{Joined, address, ip};
use sing_sdk::prelude::*;
use sing_sdk::rt::{Handle, Text};

/// Names of the network's services.
const TCP: &str = "/tcp";
const UDP: &str = "/udp";
const DNS: &str = "/dns";

/// The first of the ports that are drawn (RFC 6335); those above have its bits.
const FREE: u16 = 49152;
/// Ports that are tried for port 0: one that is free in the system may be taken at the host.
const ATTEMPTS: usize = 8;

/// The network as a name space leads to it.
#[derive(Debug)]
pub struct SystemNetwork {
    names: Rc<RefCell<Names>>,
    /// Only some of what is beyond the system can be reached.
    bounded: bool,
}

impl SystemNetwork {
    /// With a name space, by which perhaps only some of what is beyond the system can be reached.
    #[must_use]
    pub const fn new(names: Rc<RefCell<Names>>, bounded: bool) -> SystemNetwork {
        SystemNetwork { names, bounded }
    }
}

/// The reason that a program gets.
pub(super) const fn code(fault: TcpFault) -> Code {
    match fault {
        TcpFault::None => Code::Unknown,
        TcpFault::Refused => Code::ConnectionRefused,
        TcpFault::Reset => Code::ConnectionReset,
        TcpFault::TimedOut => Code::Timeout,
        TcpFault::Unreachable | TcpFault::Down => Code::RemoteUnreachable,
        TcpFault::NotLocal => Code::AddressNotBindable,
        TcpFault::InUse => Code::AddressInUse,
        TcpFault::NotPermitted => Code::AccessDenied,
        TcpFault::NoResources => Code::NewSocketLimit,
        TcpFault::NoName => Code::NameUnresolvable,
        TcpFault::NoServer => Code::TemporaryResolverFailure,
        TcpFault::TooLong => Code::DatagramTooLarge,
    }
}

/// The reason for which there is no channel: a name space without the network has none.
fn unbound(error: Error) -> Code {
    match error {
        Error::Network(fault) => code(fault),
        Error::NoResources => Code::NewSocketLimit,
        Error::Closed => Code::RemoteUnreachable,
        _ => Code::AccessDenied,
    }
}

pub(super) fn short(_: impl Sized) -> Code {
    Code::OutOfMemory
}

/// Whether an endpoint has a message, or is closed.
pub(super) fn has_come(handle: Handle) -> bool {
    look(handle) != Some(None)
}

/// A socket of TCP.
#[derive(Debug)]
pub enum Tcp {
    /// Nothing has been done with it.
    Ready(TcpConnectionContract::Imp<TcpConnectionContract::Ready>),
    /// It has a port.
    Bound(TcpConnectionContract::Imp<TcpConnectionContract::BoundLocally>),
    /// The network has gone.
    Gone,
}

/// A connection that is being made.
#[derive(Debug)]
pub struct Connecting {
    channel: TcpConnectionContract::Imp<TcpConnectionContract::Connecting>,
    output: Writer,
    input: Reader,
}

impl Connecting {
    fn become_of(self) -> Answer<(Reader, Sink, Joined)> {
        use TcpConnectionContract::imp::Connecting as Become;
        match self.channel.recv() {
            Become::Connected(joined) => Ok((self.input, Sink::Pipe(self.output), joined)),
            Become::Failed(fault, _) => Err(code(fault)),
            Become::Closed => Err(Code::RemoteUnreachable),
        }
    }
}

impl super::Pending for Connecting {
    fn is_ready(&self) -> bool {
        has_come(self.channel.handle())
    }
}

/// A connection's channel; none, if the connection has ended. To drop it takes no operation of the contract, so that
/// programs that make no connection can have the code for it.
#[derive(Debug)]
pub struct Control {
    joined: Option<Joined>,
    /// The same, when the network was asked how the connection ends.
    ending: Option<Ending>,
}

impl super::Pending for Control {
    fn is_ready(&self) -> bool {
        let ending = self.ending.as_ref();
        ending.is_some_and(|ending| has_come(ending.handle()))
    }
}

impl super::Control for Control {
    fn abort(self) {
        if let Some(joined) = self.joined {
            drop(joined.send_abort());
        }
    }

    fn ask(&mut self) {
        if let Some(joined) = self.joined.take() {
            self.ending = Some(joined.send_wait());
        }
    }

    fn ended(&mut self) -> Answer {
        use TcpConnectionContract::imp::Joined_Wait as Ended;
        let ending = self.ending.take().ok_or(Code::InvalidState)?;
        match ending.recv() {
            Ended::Ended(TcpFault::None, _) => Ok(()),
            Ended::Ended(fault, _) => Err(code(fault)),
            Ended::Closed => Err(Code::RemoteUnreachable),
        }
    }
}

/// A name that is being looked up.
#[derive(Debug)]
pub struct Lookup(ResolveContract::Imp<ResolveContract::Ready_Lookup>);

impl super::Pending for Lookup {
    fn is_ready(&self) -> bool {
        has_come(self.0.handle())
    }
}

impl super::Network for SystemNetwork {
    type Block = Vector<u8>;
    type Source = Reader;
    type Sink = Sink;
    type Tcp = Tcp;
    type Connecting = Connecting;
    type Control = Control;
    type Listener = Box<dyn Listens>;
    type Udp = Udp;
    type Datagrams = Datagrams;
    type Lookup = Lookup;

    fn tcp(&mut self) -> Answer<Tcp> {
        let (imp, exp) = TcpConnectionContract::new_channel().map_err(short)?;
        self.names.borrow_mut().bind(TCP, exp).map_err(unbound)?;
        let ready = imp.recv_success();
        ready
            .map(Tcp::Ready)
            .map_err(|closed| unbound(closed.into()))
    }

    fn bind(&mut self, socket: &mut Tcp, local: SocketAddr) -> Answer<u16> {
        use TcpConnectionContract::imp::BindResult;
        let Tcp::Ready(ready) = core::mem::replace(socket, Tcp::Gone) else {
            return Err(Code::InvalidState);
        };
        match ready.call_bind_local_end_point(address(local.ip()), local.port()) {
            BindResult::OK(port, bound) => {
                *socket = Tcp::Bound(bound);
                Ok(port)
            }
            BindResult::InvalidEndPoint(fault, ready) => {
                *socket = Tcp::Ready(ready);
                Err(code(fault))
            }
            BindResult::Closed => Err(Code::AddressNotBindable),
        }
    }

    fn connect(&mut self, socket: Tcp, remote: SocketAddr) -> Answer<Connecting> {
        let (output, from) = PipeContract::new_channel().map_err(short)?;
        let (to, input) = PipeContract::new_channel().map_err(short)?;
        let (there, port) = (address(remote.ip()), remote.port());
        let channel = match socket {
            Tcp::Ready(ready) => ready.send_connect(there, port, from, to),
            Tcp::Bound(bound) => bound.send_connect(there, port, from, to),
            Tcp::Gone => return Err(Code::RemoteUnreachable),
        };
        Ok(Connecting {
            channel,
            output: Writer::new(output),
            input: Reader::new(input),
        })
    }

    fn connected(&mut self, connecting: Connecting) -> Answer<Connection<Self>> {
        let (input, output, joined) = connecting.become_of()?;
        let (joined, ends) = tcp::ends(joined).ok_or(Code::ConnectionAborted)?;
        tcp::keep(joined);
        Ok((input, output, ends))
    }

    fn joined(&mut self, connecting: Connecting) -> Answer<Controlled<Self>> {
        let (input, output, joined) = connecting.become_of()?;
        let control = Control {
            joined: Some(joined),
            ending: None,
        };
        Ok((input, output, control))
    }

    fn listen(&mut self, socket: Tcp, backlog: u32) -> Answer<Box<dyn Listens>> {
        use TcpConnectionContract::imp::ListenResult;
        let Tcp::Bound(bound) = socket else {
            return Err(Code::InvalidState);
        };
        match bound.call_listen(backlog) {
            ListenResult::Listening(listens) => {
                let port = Port::new(listens).map_err(short)?;
                Ok(Box::new(port))
            }
            ListenResult::Failed(fault, _) => Err(code(fault)),
            ListenResult::Closed => Err(Code::AddressNotBindable),
        }
    }

    fn udp(&mut self) -> Answer<Udp> {
        let (imp, exp) = UdpContract::new_channel().map_err(short)?;
        self.names.borrow_mut().bind(UDP, exp).map_err(unbound)?;
        let ready = imp.recv_success();
        ready.map(Udp::new).map_err(|closed| unbound(closed.into()))
    }

    /// For port 0, the port is drawn here and asked for: one that was asked for has those beyond the system, too. Where
    /// not all of them may be reached, such a port is one of the host's loopback and leads nowhere else. So a socket of
    /// all addresses asks for none then, and is given one of the host's when it first sends something there.
    fn open(
        &mut self,
        socket: &mut Udp,
        local: SocketAddr,
        chance: u64,
    ) -> Answer<(Datagrams, u16)> {
        if self.bounded && local.port() == 0 && local.ip().is_unspecified() {
            return socket.open(local);
        }
        let mut drawn = chance;
        for _ in 0..ATTEMPTS {
            let port = match local.port() {
                0 => FREE | drawn as u16,
                port => port,
            };
            match socket.open(SocketAddr::new(local.ip(), port)) {
                Err(Code::AddressInUse) if local.port() == 0 => {
                    drawn = drawn.rotate_right(16).wrapping_add(1)
                }
                opened => return opened,
            }
        }
        Err(Code::AddressInUse)
    }

    fn look_up(&mut self, name: &str) -> Answer<Lookup> {
        let (imp, exp) = ResolveContract::new_channel().map_err(short)?;
        let denied = |error| match unbound(error) {
            Code::AccessDenied => Code::PermanentResolverFailure,
            code => code,
        };
        self.names.borrow_mut().bind(DNS, exp).map_err(denied)?;
        let ready = imp
            .recv_success()
            .map_err(|_| Code::TemporaryResolverFailure)?;
        let name = Text::new(name).map_err(short)?;
        Ok(Lookup(ready.send_lookup(name)))
    }

    fn found(&mut self, lookup: Lookup) -> Answer<Vec<IpAddr>> {
        use ResolveContract::imp::Ready_Lookup as Found;
        match lookup.0.recv() {
            Found::Addresses(all, _) => Ok(all.iter().map(ip).collect()),
            Found::NotFound(fault, _) => Err(code(fault)),
            Found::Closed => Err(Code::TemporaryResolverFailure),
        }
    }
}

impl Waitable for Waited<'_, SystemNetwork> {
    fn handle(&self) -> Handle {
        match self {
            Waited::Connecting(connecting) => connecting.channel.handle(),
            Waited::Come(datagrams) => datagrams.coming(),
            Waited::Room(datagrams) => datagrams.leaving(),
            Waited::Lookup(lookup) => lookup.0.handle(),
            Waited::Ending(control) => control
                .ending
                .as_ref()
                .map_or(Handle::NONE, Waitable::handle),
        }
    }
}
