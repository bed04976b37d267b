//! A port of the host's for datagrams, and what has come there for the system.
//!
//! Invariants:
//! - One datagram of the system's waits here at most: the next is refused until it has left. Of what
//!   comes nothing waits here: it goes from the host into a batch, as long as the system has room.
//! - A port without a peer of its own sends to those only that the policy permits, and to those from
//!   whom something has come; what comes from others is dropped, but at a port that was asked for,
//!   whose addresses the policy has chosen.

use super::sockets_host::{address, family};
use super::sockets_policy::HostSockets;
use super::sockets_stream::{Batch, fault};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendFlags, SocketAddrAny, SocketFlags, SocketType, bind, connect, getsockname,
    recvfrom, send, sendto, socket_with, sockopt,
};
use sing_sockets::{DATAGRAM, FIRST, Fault, HEAD, Head, Op, Place};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// Addresses that may be answered.
const PEERS: usize = 64;
/// Datagrams that are read in one step.
const TURN: usize = 16;

/// One of a family of addresses.
struct Half {
    socket: OwnedFd,
    v4: bool,
    readable: bool,
}

/// A port.
pub(super) struct Datagrams {
    halves: Vec<Half>,
    /// It exchanges datagrams with this one alone.
    to: Option<SocketAddr>,
    /// Whoever reaches it may send to it.
    asked: bool,
    peers: VecDeque<SocketAddr>,
    /// What waits until the host takes it.
    out: Option<(SocketAddr, Vec<u8>)>,
    /// What the system is to hear of the last one: it has left, or why not.
    sent: Option<Fault>,
    lost: Option<(SocketAddr, Fault)>,
    /// Bytes that the system has room for; a datagram may be longer.
    credit: i64,
    /// It is among those that have something for the system.
    pub(super) queued: bool,
}

fn canonical(from: Option<SocketAddrAny>) -> Option<SocketAddr> {
    let from = SocketAddr::try_from(from?).ok()?;
    Some(SocketAddr::new(from.ip().to_canonical(), from.port()))
}

fn opened(at: SocketAddr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family(at.ip()), SocketType::DGRAM, flags, None)?;
    if at.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &at)?;
    Ok(socket)
}

impl Datagrams {
    /// A port at a place, or any; for a peer if there is one. Its number.
    pub(super) fn bind(
        policy: &HostSockets,
        local: Place,
        remote: Place,
    ) -> Result<(Datagrams, u16), Fault> {
        let to = (remote.port != 0).then(|| address(remote));
        let asked = local.port != 0;
        let places = match to {
            Some(_) if !policy.permits(remote.address) => Vec::new(),
            Some(to) if to.is_ipv4() => vec![Ipv4Addr::UNSPECIFIED.into()],
            Some(_) => vec![Ipv6Addr::UNSPECIFIED.into()],
            None if asked => policy.listens(local.address),
            None if policy.is_outward() => {
                vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]
            }
            None => Vec::new(),
        };
        if places.is_empty() {
            return Err(Fault::NotPermitted);
        }
        let mut halves = Vec::new();
        for ip in places {
            match opened(SocketAddr::new(ip, local.port)) {
                Ok(socket) => halves.push(Half {
                    socket,
                    v4: ip.is_ipv4(),
                    readable: false,
                }),
                // A host without IPv6 has only the first of the two.
                Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) if !halves.is_empty() => {}
                Err(error) => return Err(fault(error)),
            }
        }
        if let Some(to) = to {
            connect(&halves[0].socket, &to).map_err(fault)?;
        }
        let own = getsockname(&halves[0].socket).and_then(SocketAddr::try_from);
        let port = own.map_err(fault)?.port();
        let all = Datagrams {
            halves,
            to,
            asked,
            peers: VecDeque::new(),
            out: None,
            sent: None,
            lost: None,
            credit: FIRST as i64,
            queued: false,
        };
        Ok((all, port))
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        self.halves.iter().map(|half| &half.socket)
    }

    pub(super) fn count(&self) -> usize {
        self.halves.len()
    }

    /// Sends what the system has sent; the next comes when it has heard of this one.
    pub(super) fn write(&mut self, policy: &HostSockets, remote: Place, data: &[u8]) {
        let to = address(remote);
        let allowed = match self.to {
            Some(only) => to == only,
            None => policy.permits(remote.address) || self.peers.contains(&to),
        };
        if self.out.is_some() || self.sent.is_some() || !allowed {
            self.sent.get_or_insert(Fault::NotPermitted);
        } else if data.len() > DATAGRAM {
            self.sent = Some(Fault::TooLong);
        } else {
            self.out = Some((to, data.to_vec()));
            self.flush();
        }
    }

    /// Sends what waits, if the host takes it.
    fn flush(&mut self) {
        let Some((to, data)) = self.out.take() else {
            return;
        };
        let Some(half) = self.halves.iter().find(|half| half.v4 == to.is_ipv4()) else {
            self.sent = Some(Fault::Unreachable);
            return;
        };
        // A port with a peer hears with the next what became of the last: that one is tried again.
        for _ in 0..2 {
            let sent = match self.to {
                Some(_) => send(&half.socket, &data, SendFlags::NOSIGNAL),
                None => sendto(&half.socket, &data, SendFlags::NOSIGNAL, &to),
            };
            match sent {
                Ok(_) => {
                    self.sent = Some(Fault::None);
                    return;
                }
                Err(Errno::AGAIN) => {
                    self.out = Some((to, data));
                    return;
                }
                Err(Errno::INTR) => {}
                Err(Errno::MSGSIZE) => {
                    self.sent = Some(Fault::TooLong);
                    return;
                }
                Err(error @ Errno::CONNREFUSED) if self.to.is_some() => {
                    self.lost = Some((to, fault(error)));
                }
                Err(error) => {
                    self.sent = Some(fault(error));
                    return;
                }
            }
        }
        self.sent = Some(Fault::Unreachable);
    }

    /// Takes what the host has said of its sockets.
    pub(super) fn ready(&mut self, flags: EventFlags) {
        // Which of them it is, a read tells.
        if flags.intersects(EventFlags::IN | EventFlags::ERR) {
            self.halves.iter_mut().for_each(|half| half.readable = true);
        }
        self.flush();
    }

    /// The system has room for so many bytes more.
    pub(super) fn taken(&mut self, count: u32) {
        self.credit = self.credit.saturating_add(count.into()).min(FIRST as i64);
    }

    /// Whether there may be something to read, and room for it.
    fn reads(&self) -> bool {
        self.credit > 0 && self.halves.iter().any(|half| half.readable)
    }

    /// Whether it has something for the system.
    pub(super) fn has_something(&self) -> bool {
        self.sent.is_some() || self.lost.is_some() || self.reads()
    }

    /// Puts what there is for the system into a batch, which has room for some.
    pub(super) fn fill(&mut self, policy: &HostSockets, id: u32, batch: &mut Batch) {
        if let Some(fault) = self.sent.take() {
            let head = Head {
                fault,
                ..Head::new(Op::Sent, id, 0)
            };
            batch.push(&head.encode());
        }
        if let Some((to, fault)) = self.lost.take() {
            let lost = Head::new(Op::Lost, id, 0);
            let head = Head {
                fault,
                remote: Place::from(to),
                ..lost
            };
            batch.push(&head.encode());
        }
        for _ in 0..TURN {
            let Some(half) = self.halves.iter_mut().find(|half| half.readable) else {
                return;
            };
            if self.credit <= 0 {
                return;
            }
            // How long it is, before it is taken: what has no room in the batch waits for the next.
            let peek = RecvFlags::PEEK | RecvFlags::TRUNC;
            let (mut from, mut taken) = (None, 0);
            let read = match recvfrom(&half.socket, &mut [0; 1][..], peek) {
                Ok((_, length, _)) if length + HEAD > batch.room() => return,
                Ok(_) => batch.datagram(|room| {
                    let (_, count, who) = recvfrom(&half.socket, room, RecvFlags::empty())?;
                    from = canonical(who);
                    taken = count;
                    let wanted = from.filter(|from| match self.to {
                        Some(only) => *from == only,
                        None => self.asked || policy.permits(Place::from(*from).address),
                    });
                    Ok(wanted.map(|from| Head {
                        remote: Place::from(from),
                        ..Head::new(Op::Datagram, id, count as u32)
                    }))
                }),
                Err(error) => Err(error),
            };
            match read {
                Ok(true) => {
                    self.credit -= (taken + HEAD) as i64;
                    if let Some(from) = from.filter(|_| self.to.is_none()) {
                        self.peers.retain(|peer| *peer != from);
                        self.peers.push_back(from);
                        if self.peers.len() > PEERS {
                            self.peers.pop_front();
                        }
                    }
                }
                Ok(false) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => half.readable = false,
                // A datagram of ours has not arrived: only of a peer is it known whose that was.
                Err(error) => self.lost = self.to.map(|to| (to, fault(error))),
            }
        }
    }
}
