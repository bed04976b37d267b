//! Sockets of the host, for the requests of a network that may be hostile.
//!
//! No call waits: what cannot be done now is done when the host says that it can
//! ([`Sockets::hear`]).
//!
//! Invariants:
//! - What is kept of a connection is bounded by [`SENT`](sing_sockets::SENT): more than that the system may not send,
//!   and what comes stays with the host until the system has room. Answers that wait are bounded by
//!   [`ANSWERS`], beyond which no requests are served ([`Sockets::has_room`]).
//! - Sockets, and those that listeners may accept, are at most as many as descriptors were granted.
//! - Nothing is reached that the [policy](HostSockets) does not permit, whatever is asked.
//! - A number of a socket that is gone means nothing, and does no harm.

use super::queue::Lying;
use super::sockets_datagrams::Datagrams;
use super::sockets_policy::HostSockets;
use super::sockets_stream::{Batch, Stream, fault, set_options};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketFlags, SocketType, acceptfrom_with, bind, listen,
    socket_with, sockopt,
};
use sing_sockets::{BLOCK, Fault, HEAD, Head, OPEN, OUTWARD, Op, Place};
use std::collections::{HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Answers that may wait for the system before no more requests are served.
const ANSWERS: usize = 4096;
/// Events that are taken from the host in one step.
const EVENTS: usize = 64;
/// Connections that a listener accepts in one step.
const TURN: usize = 16;
/// Messages that are served at once, while the system waits, of all that it hands in together.
pub(super) const QUICK: usize = 32;
/// The longest queue of connections that the host keeps for a listener.
const BACKLOG: u32 = 1024;

/// A port at which the host listens for the system.
struct Listener {
    sockets: Vec<OwnedFd>,
    /// The numbers of the next connections.
    offers: VecDeque<u32>,
    /// There may be connections to accept: the host says so once.
    come: bool,
}

enum Socket {
    Listener(Listener),
    Stream(Stream),
    Datagrams(Datagrams),
}

/// All sockets of the system.
pub(super) struct Sockets {
    policy: HostSockets,
    epoll: Arc<OwnedFd>,
    all: HashMap<u32, Socket>,
    /// Sockets and offers, and the most there can be.
    used: usize,
    most: usize,
    answers: VecDeque<[u8; HEAD]>,
    /// Connections that have something for the system.
    queue: VecDeque<u32>,
    /// The system has said what is no message: nothing is served until it begins again.
    lost: bool,
    /// A listener could not accept for want of descriptors.
    short: bool,
}

/// A new socket that does not wait.
pub(super) fn socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(family, SocketType::STREAM, flags, None)
}

pub(super) fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    }
}

/// Has a socket listen at an address.
fn listens(at: SocketAddr, backlog: u32) -> Result<OwnedFd, Errno> {
    let socket = socket(family(at.ip()))?;
    // The port of a listener that has just ended is free; one that is listened at is not.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if at.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    set_options(&socket)?;
    bind(&socket, &at)?;
    listen(&socket, backlog.clamp(1, BACKLOG).cast_signed())?;
    Ok(socket)
}

/// The first message, of whose head this is a copy; `None` if there is none, or its data are not all there.
fn split(bytes: Lying<'_>) -> Option<(Head, Lying<'_>, Lying<'_>)> {
    let (head, rest) = bytes.split_first::<HEAD>()?;
    let head = Head::decode(&head).ok()?;
    let (data, rest) = rest.split_at(head.behind())?;
    Some((head, data, rest))
}

impl Sockets {
    /// None yet; at most so many.
    pub(super) fn new(policy: HostSockets, most: usize) -> Result<Sockets, Errno> {
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC)?);
        Ok(Sockets {
            policy,
            epoll,
            all: HashMap::new(),
            used: 0,
            most,
            answers: VecDeque::new(),
            queue: VecDeque::new(),
            lost: true,
            short: false,
        })
    }

    /// What the host is to be asked for what has happened.
    pub(super) fn epoll(&self) -> &Arc<OwnedFd> {
        &self.epoll
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.used
    }

    /// Ends all at once.
    pub(super) fn clear(&mut self) {
        for (_, socket) in self.all.drain() {
            if let Socket::Stream(stream) = socket {
                stream.abort();
            }
        }
        self.used = 0;
        self.answers.clear();
        self.queue.clear();
        self.lost = true;
    }

    /// The system has said what it may not: all ends, and it is told so by a `Hello` for which it has
    /// not asked.
    fn lose(&mut self) {
        self.clear();
        self.answer(&Head::new(Op::Hello, 0, 0));
    }

    /// Whether further requests may be served.
    pub(super) fn has_room(&self) -> bool {
        self.answers.len() < ANSWERS
    }

    /// Serves a block of messages.
    pub(super) fn serve(&mut self, bytes: &[u8]) {
        self.serve_while(bytes.into(), |_, _| true);
    }

    /// Serves what takes few calls of the host's, at most `most` messages, of which those are taken;
    /// what is left.
    pub(super) fn serve_quick<'a>(&mut self, bytes: Lying<'a>, most: &mut usize) -> Lying<'a> {
        self.serve_while(bytes, |sockets, head| {
            let quick = *most > 0 && head.is_some_and(|head| sockets.is_quick(head));
            *most -= usize::from(quick);
            quick
        })
    }

    /// Whether a message is served at once.
    fn is_quick(&self, head: &Head) -> bool {
        match head.op {
            Op::Data | Op::Taken | Op::End | Op::Datagram => true,
            // A listener's `Close` may let others accept.
            Op::Close => !self.short && matches!(self.all.get(&head.id), Some(Socket::Stream(_))),
            Op::Accept => matches!(self.all.get(&head.id), Some(Socket::Listener(l)) if !l.come),
            _ => false,
        }
    }

    /// Serves messages as long as `goes_on` says so, which gets `None` for what is no message; what
    /// is left.
    fn serve_while<'a>(
        &mut self,
        mut bytes: Lying<'a>,
        mut goes_on: impl FnMut(&Sockets, Option<&Head>) -> bool,
    ) -> Lying<'a> {
        while !bytes.is_empty() {
            let message = split(bytes);
            if !goes_on(self, message.as_ref().map(|(head, ..)| head)) {
                break;
            }
            let Some((head, data, rest)) = message else {
                self.lose();
                return (&[][..]).into();
            };
            bytes = rest;
            if head.op == Op::Hello {
                self.clear();
                self.lost = false;
                let open = if self.policy.is_open() { OPEN } else { 0 };
                let outward = if self.policy.is_outward() { OUTWARD } else { 0 };
                self.answer(&Head::new(Op::Hello, head.id, open | outward));
                for remote in self.policy.servers() {
                    let head = Head::new(Op::Server, 0, 0);
                    self.answer(&Head { remote, ..head });
                }
            } else if !self.lost {
                self.request(&head, data);
            }
        }
        bytes
    }

    fn request(&mut self, head: &Head, data: Lying<'_>) {
        let id = head.id;
        match head.op {
            Op::Listen | Op::Connect | Op::Bind if self.all.contains_key(&id) => self.lose(),
            Op::Listen => match self.listen(head) {
                Ok(()) => self.answer(&Head::new(Op::Listening, id, 0)),
                Err(fault) => self.answer(&Head::closed(id, fault)),
            },
            Op::Connect => {
                if let Err(fault) = self.connect(head) {
                    self.answer(&Head::closed(id, fault));
                }
            }
            Op::Accept => match self.all.get_mut(&id) {
                Some(Socket::Listener(_)) if self.used >= self.most => {
                    self.answer(&Head::closed(head.count, Fault::NoResources));
                }
                Some(Socket::Listener(listener)) => {
                    listener.offers.push_back(head.count);
                    self.used += 1;
                    self.accept(id);
                }
                _ => self.answer(&Head::closed(head.count, Fault::Down)),
            },
            Op::Data | Op::Taken | Op::End | Op::Datagram => {
                match (head.op, self.all.get_mut(&id)) {
                    (Op::Data, Some(Socket::Stream(stream))) => stream.write(data),
                    (Op::Taken, Some(Socket::Stream(stream))) => stream.taken(head.count),
                    (Op::End, Some(Socket::Stream(stream))) => stream.end(),
                    (Op::Datagram, Some(Socket::Datagrams(all))) => {
                        all.write(&self.policy, head.remote, &data.to_vec());
                    }
                    (Op::Taken, Some(Socket::Datagrams(all))) => all.taken(head.count),
                    _ => {}
                }
                self.look(id);
            }
            Op::Bind => match self.bind(head) {
                Ok(port) => self.answer(&Head::new(Op::Bound, id, port.into())),
                Err(fault) => self.answer(&Head::closed(id, fault)),
            },
            Op::Close => self.remove(id),
            // Nothing that the system says.
            Op::Hello | Op::Listening | Op::Accepted | Op::Connected | Op::Closed => self.lose(),
            Op::Bound | Op::Sent | Op::Lost | Op::Server => self.lose(),
        }
    }

    fn answer(&mut self, head: &Head) {
        self.answers.push_back(head.encode());
    }

    /// Has the host tell what happens to a socket.
    fn watch(&self, socket: impl AsFd, id: u32) -> Result<(), Fault> {
        let read = EventFlags::IN | EventFlags::PRI | EventFlags::RDHUP;
        let all = read | EventFlags::OUT | EventFlags::ET;
        epoll::add(&self.epoll, socket, EventData::new_u64(id.into()), all).map_err(fault)
    }

    fn listen(&mut self, head: &Head) -> Result<(), Fault> {
        let places = self.policy.listens(head.local.address);
        if places.is_empty() {
            return Err(Fault::NotPermitted);
        }
        if self.used + places.len() > self.most {
            return Err(Fault::NoResources);
        }
        let mut sockets = Vec::new();
        for ip in &places {
            match listens(SocketAddr::new(*ip, head.local.port), head.count) {
                Ok(socket) => sockets.push(socket),
                // A host without IPv6 has only the first of the two.
                Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) if !sockets.is_empty() => {}
                Err(error) => return Err(fault(error)),
            }
        }
        for socket in &sockets {
            self.watch(socket, head.id)?;
        }
        self.used += sockets.len();
        let offers = VecDeque::new();
        let listener = Socket::Listener(Listener {
            sockets,
            offers,
            come: false,
        });
        self.all.insert(head.id, listener);
        Ok(())
    }

    fn connect(&mut self, head: &Head) -> Result<(), Fault> {
        if !self.policy.permits(head.remote.address) {
            return Err(Fault::NotPermitted);
        }
        if self.used >= self.most {
            return Err(Fault::NoResources);
        }
        let stream = Stream::connect(head.local, head.remote).map_err(fault)?;
        self.watch(stream.socket(), head.id)?;
        self.used += 1;
        self.all.insert(head.id, Socket::Stream(stream));
        Ok(())
    }

    /// Takes a port for datagrams; its number.
    fn bind(&mut self, head: &Head) -> Result<u16, Fault> {
        // One of each family of addresses.
        if self.used + 2 > self.most {
            return Err(Fault::NoResources);
        }
        let (all, port) = Datagrams::bind(&self.policy, head.local, head.remote)?;
        for socket in all.sockets() {
            self.watch(socket, head.id)?;
        }
        self.used += all.count();
        self.all.insert(head.id, Socket::Datagrams(all));
        Ok(port)
    }

    /// Accepts as many connections as there are, and as the system has numbers for.
    fn accept(&mut self, id: u32) {
        for _ in 0..TURN {
            let Some(Socket::Listener(listener)) = self.all.get_mut(&id) else {
                return;
            };
            let Some(&number) = listener.offers.front().filter(|_| listener.come) else {
                return;
            };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let mut found = Err(Errno::AGAIN);
            for socket in &listener.sockets {
                found = acceptfrom_with(socket, flags);
                if !matches!(found, Err(Errno::AGAIN)) {
                    break;
                }
            }
            match found {
                Ok((socket, from)) => {
                    listener.offers.pop_front();
                    self.begin(number, socket, from);
                }
                Err(Errno::AGAIN) => {
                    listener.come = false;
                    return;
                }
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                    self.short = true;
                    return;
                }
                // One that has ended before it was accepted.
                Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => {}
                Err(_) => return,
            }
        }
        // There may be more: the host tells of them once.
        self.queue.push_back(id);
    }

    /// Takes a connection that a listener has accepted. Its number was counted when it was offered.
    fn begin(&mut self, number: u32, socket: OwnedFd, from: Option<SocketAddrAny>) {
        if self.all.contains_key(&number) {
            return self.lose();
        }
        let begun = Stream::accepted(socket, from).and_then(|(stream, local, remote)| {
            self.watch(stream.socket(), number)
                .map_err(|_| Errno::NOMEM)?;
            Ok((stream, local, remote))
        });
        match begun {
            Ok((stream, local, remote)) => {
                self.all.insert(number, Socket::Stream(stream));
                self.answer(&Head {
                    local,
                    remote,
                    ..Head::new(Op::Accepted, number, 0)
                });
            }
            Err(_) => {
                self.used -= 1;
                self.answer(&Head::closed(number, Fault::Reset));
            }
        }
    }

    /// Ends a socket at once.
    fn remove(&mut self, id: u32) {
        match self.all.remove(&id) {
            Some(Socket::Listener(listener)) => {
                self.used -= listener.sockets.len() + listener.offers.len();
            }
            Some(Socket::Stream(stream)) => {
                self.used -= 1;
                stream.abort();
            }
            Some(Socket::Datagrams(all)) => self.used -= all.count(),
            None => return,
        }
        self.retry();
    }

    /// A descriptor is free again: listeners accept that could not.
    fn retry(&mut self) {
        if std::mem::take(&mut self.short) {
            let listener = |socket: &Socket| matches!(socket, Socket::Listener(_));
            let all = self.all.iter().filter(|(_, socket)| listener(socket));
            for id in all.map(|(id, _)| *id).collect::<Vec<_>>() {
                self.accept(id);
            }
        }
    }

    /// Serves what the host says now, of at most [`EVENTS`] sockets; whether it said anything.
    pub(super) fn hear(&mut self) -> bool {
        let mut events = [const { MaybeUninit::uninit() }; EVENTS];
        let now = Timespec::default();
        // An interrupted call is made again, by the next who asks.
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut events[..], Some(&now)) else {
            return false;
        };
        for event in &*events {
            self.ready(event);
        }
        !events.is_empty()
    }

    /// Serves what the host has said of a socket.
    fn ready(&mut self, event: &Event) {
        let Ok(id) = u32::try_from(event.data.u64()) else {
            return;
        };
        match self.all.get_mut(&id) {
            Some(Socket::Listener(listener)) => {
                listener.come = true;
                self.accept(id);
            }
            Some(Socket::Stream(stream)) => {
                let flags = event.flags;
                if let Some(local) = stream.ready(flags) {
                    self.answer(&Head {
                        local,
                        ..Head::new(Op::Connected, id, 0)
                    });
                }
                self.look(id);
            }
            Some(Socket::Datagrams(all)) => {
                all.ready(event.flags);
                self.look(id);
            }
            None => {}
        }
    }

    /// Puts a socket to those that have something for the system, if it has.
    fn look(&mut self, id: u32) {
        let (has_something, queued) = match self.all.get_mut(&id) {
            Some(Socket::Stream(stream)) => (stream.has_something(), &mut stream.queued),
            Some(Socket::Datagrams(all)) => (all.has_something(), &mut all.queued),
            Some(Socket::Listener(_)) | None => return,
        };
        if has_something && !*queued {
            *queued = true;
            self.queue.push_back(id);
        }
    }

    /// Puts what there is for the system into a batch, as much as there is room for: answers, then
    /// something of each connection in turn.
    pub(super) fn fill(&mut self, batch: &mut Batch) {
        while batch.room() >= HEAD
            && let Some(answer) = self.answers.pop_front()
        {
            batch.push(&answer);
        }
        for _ in 0..self.queue.len() {
            if batch.room() < BLOCK / 8 {
                return;
            }
            let Some(id) = self.queue.pop_front() else {
                return;
            };
            match self.all.get_mut(&id) {
                Some(Socket::Stream(stream)) => {
                    stream.queued = false;
                    if stream.fill(id, batch) {
                        self.all.remove(&id);
                        self.used -= 1;
                        self.retry();
                    } else {
                        self.look(id);
                    }
                }
                Some(Socket::Datagrams(all)) => {
                    all.queued = false;
                    all.fill(&self.policy, id, batch);
                    self.look(id);
                }
                Some(Socket::Listener(_)) => self.accept(id),
                None => {}
            }
        }
    }

    /// Whether there is something for the system.
    pub(super) fn has_something(&self) -> bool {
        !self.answers.is_empty() || !self.queue.is_empty()
    }
}

/// A place as the host has it.
pub(super) fn address(place: Place) -> SocketAddr {
    SocketAddr::new(place.address.to_canonical(), place.port)
}
