//! The sockets of connections: in the stack, on one of its links, or the host's. What connections
//! and listeners need of a socket is here, so that they are the same over both.

use crate::address::Address;
use crate::host::Host;
use crate::network::Network;
use core::time::Duration;
use sing_sdk::prelude::*;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::{self, State};

/// Where a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// On a link of the stack.
    Stack(usize, SocketHandle),
    /// The host's, by its number.
    Host(u32),
}

/// How far a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits for a connection.
    Listens,
    /// The other side has begun a connection, and not completed it.
    HalfOpen,
    /// This side has.
    Begun,
    Open,
    /// Both directions have ended, and late packets are waited for.
    Over,
    Closed,
}

/// A socket, to be used.
pub enum End<'a> {
    /// The stack's, and what is set when it may have something to send.
    Stack(&'a mut tcp::Socket<'static>, &'a mut bool),
    Host(&'a mut Host, u32),
}

impl Network {
    pub fn end_of(&mut self, at: At) -> End<'_> {
        match at {
            At::Stack(link, socket) => {
                let (socket, used) = self.links[link].tcp(socket);
                End::Stack(socket, used)
            }
            At::Host(number) => End::Host(&mut self.host, number),
        }
    }
}

impl End<'_> {
    pub fn stage(&mut self) -> Stage {
        match self {
            End::Stack(socket, _) => match socket.state() {
                State::Listen => Stage::Listens,
                State::SynSent => Stage::Begun,
                State::SynReceived => Stage::HalfOpen,
                State::TimeWait => Stage::Over,
                State::Closed => Stage::Closed,
                _ => Stage::Open,
            },
            End::Host(host, number) => host.get(*number).map_or(Stage::Closed, |s| s.stage),
        }
    }

    /// How a closed socket has ended, if that is known.
    pub fn fault(&mut self) -> Option<TcpFault> {
        match self {
            // Those that were closed otherwise have lost their time-out ([`Link::poll`]).
            End::Stack(socket, _) => socket.timeout().map(|_| TcpFault::TimedOut),
            End::Host(host, number) => host.get(*number).map(|socket| socket.fault),
        }
    }

    /// Both ends, of one that is connected.
    pub fn ends(&mut self) -> [(Address, u16); 2] {
        let none = (Address::ANY, 0);
        match self {
            End::Stack(socket, _) => {
                let end = |e: Option<smoltcp::wire::IpEndpoint>| {
                    e.map_or(none, |e| (Address::from(e.addr), e.port))
                };
                [end(socket.local_endpoint()), end(socket.remote_endpoint())]
            }
            End::Host(host, number) => host.get(*number).map_or([none; 2], |s| [s.local, s.remote]),
        }
    }

    /// How long the other side may take to answer. The host has a time of its own.
    pub fn set_patience(&mut self, patience: Duration) {
        if let End::Stack(socket, used) = self {
            **used = true;
            socket.set_timeout(Some(patience.into()));
        }
    }

    /// Whether the other side has ended its direction.
    pub fn has_heard(&mut self) -> bool {
        match self {
            End::Stack(socket, _) => matches!(
                socket.state(),
                State::CloseWait | State::LastAck | State::Closing | State::TimeWait
            ),
            End::Host(host, number) => host.get(*number).is_some_and(|socket| socket.heard),
        }
    }

    /// Takes bytes of a block, from a place on; the block and the first byte that is left, unless
    /// nothing is.
    pub fn put(&mut self, block: Block, mut at: usize) -> Option<(Block, usize)> {
        match self {
            End::Stack(socket, used) => {
                **used |= at < block.len() && socket.can_send();
                while at < block.len() && socket.can_send() {
                    let sent = socket.send(|room| {
                        let count = room.len().min(block.len() - at);
                        block.read(at, &mut room[..count]);
                        (count, count)
                    });
                    match sent {
                        Ok(count) if count > 0 => at += count,
                        _ => break,
                    }
                }
                (at < block.len()).then_some((block, at))
            }
            End::Host(host, number) => host.put(*number, block, at),
        }
    }

    /// The bytes that have come and are not taken.
    pub fn waiting(&mut self) -> usize {
        match self {
            End::Stack(socket, _) => socket.recv_queue(),
            End::Host(host, number) => host.get(*number).map_or(0, |socket| socket.waiting()),
        }
    }

    /// Whether more may come, or has.
    pub fn may_come(&mut self) -> bool {
        match self {
            End::Stack(socket, _) => socket.may_recv(),
            End::Host(host, number) => host.get(*number).is_some_and(|socket| socket.may_come()),
        }
    }

    /// Takes what has come, as much as fills a block.
    pub fn take(&mut self, block: &mut Block) {
        let len = block.len();
        let mut at = 0;
        match self {
            End::Stack(socket, used) => {
                **used = true;
                while at < len {
                    let got = socket.recv(|all| {
                        let count = all.len().min(len - at);
                        block.write(at, &all[..count]);
                        (count, count)
                    });
                    match got {
                        Ok(count) if count > 0 => at += count,
                        _ => break,
                    }
                }
            }
            End::Host(host, number) => host.take(*number, len, |bytes| {
                block.write(at, bytes);
                at += bytes.len();
            }),
        }
    }

    /// Takes all that has come, for nobody.
    pub fn discard(&mut self) {
        match self {
            End::Stack(socket, used) => {
                **used |= socket.can_recv();
                while socket.can_recv() && socket.recv(|all| (all.len(), ())).is_ok() {}
            }
            End::Host(host, number) => host.take(*number, usize::MAX, |_| {}),
        }
    }

    /// Ends this side's direction, behind all that was put.
    pub fn close(&mut self) {
        match self {
            End::Stack(socket, used) => {
                **used = true;
                socket.close();
            }
            End::Host(host, number) => host.close(*number),
        }
    }

    /// Ends both at once.
    pub fn abort(&mut self) {
        match self {
            End::Stack(socket, used) => {
                **used = true;
                socket.abort();
            }
            End::Host(host, number) => host.abort(*number),
        }
    }
}
