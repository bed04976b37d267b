//! What sockets are while a component has them, and how addresses lie in its memory.
//!
//! A socket, and a name that is looked up, is a descriptor: all its resources use that one, and what the network
//! keeps for it is given up with the last of them.

use super::resources::Resource;
use super::{Component, Outcome, Room};
use crate::abi::{filetype, rights};
use crate::errno::Errno;
use crate::host::{Host, Listener as _};
use crate::net::{Answer, Code, Waited};
use crate::table::{Descriptor, Object, OpenSocket};
use alloc::boxed::Box;
use alloc::vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Which family of addresses a socket has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    /// By its number.
    pub fn of(number: u32) -> Outcome<Family> {
        match number {
            0 => Ok(Family::V4),
            1 => Ok(Family::V6),
            _ => Err("passes a family of addresses that is none".into()),
        }
    }

    /// Whether an address is of this family. One of IPv4 in the form of IPv6 is of none, as a socket of IPv6 has
    /// nothing to do with IPv4.
    pub fn has(self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(_) => self == Family::V4,
            IpAddr::V6(v6) => self == Family::V6 && v6.to_ipv4_mapped().is_none(),
        }
    }

    /// Whether this can be a socket's own address.
    pub fn can_bind(self, address: IpAddr) -> bool {
        let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
        self.has(address) && !address.is_multicast() && !broadcast
    }

    /// Whether this can be the other side's.
    pub fn can_reach(self, remote: SocketAddr) -> bool {
        self.can_bind(remote.ip()) && !remote.ip().is_unspecified() && remote.port() != 0
    }

    /// An address as it is told: any address is one of this family.
    pub fn told(self, address: SocketAddr) -> SocketAddr {
        match (self, address.ip()) {
            (Family::V4, IpAddr::V6(v6)) if v6.is_unspecified() => {
                SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port())
            }
            _ => address,
        }
    }
}

/// What a component has of the network under a descriptor.
pub(crate) enum Made<H: Host> {
    Tcp(super::tcp::Socket<H>),
    Udp(super::udp::Socket<H>),
    Lookup(super::lookup::Lookup<H>),
    Client(Box<super::client::Client<H>>),
}

/// What is waited for of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Come,
    Room,
    /// What becomes of a socket of TCP.
    Stage,
}

impl<H: Host> Made<H> {
    /// The streams, of a connection.
    pub fn connection(&self) -> Option<&OpenSocket<H>> {
        match self {
            Made::Tcp(socket) => socket.connection(),
            _ => None,
        }
    }

    pub fn connection_mut(&mut self) -> Option<&mut OpenSocket<H>> {
        match self {
            Made::Tcp(socket) => socket.connection_mut(),
            _ => None,
        }
    }

    /// The socket that listens.
    pub fn listener(&self) -> Option<&H::Listener> {
        match self {
            Made::Tcp(socket) => socket.listener(),
            _ => None,
        }
    }

    /// The client, of a request to others.
    pub fn client(&self) -> Option<&super::client::Client<H>> {
        match self {
            Made::Client(client) => Some(client),
            _ => None,
        }
    }

    /// Whether something may come of it without the program's doing.
    pub fn may_come(&self) -> bool {
        self.client().is_none_or(|client| client.is_under_way())
    }

    /// What there is to wait for.
    pub fn waited(&self, side: Side) -> Option<Waited<'_, H::Net>> {
        match (self, side) {
            (Made::Tcp(socket), Side::Stage) => socket.connecting().map(Waited::Connecting),
            (Made::Udp(socket), Side::Come) => socket.datagrams().map(Waited::Come),
            (Made::Udp(socket), Side::Room) => socket.datagrams().map(Waited::Room),
            (Made::Lookup(lookup), Side::Come) => lookup.pending().map(Waited::Lookup),
            // Whatever is wanted of a client, its next step brings it nearer.
            (Made::Client(client), Side::Stage) => client.waited(),
            _ => None,
        }
    }

    /// Whether a call would say something new.
    pub fn is_ready(&self, side: Side) -> bool {
        match (self, side) {
            (Made::Client(client), Side::Stage) => client.is_answered(),
            (Made::Client(client), Side::Come) => client.has_come(),
            (Made::Client(client), Side::Room) => client.room() != Ok(0),
            _ => match self.listener() {
                Some(listener) if side == Side::Stage => listener.is_ready(),
                _ => self.waited(side).is_none_or(|waited| waited.is_ready()),
            },
        }
    }
}

/// An address of a socket as the parameters of a call: the family, then its parts.
pub type Flat = [u32; 12];

/// Bytes of one in memory.
pub(super) const ADDRESS: usize = 32;

/// The address that these parameters say.
pub(super) fn address(flat: &Flat) -> Outcome<SocketAddr> {
    let port = flat[1] as u16;
    match Family::of(flat[0])? {
        Family::V4 => {
            let octets: [u8; 4] = core::array::from_fn(|i| flat[2 + i] as u8);
            Ok(SocketAddr::new(octets.into(), port))
        }
        Family::V6 => {
            let segments: [u16; 8] = core::array::from_fn(|i| flat[3 + i] as u16);
            Ok(SocketAddrV6::new(segments.into(), port, flat[2], flat[11]).into())
        }
    }
}

/// The same of an address that lies in memory.
pub(super) fn address_of(bytes: &[u8; ADDRESS]) -> Outcome<SocketAddr> {
    let half = |at: usize| u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let word = |at: usize| half(at) | half(at + 2) << 16;
    let mut flat = [0; 12];
    (flat[0], flat[1]) = (bytes[0].into(), half(4));
    match bytes[0] {
        0 => {
            for (at, part) in flat[2..6].iter_mut().enumerate() {
                *part = bytes[6 + at].into();
            }
        }
        _ => {
            (flat[2], flat[11]) = (word(8), word(28));
            for (at, part) in flat[3..11].iter_mut().enumerate() {
                *part = half(12 + at * 2);
            }
        }
    }
    address(&flat)
}

/// How an address lies in memory.
pub(super) fn address_bytes(address: SocketAddr) -> [u8; ADDRESS] {
    let mut bytes = [0; ADDRESS];
    bytes[4..6].copy_from_slice(&address.port().to_le_bytes());
    match address {
        SocketAddr::V4(v4) => bytes[6..10].copy_from_slice(&v4.ip().octets()),
        SocketAddr::V6(v6) => {
            bytes[0] = 1;
            bytes[8..12].copy_from_slice(&v6.flowinfo().to_le_bytes());
            bytes[12..28].copy_from_slice(&segments(*v6.ip()));
            bytes[28..].copy_from_slice(&v6.scope_id().to_le_bytes());
        }
    }
    bytes
}

/// The parts of an address of IPv6 as they lie in memory.
pub(super) fn segments(address: Ipv6Addr) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (two, segment) in bytes.chunks_exact_mut(2).zip(address.segments()) {
        two.copy_from_slice(&segment.to_le_bytes());
    }
    bytes
}

impl<H: Room> Component<H> {
    /// Answers `result<T, error-code>`, with what is in it at a place that depends on its alignment.
    pub(super) fn net_answer(&mut self, out: u32, at: u32, answer: Answer<&[u8]>) -> Outcome {
        match answer {
            Ok(bytes) => {
                self.put(out, &[0])?;
                self.put_at(out, at, bytes)
            }
            Err(code) => {
                self.put(out, &[1])?;
                self.put_at(out, at, &[code as u8])
            }
        }
    }

    /// Answers `result<_, error-code>`.
    pub(super) fn answer_done(&mut self, out: u32, done: Answer) -> Outcome {
        self.net_answer(out, 1, done.map(|()| &[][..]))
    }

    /// Answers `result<ip-socket-address, error-code>`.
    pub(super) fn answer_address(&mut self, out: u32, address: Answer<SocketAddr>) -> Outcome {
        let bytes = address.map(address_bytes);
        self.net_answer(out, 4, bytes.as_ref().map(|b| &b[..]).map_err(|c| *c))
    }

    /// Answers with resources.
    pub(super) fn answer_handles(&mut self, out: u32, handles: Answer<&[u32]>) -> Outcome {
        let mut bytes = vec![];
        for handle in handles.unwrap_or_default() {
            bytes.extend(handle.to_le_bytes());
        }
        self.net_answer(out, 4, handles.map(|_| &bytes[..]))
    }

    /// That this is a network.
    pub(super) fn is_network(&mut self, network: u32) -> Outcome {
        let is = |resource: &Resource| matches!(resource, Resource::Network);
        self.table.check(network, is, "network")
    }

    /// The network; none for a component that was not given one.
    pub(super) fn net(&mut self) -> Answer<&mut H::Net> {
        self.wasi.host.net().ok_or(Code::AccessDenied)
    }

    /// Whether there is room for a further descriptor.
    pub(super) fn has_room(&mut self) -> Answer {
        let next = self.wasi.table.next();
        next.map(drop).map_err(|errno| match errno {
            Errno::Nomem => Code::OutOfMemory,
            _ => Code::NewSocketLimit,
        })
    }

    /// Gives something a descriptor, which nobody uses yet.
    pub(super) fn add_made(&mut self, made: Made<H>) -> Answer<u32> {
        self.has_room()?;
        let inserted = self.wasi.table.insert(Descriptor {
            object: Object::Made(Box::new(made)),
            rights: rights::SOCKET,
            inheriting: 0,
            flags: 0,
            filetype: filetype::SOCKET_STREAM,
        });
        inserted.map_err(|_| Code::NewSocketLimit)
    }

    /// What is under a descriptor.
    pub(super) fn made(&mut self, fd: u32) -> Outcome<&mut Made<H>> {
        match self.wasi.table.get(fd).map(|d| &mut d.object) {
            Ok(Object::Made(made)) => Ok(made),
            _ => Err("passes a socket whose descriptor it has closed".into()),
        }
    }
}
