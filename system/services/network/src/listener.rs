//! A port that a program listens at: sockets that wait for connections, and connections that wait
//! for the program.
//!
//! A socket of smoltcp listens for one connection; so a listener has several, on each link that its
//! address is reached by, and adds one when one has got its connection.
//!
//! Invariants:
//! - On each link at most [`AHEAD`] sockets listen. While fewer connections wait than the backlog
//!   allows, at least one does, as far as the origin's share goes: connections that somebody has
//!   begun and does not complete do not close the listener.
//! - Connections that wait or are half-open are at most the backlog, or [`HALVES`] if that is more.
//!   When there are more, the half-open ones go, the oldest first. Each is given [`HALF`].

use crate::address::Address;
use crate::link::PATIENCE;
use crate::network::{Client, Network};
use crate::place::{Start, Target};
use crate::ports::Port;
use crate::stream::Stream;
use alloc::collections::VecDeque;
use core::time::Duration;
use sing_sdk::prelude::*;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::State;

/// The most connections that wait, whatever a program asks for.
const BACKLOG: usize = 64;
/// Sockets of a listener on a link that wait for a connection, as far as the backlog allows.
const AHEAD: usize = 4;
/// The connections, waiting and half-open, that a listener with a small backlog may have.
const HALVES: usize = 16;
/// How long a half-open connection may take until it is whole.
const HALF: Duration = Duration::from_secs(5);

pub struct Listener {
    origin: u32,
    port: Port,
    backlog: usize,
    /// The links that its address is reached by, and the sockets that wait there.
    listening: Vec<(usize, SocketHandle)>,
    links: Vec<usize>,
    /// Connections that have been begun, the oldest first.
    half_open: VecDeque<(usize, SocketHandle)>,
    /// Connections that have come.
    waiting: VecDeque<(usize, SocketHandle)>,
    /// The slot of the channel that accepts now.
    accepting: Option<u32>,
}

impl Network {
    /// Listens at a port for a program; the listener's number. The port goes back if not.
    pub fn listen(&mut self, origin: u32, port: Port, backlog: u32) -> Result<u32, TcpFault> {
        let all = 0..self.links.len();
        let links: Vec<usize> = all.filter(|l| self.links[*l].has(port.address)).collect();
        let number = self.number();
        let mut listener = Listener {
            origin,
            port,
            backlog: (backlog as usize).clamp(1, BACKLOG),
            listening: Vec::new(),
            links,
            half_open: VecDeque::new(),
            waiting: VecDeque::new(),
            accepting: None,
        };
        self.refill(&mut listener);
        if listener.listening.is_empty() {
            self.ports.give_back(listener.port);
            return Err(TcpFault::NoResources);
        }
        self.listeners.insert(number, listener);
        Ok(number)
    }

    /// There is a further link: those who listen at all addresses do so there, too.
    pub fn spread(&mut self) {
        let link = self.links.len() - 1;
        for number in self.listeners.keys().copied().collect::<Vec<_>>() {
            let Some(mut listener) = self.listeners.remove(&number) else {
                continue;
            };
            if listener.port.address.is_any() {
                listener.links.push(link);
                self.refill(&mut listener);
            }
            self.listeners.insert(number, listener);
        }
    }

    /// Has as many sockets wait as there may be.
    fn refill(&mut self, listener: &mut Listener) {
        for link in listener.links.clone() {
            loop {
                let here = listener.listening.iter().filter(|l| l.0 == link).count();
                let most = match listener.waiting.len() < listener.backlog {
                    true => AHEAD.min(listener.backlog - listener.waiting.len()),
                    false => 0,
                };
                if here >= most {
                    break;
                }
                let Some(socket) = self.socket(listener.origin, link) else {
                    // The half-open ones may have the rest of the share.
                    if here == 0 && self.forget(listener) {
                        continue;
                    }
                    break;
                };
                let tcp = self.links[link].tcp(socket);
                tcp.set_timeout(Some(HALF.into()));
                let at = listener.port.address.listen(listener.port.number);
                if tcp.listen(at).is_err() {
                    self.give_up(link, socket, listener.origin, None);
                    break;
                }
                listener.listening.push((link, socket));
            }
        }
    }

    /// Ends the oldest half-open connection; whether there was one.
    fn forget(&mut self, listener: &mut Listener) -> bool {
        let Some((link, socket)) = listener.half_open.pop_front() else {
            return false;
        };
        self.links[link].tcp(socket).abort();
        self.give_up(link, socket, listener.origin, None);
        true
    }

    /// Puts each socket of a listener to those of its state.
    fn sort(&mut self, listener: &mut Listener) {
        // Those that were half-open before are older.
        let listening = core::mem::take(&mut listener.listening);
        let half_open = core::mem::take(&mut listener.half_open);
        for (link, socket) in half_open.into_iter().chain(listening) {
            let tcp = self.links[link].tcp(socket);
            match tcp.state() {
                State::Listen => listener.listening.push((link, socket)),
                State::SynReceived => listener.half_open.push_back((link, socket)),
                State::Closed => self.give_up(link, socket, listener.origin, None),
                _ => {
                    tcp.set_timeout(Some(PATIENCE.into()));
                    listener.waiting.push_back((link, socket));
                }
            }
        }
        let most = listener.backlog.max(HALVES);
        while listener.half_open.len() + listener.waiting.len() > most && self.forget(listener) {}
    }

    /// Looks for connections that have come, and gives the first to whoever accepts.
    pub fn arrived(&mut self, number: u32) {
        let Some(mut listener) = self.listeners.remove(&number) else {
            return;
        };
        self.sort(&mut listener);
        if let Some(slot) = listener.accepting
            && !listener.waiting.is_empty()
        {
            listener.accepting = None;
            if let Some(Client::Accepting(client, _, connection)) = self.slots.take(slot) {
                let client = self.accept(&mut listener, client, connection);
                self.slots.put(slot, Client::Listens(client, number));
            }
        }
        self.refill(&mut listener);
        self.listeners.insert(number, listener);
    }

    /// Gives the first connection that waits to a program.
    fn accept(
        &mut self,
        listener: &mut Listener,
        client: TcpConnectionContract::Exp<TcpConnectionContract::Accepting>,
        connection: Start,
    ) -> TcpConnectionContract::Exp<TcpConnectionContract::Listens> {
        let Some((link, socket)) = listener.waiting.pop_front() else {
            return client.send_not_accepted(TcpFault::Down, connection);
        };
        let tcp = self.links[link].tcp(socket);
        let end = |e: Option<smoltcp::wire::IpEndpoint>| {
            e.map_or((Address::ANY, 0), |e| (Address::from(e.addr), e.port))
        };
        let [local, remote] = [end(tcp.local_endpoint()), end(tcp.remote_endpoint())];
        let number = self.number();
        let target = Target::Accepted(number);
        let origin = listener.origin;
        let taken = self.slots.insert(origin, connection, |connection| {
            Client::Ready(connection.send_success(), target)
        });
        match taken {
            Ok(slot) => {
                let ends = [local, remote];
                let mut stream = Stream::new((link, socket), origin, None, ends, target);
                stream.control = Some(slot);
                self.streams.insert(number, stream);
                client.send_accepted(remote.0.into(), remote.1)
            }
            Err((_, connection)) => {
                listener.waiting.push_front((link, socket));
                client.send_not_accepted(TcpFault::NoResources, connection)
            }
        }
    }

    /// A program accepts; its channel's content.
    pub fn accepts(
        &mut self,
        slot: u32,
        number: u32,
        client: TcpConnectionContract::Exp<TcpConnectionContract::Accepting>,
        connection: Start,
    ) {
        self.slots
            .put(slot, Client::Accepting(client, number, connection));
        if let Some(listener) = self.listeners.get_mut(&number) {
            listener.accepting = Some(slot);
        }
        self.arrived(number);
    }

    /// Ends a listener; connections that wait are reset.
    pub fn unlisten(&mut self, number: u32) {
        let Some(listener) = self.listeners.remove(&number) else {
            return;
        };
        let begun = listener.half_open.into_iter().chain(listener.waiting);
        for (link, socket) in listener.listening.into_iter().chain(begun) {
            self.links[link].tcp(socket).abort();
            self.give_up(link, socket, listener.origin, None);
        }
        self.ports.give_back(listener.port);
    }
}
