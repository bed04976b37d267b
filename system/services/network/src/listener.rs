//! A port that a program listens at: sockets that wait for connections, and connections that wait
//! for the program.
//!
//! A socket of smoltcp listens for one connection; so a listener has several, on each link that its
//! address is reached by, and adds one when one has got its connection. The host listens for it,
//! too, where there are sockets of the host and the address is one of theirs: a socket that waits is
//! then a number for the next connection from there.
//!
//! Invariants:
//! - On each link at most [`AHEAD`] sockets listen. While fewer connections wait than the backlog
//!   allows, at least one does, as far as the origin's share goes: connections that somebody has
//!   begun and does not complete do not close the listener.
//! - Connections that wait or are half-open are at most the backlog, or [`HALVES`] if that is more.
//!   When there are more, the half-open ones go, the oldest first. Each is given [`HALF`]. When there
//!   are [`MANY`], and when no socket waits, further ones that a card brings are kept by nobody until
//!   they are whole (`sing_packets::beginnings`); but where no socket can be had, they are refused.
//! - That the host listens is on the origin's share, as a socket is. A listener that the host has no
//!   room for asks it again after [`LOOK`].

use crate::address::Address;
use crate::end::{At, End, Stage};
use crate::host::Said;
use crate::link::{Link, PATIENCE};
use crate::network::{Client, LOOK, Network};
use crate::place::{Start, Target};
use crate::ports::Port;
use crate::stream::Stream;
use alloc::collections::VecDeque;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;

/// The most connections that wait, whatever a program asks for.
const BACKLOG: usize = 64;
/// Connections that wait with the host at least, whatever a program asks for: they are no burden.
const QUEUE: usize = 1024;
/// Sockets of a listener on a link that wait for a connection, as far as the backlog allows.
const AHEAD: usize = 4;
/// The connections, waiting and half-open, that a listener with a small backlog may have.
const HALVES: usize = 16;
/// Half-open connections beside which no more are begun by a card.
const MANY: usize = HALVES / 2;
/// How long a half-open connection may take until it is whole.
const HALF: Duration = Duration::from_secs(5);

pub struct Listener {
    origin: u32,
    port: Port,
    backlog: usize,
    /// The links that its address is reached by, and the sockets that wait there.
    listening: Vec<At>,
    links: Vec<usize>,
    /// The number under which the host listens, too, and whether it has said that it does.
    host: Option<(u32, bool)>,
    /// The channel that waits for that.
    opening: Option<u32>,
    /// Since when it asks the host for no connection: the host has refused one.
    rest: Option<Duration>,
    /// Connections that have been begun, the oldest first.
    half_open: VecDeque<At>,
    /// Connections that have come.
    waiting: VecDeque<At>,
    /// The slot of the channel that accepts now.
    accepting: Option<u32>,
}

impl Listener {
    /// Its port on a link, and how many connections may begin there now. `None` if it is on others,
    /// or can have no socket there, as its backlog is full or its origin's share is gone: then the
    /// stack refuses who comes, which one who was answered without a socket would not learn.
    pub fn begins(&self, number: usize, link: &Link) -> Option<(u16, usize)> {
        // Those that have begun count until they are sorted: others may take their places.
        let here = |at: &At| matches!(at, At::Stack(l, _) if *l == number);
        if !self.links.contains(&number) || !self.listening.iter().any(here) {
            return None;
        }
        let waits = |at: &&At| matches!(at, At::Stack(l, s) if *l == number && link.listens(*s));
        let waiting = self.listening.iter().filter(waits).count();
        let sockets = if self.half_open.len() < MANY {
            waiting
        } else {
            0
        };
        Some((self.port.number, sockets))
    }
}

impl Network {
    /// Listens at a port for a program; the listener's number. The port goes back if not.
    pub fn listen(&mut self, origin: u32, port: Port, backlog: u32) -> Result<u32, TcpFault> {
        if self.host.listens(port.address) && self.host.is_busy() {
            self.ports.give_back(port);
            return Err(TcpFault::NoResources);
        }
        let all = 0..self.links.len();
        let links: Vec<usize> = all.filter(|l| self.links[*l].has(port.address)).collect();
        let number = self.number();
        let mut listener = Listener {
            origin,
            port,
            backlog: (backlog as usize).clamp(1, BACKLOG),
            listening: Vec::new(),
            links,
            host: None,
            opening: None,
            rest: None,
            half_open: VecDeque::new(),
            waiting: VecDeque::new(),
            accepting: None,
        };
        // The host first: one socket is enough on each link, and there can be up to [`AHEAD`].
        let asked = self.ask_host(&mut listener);
        self.refill(&mut listener);
        let alone = listener.host.is_none() || !listener.links.is_empty();
        let deaf = alone && listener.listening.is_empty();
        self.listeners.insert(number, listener);
        if !asked || deaf {
            self.unlisten(number);
            return Err(TcpFault::NoResources);
        }
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

    /// How many more sockets a listener may have wait that has so many at a place.
    fn lacks(listener: &Listener, here: usize) -> bool {
        let left = listener.backlog.saturating_sub(listener.waiting.len());
        here < AHEAD.min(left)
    }

    /// Has as many sockets wait as there may be.
    fn refill(&mut self, listener: &mut Listener) {
        for link in listener.links.clone() {
            loop {
                let on_link = |at: &&At| matches!(at, At::Stack(l, _) if *l == link);
                let here = listener.listening.iter().filter(on_link).count();
                if !Self::lacks(listener, here) {
                    break;
                }
                let socket = match here {
                    0 => self.socket(listener.origin, link),
                    _ => self.spare_socket(listener.origin, link),
                };
                let Some(at) = socket else {
                    // The half-open ones may have the rest of the share.
                    if here == 0 && self.forget(listener) {
                        continue;
                    }
                    break;
                };
                let place = listener.port.address.listen(listener.port.number);
                let mut socket = self.end_of(at);
                socket.set_patience(HALF);
                let End::Stack(tcp, _) = socket else { break };
                if tcp.listen(place).is_err() {
                    self.give_up(at, listener.origin, None);
                    break;
                }
                listener.listening.push(at);
            }
        }
        let Some((host, true)) = listener.host else {
            return;
        };
        if listener.rest.is_some_and(|since| uptime() - since < LOOK) {
            return;
        }
        listener.rest = None;
        let offered = |at: &&At| matches!(at, At::Host(_));
        let mut here = listener.listening.iter().filter(offered).count();
        while self.host.offers(host)
            && Self::lacks(listener, here)
            && match here {
                // Without one nobody would come in.
                0 => self.take_share(listener.origin, true),
                _ => self.host_sockets.take(listener.origin, 1),
            }
        {
            listener.listening.push(At::Host(self.host.offer(host)));
            here += 1;
        }
    }

    /// Has the host listen, too, if it can; whether the origin's share went so far.
    fn ask_host(&mut self, listener: &mut Listener) -> bool {
        let Port { address, number } = listener.port;
        if listener.host.is_none() && self.host.listens(address) {
            if !self.take_share(listener.origin, true) {
                return false;
            }
            let backlog = listener.backlog.max(QUEUE) as u32;
            let asked = self.host.listen((address, number), backlog);
            (listener.host, listener.rest) = (Some((asked, false)), None);
        }
        true
    }

    /// Whether a listener rests, and is to be looked at again.
    pub fn any_rests(&self) -> bool {
        let rests = |l: &Listener| l.rest.is_some() && matches!(l.host, Some((_, true)));
        self.listeners.values().any(rests)
    }

    /// There is a session with the host again: listeners come back.
    pub fn spread_to_host(&mut self) {
        for number in self.listeners.keys().copied().collect::<Vec<_>>() {
            if let Some(mut listener) = self.listeners.remove(&number) {
                // Without a share it listens within the system.
                let _ = self.ask_host(&mut listener);
                self.listeners.insert(number, listener);
            }
        }
    }

    /// A program has asked for a listener: it is answered now, or when the host has said that it
    /// listens.
    pub fn opens(
        &mut self,
        slot: u32,
        number: u32,
        client: TcpConnectionContract::Exp<TcpConnectionContract::ListenResult>,
        target: Target,
    ) {
        let listener = self.listeners.get_mut(&number);
        let content = match listener.filter(|listener| listener.host.is_some()) {
            Some(listener) => {
                listener.opening = Some(slot);
                Client::Listening(client, number, target)
            }
            None => Client::Listens(client.send_listening(), number),
        };
        self.slots.put(slot, content);
    }

    /// Takes what the host has said of listeners.
    pub fn answered(&mut self) {
        for said in core::mem::take(&mut self.host.said) {
            let (host, fault) = match said {
                Said::Listening(host) => (host, None),
                Said::NotListening(host, fault) => (host, Some(fault)),
            };
            let of = |l: &Listener| l.host.is_some_and(|(its, _)| its == host);
            let Some((&number, listener)) = self.listeners.iter_mut().find(|(_, l)| of(l)) else {
                continue;
            };
            listener.host = fault.is_none().then_some((host, true));
            if fault.is_some() {
                self.host_sockets.give_back(listener.origin, 1);
            }
            let opening = listener.opening.take();
            let opening = opening.and_then(|slot| Some((slot, self.slots.take(slot)?)));
            match (opening, fault) {
                (Some((slot, Client::Listening(client, _, target))), Some(fault)) => {
                    let ready = Client::Ready(client.send_failed(fault), target);
                    self.slots.put(slot, ready);
                    self.unlisten(number);
                }
                (Some((slot, Client::Listening(client, _, _))), None) => {
                    let listens = Client::Listens(client.send_listening(), number);
                    self.slots.put(slot, listens);
                    self.arrived(number);
                }
                // It listens on: within the system, and there alone if somebody else has the port.
                _ => self.arrived(number),
            }
        }
    }

    /// Ends the oldest half-open connection; whether there was one.
    fn forget(&mut self, listener: &mut Listener) -> bool {
        let Some(at) = listener.half_open.pop_front() else {
            return false;
        };
        self.end_of(at).abort();
        self.give_up(at, listener.origin, None);
        true
    }

    /// Puts each socket of a listener to those of its state.
    fn sort(&mut self, listener: &mut Listener) {
        // Those that were half-open before are older.
        let listening = core::mem::take(&mut listener.listening);
        let half_open = core::mem::take(&mut listener.half_open);
        for at in half_open.into_iter().chain(listening) {
            let mut socket = self.end_of(at);
            match socket.stage() {
                Stage::Listens => listener.listening.push(at),
                Stage::HalfOpen => listener.half_open.push_back(at),
                Stage::Closed => {
                    // The host had no room for it: asked at once, it would say so without end.
                    let refused = matches!(at, At::Host(_)) && socket.ends()[1].1 == 0;
                    if refused {
                        listener.rest = Some(uptime());
                    }
                    self.give_up(at, listener.origin, None);
                }
                _ => {
                    socket.set_patience(PATIENCE);
                    listener.waiting.push_back(at);
                }
            }
        }
        let most = listener.backlog.max(HALVES);
        while listener.half_open.len() + listener.waiting.len() > most && self.forget(listener) {}
    }

    /// Whether a socket of a listener is no longer as it waits.
    pub fn is_stirred(&self, number: u32) -> bool {
        let Some(listener) = self.listeners.get(&number) else {
            return false;
        };
        let stack = |at: &At| match *at {
            At::Stack(link, socket) => self.links[link].listens(socket),
            At::Host(_) => true,
        };
        !listener.half_open.is_empty() || !listener.listening.iter().all(stack)
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
        let Some(at) = listener.waiting.pop_front() else {
            return client.send_not_accepted(TcpFault::Down, connection);
        };
        let [local, remote] = self.end_of(at).ends();
        let number = self.number();
        let target = Target::Accepted(number);
        let origin = listener.origin;
        let taken = self.slots.insert(origin, connection, |connection| {
            Client::Ready(connection.send_success(), target)
        });
        match taken {
            Ok(slot) => {
                let ends = [local, remote];
                let mut stream = Stream::new(at, origin, None, ends, target);
                stream.control = Some(slot);
                self.add(number, stream);
                client.send_accepted(remote.0.into(), remote.1)
            }
            Err((_, connection)) => {
                listener.waiting.push_front(at);
                client.send_not_accepted(TcpFault::NoResources, connection)
            }
        }
    }

    /// Whether a program of the system listens there.
    pub fn listens_at(&self, (address, number): (Address, u16)) -> bool {
        let there = |port: &Port| {
            port.number == number && (port.address.is_any() || port.address == address)
        };
        self.listeners.values().any(|l| there(&l.port))
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
        for at in listener.listening.into_iter().chain(begun) {
            self.end_of(at).abort();
            self.give_up(at, listener.origin, None);
        }
        if let Some((host, _)) = listener.host {
            self.host.unlisten(host);
            self.host_sockets.give_back(listener.origin, 1);
        }
        self.ports.give_back(listener.port);
    }
}
