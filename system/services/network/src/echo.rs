//! Requests for an echo, each with a socket of its own: one whose host is not found delays no other.
//!
//! Invariant: the socket is on the share of the program that asks, from the request to its answer or
//! the end of its wait.

use crate::address::Address;
use crate::clients::More;
use crate::network::{Client, Network};
use crate::root::Host;
use crate::stream::UP;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use smoltcp::iface::SocketHandle;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::socket::icmp;
use smoltcp::wire::{
    Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpAddress as Ip, Ipv6Address,
};

/// The most bytes that are sent, and the longest wait.
const LONGEST: u32 = 1024;
const MOST: Duration = Duration::from_secs(60);
/// Bytes of a message beside those.
const HEAD: usize = 8;
/// Messages that a socket keeps: its own to this machine comes there, too.
const COUNT: usize = 4;

type Asked = EchoContract::Exp<EchoContract::Ready_Echo>;

/// A request under way.
pub struct Echo {
    slot: u32,
    origin: u32,
    link: usize,
    socket: SocketHandle,
    ident: u16,
    to: Address,
    bytes: usize,
    /// When it was sent; none while its link has no address.
    sent: Option<Duration>,
    begun: Duration,
    until: Duration,
}

/// What has come back.
fn is_answer(message: &[u8], from: Ip) -> bool {
    // The first byte is the kind of the message.
    let kind = if matches!(from, Ip::Ipv4(_)) { 0 } else { 129 };
    message.first() == Some(&kind)
}

impl Network {
    /// Sends a request of a client whose channel is taken out.
    pub fn send_echo(
        &mut self,
        slot: u32,
        next: Asked,
        host: Host,
        to: Address,
        (bytes, milliseconds): (u32, u32),
    ) {
        match self.begin_echo(slot, to, (bytes, milliseconds)) {
            Ok(()) => {
                self.slots
                    .put(slot, Client::More(More::Echoing(next, host)));
                self.hear_echoes();
            }
            Err(fault) => {
                let client = More::Echo(next.send_not_answered(fault), host);
                self.slots.put(slot, Client::More(client));
            }
        }
    }

    fn begin_echo(
        &mut self,
        slot: u32,
        to: Address,
        (bytes, milliseconds): (u32, u32),
    ) -> Result<(), TcpFault> {
        if bytes > LONGEST {
            return Err(TcpFault::TooLong);
        }
        let origin = self.slots.origin(slot).unwrap_or_default();
        let found = self.links.iter().position(|link| link.reaches(to));
        let link = found
            .filter(|_| to.is_unicast())
            .ok_or(TcpFault::Unreachable)?;
        if !self.sockets.take(origin, 1) {
            return Err(TcpFault::NoResources);
        }
        let bytes = bytes as usize;
        let buffer = || {
            let messages = vec![icmp::PacketMetadata::EMPTY; COUNT];
            icmp::PacketBuffer::new(messages, vec![0; COUNT * (bytes + HEAD)])
        };
        let ident = loop {
            let drawn = self.chance.word(&mut self.names);
            if self.echoes.iter().all(|echo| echo.ident != drawn) {
                break drawn;
            }
        };
        let mut socket = icmp::Socket::new(buffer(), buffer());
        // It is new.
        let _ = socket.bind(icmp::Endpoint::Ident(ident));
        let now = uptime();
        self.echoes.push(Echo {
            slot,
            origin,
            link,
            socket: self.links[link].sockets().add(socket),
            ident,
            to,
            bytes,
            sent: None,
            begun: now,
            until: now + Duration::from_millis(milliseconds.into()).min(MOST),
        });
        Ok(())
    }

    /// Sends those that wait for their link, and looks what has come back.
    pub fn hear_echoes(&mut self) {
        let now = uptime();
        let mut ended = Vec::new();
        for echo in &mut self.echoes {
            let link = &mut self.links[echo.link];
            let up = link.is_up_for(echo.to);
            let socket = link.sockets().get_mut::<icmp::Socket>(echo.socket);
            let Some(sent) = echo.sent else {
                if up {
                    emit(socket, echo);
                    echo.sent = Some(now);
                } else if now - echo.begun >= UP {
                    ended.push((echo.slot, Err(TcpFault::Unreachable)));
                }
                continue;
            };
            while let Ok((message, from)) = socket.recv() {
                if is_answer(message, from) && message.len() == echo.bytes + HEAD {
                    ended.push((echo.slot, Ok((Address::from(from), now - sent))));
                    break;
                }
            }
            if now >= echo.until && ended.last().is_none_or(|(slot, _)| *slot != echo.slot) {
                ended.push((echo.slot, Err(TcpFault::TimedOut)));
            }
        }
        for (slot, how) in ended {
            self.end_echo(slot, how);
        }
    }

    /// Answers a request.
    fn end_echo(&mut self, slot: u32, how: Result<(Address, Duration), TcpFault>) {
        self.forget_echo(slot);
        let Some(Client::More(More::Echoing(next, host))) = self.slots.take(slot) else {
            return;
        };
        let next = match how {
            Ok((from, time)) => next.send_answered(from.into(), time.as_nanos() as u64),
            Err(fault) => next.send_not_answered(fault),
        };
        self.slots.put(slot, Client::More(More::Echo(next, host)));
    }

    /// Gives up the request of a client.
    pub fn forget_echo(&mut self, slot: u32) {
        let Some(at) = self.echoes.iter().position(|echo| echo.slot == slot) else {
            return;
        };
        let echo = self.echoes.swap_remove(at);
        self.links[echo.link].sockets().remove(echo.socket);
        self.sockets.give_back(echo.origin, 1);
    }

    /// A request with this identifier has not arrived.
    pub fn lose_echo(&mut self, link: usize, ident: u16, to: Address, fault: TcpFault) {
        let about = |e: &&Echo| (e.link, e.ident, e.to) == (link, ident, to);
        if let Some(slot) = self.echoes.iter().find(about).map(|e| e.slot) {
            self.end_echo(slot, Err(fault));
        }
    }

    /// How long until a request has waited long enough.
    pub fn echoes_wait(&self) -> Option<Duration> {
        let ends = self.echoes.iter().map(|echo| match echo.sent {
            Some(_) => echo.until,
            None => echo.begun + UP,
        });
        ends.min().map(|end| end.saturating_sub(uptime()))
    }
}

/// Hands a request to its socket, which has room for it.
fn emit(socket: &mut icmp::Socket, echo: &Echo) {
    let data = vec![0x55; echo.bytes];
    let Ok(room) = socket.send(echo.bytes + HEAD, echo.to.ip()) else {
        return;
    };
    // The checksum is made when it is sent.
    let ignored = ChecksumCapabilities::ignored();
    let (ident, seq_no, data) = (echo.ident, 1, &data[..]);
    match echo.to.ip() {
        Ip::Ipv4(_) => Icmpv4Repr::EchoRequest {
            ident,
            seq_no,
            data,
        }
        .emit(&mut Icmpv4Packet::new_unchecked(room), &ignored),
        Ip::Ipv6(_) => Icmpv6Repr::EchoRequest {
            ident,
            seq_no,
            data,
        }
        .emit(
            &Ipv6Address::UNSPECIFIED,
            &Ipv6Address::UNSPECIFIED,
            &mut Icmpv6Packet::new_unchecked(room),
            &ignored,
        ),
    }
}
