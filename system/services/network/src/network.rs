//! All that the network has, and the loop that serves it.

use crate::cards;
use crate::chance::Chance;
use crate::clients::More;
use crate::datagrams::Datagrams;
use crate::echo::Echo;
use crate::end::At;
use crate::host::{self, Host};
use crate::hosts::SOON;
use crate::link::Link;
use crate::listener::Listener;
use crate::place::{Start, Target};
use crate::ports::{Port, Ports};
use crate::resolver::Resolver;
use crate::root::{Root, View};
use crate::stream::{Ended, Input, Output, Stream};
use crate::turns::{Moved, Turns};
use alloc::collections::{BTreeMap, VecDeque};
use core::time::Duration;
use sing_sdk::door::Door;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::share::{SYSTEM, Shares};
use sing_sdk::slots::Slots;
use sing_sdk::time::{Timeout, uptime};

/// Channels: of the contract, and two pipes for each connection.
const SLOTS: usize = 16_384;
/// Those that each origin may have while there is room.
const LEAST: usize = 32;
/// Sockets of the stack, of connections and listeners. With all that each may keep, 256 KiB, they
/// fit the budget, beside those of the host.
const SOCKETS: usize = 512;
/// Sockets of the host. With all that each may keep, a block of its program and the least window, and
/// the windows that are [larger](host::POOL), they fit the budget.
pub const HOST_SOCKETS: usize = 4096;
/// Those that each origin may have while there is room.
const LEAST_SOCKETS: usize = 8;
/// Events between two looks at the links.
const TURN: usize = 64;
/// Ended connections that are remembered, so that late packets of them are answered.
const ENDED: usize = 16;
/// The wait before the path is registered again that could not be.
const ABSENT: Duration = Duration::from_secs(1);
/// How often connections are looked at that have nobody any more, and listeners that rest.
pub const LOOK: Duration = Duration::from_secs(1);

type Given = NamespaceContract::Exp<NamespaceContract::Start>;
type Lookup = NamespaceContract::Exp<NamespaceContract::Ready>;

type Ends = TcpConnectionContract::Exp<TcpConnectionContract::Joined>;
type Waiting = TcpConnectionContract::Exp<TcpConnectionContract::Joined_Wait>;
type Bound = TcpConnectionContract::Exp<TcpConnectionContract::BoundLocally>;
type Listening = TcpConnectionContract::Exp<TcpConnectionContract::ListenResult>;
type Listens = TcpConnectionContract::Exp<TcpConnectionContract::Listens>;
type Accepting = TcpConnectionContract::Exp<TcpConnectionContract::Accepting>;
type Connecting = TcpConnectionContract::Exp<TcpConnectionContract::Connecting>;
type Ready = TcpConnectionContract::Exp<TcpConnectionContract::Ready>;

/// What is kept for a channel.
pub enum Client {
    Door(Door, Root),
    Ready(Ready, Target),
    Bound(Bound, Target, Port),
    /// The host is asked for the port.
    Listening(Listening, u32, Target),
    Listens(Listens, u32),
    Accepting(Accepting, u32, Start),
    Connecting(Connecting, u32),
    Joined(Ends, u32),
    Waiting(Waiting, u32),
    /// The connection has ended.
    Done(Ends, Ended),
    Output(Output, u32),
    Input(Input, u32),
    /// The card's driver has a buffer to be filled.
    Receiving(NicContract::Imp<NicContract::Ready_Receive>),
    /// It has frames to be sent.
    Sending(NicContract::Imp<NicContract::Ready_Send>),
    /// All that is not of connections.
    More(More),
    /// The driver of the host's sockets has a buffer to be filled, or messages.
    HostReceiving(host::Receiving),
    HostSending(host::Sending),
}

/// A socket that nobody uses any more, until the stack has sent its last packet.
struct Late {
    link: usize,
    socket: smoltcp::iface::SocketHandle,
    port: Option<Port>,
}

pub struct Network {
    pub slots: Slots<Client>,
    pub links: Vec<Link>,
    /// Each is taken out while it is looked at: by its place, so that no more is moved.
    pub streams: BTreeMap<u32, Box<Stream>>,
    pub listeners: BTreeMap<u32, Listener>,
    pub datagrams: BTreeMap<u32, Datagrams>,
    pub echoes: Vec<Echo>,
    pub resolver: Resolver,
    pub chance: Chance,
    pub ports: Ports,
    pub udp_ports: Ports,
    pub sockets: Shares,
    pub host_sockets: Shares,
    late: VecDeque<Late>,
    /// The number of the next connection or listener.
    next: u32,
    pub turns: Turns,
    looked: Duration,
    pub names: Names,
    /// Where to register, if it was not given its place at the start.
    path: Option<String>,
    /// The link of the card, and when to look for the card again that has gone.
    pub card: Option<usize>,
    pub again: Option<Duration>,
    /// Where it is.
    pub at: &'static str,
    /// The slots of its driver's channels, while a request is under way on each.
    pub receiving: Option<u32>,
    pub sending: Option<u32>,
    /// When a card was looked for that was not there.
    pub sought: Option<Duration>,
    /// How long after that, or after its driver was not found again, to look again.
    pub pause: Duration,
    pub host: Host,
    /// Whether sockets of the host were found once, and when to look for them, or again.
    pub hosted: bool,
    pub look_for_host: Option<Duration>,
    /// How long after the next look in vain to look again.
    pub host_pause: Duration,
    /// The slots of their driver's channels, while a request is under way on each.
    pub host_receiving: Option<u32>,
    pub host_sending: Option<u32>,
    /// When to register again, if the name server was started again.
    absent: Option<Duration>,
}

/// A number to begin with that is not the same at each start. Whoever sees packets on their way can
/// forge answers to them in any case.
fn seed() -> u64 {
    let time = sing_sdk::time::utc().as_nanos() as u64;
    (time ^ sing_sdk::time::cycle_count()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Network {
    /// A network without a place in the name space yet.
    fn new(names: Names) -> Result<Network, Error> {
        let seed = seed();
        let mut network = Network {
            slots: Slots::new(SLOTS, LEAST)?,
            links: [Link::looped(seed)].into(),
            streams: BTreeMap::new(),
            listeners: BTreeMap::new(),
            datagrams: BTreeMap::new(),
            echoes: Vec::new(),
            resolver: Resolver::new(),
            chance: Chance::default(),
            ports: Ports::new(seed >> 32),
            udp_ports: Ports::new(seed >> 48),
            sockets: Shares::new(SOCKETS, LEAST_SOCKETS),
            host_sockets: Shares::new(HOST_SOCKETS, LEAST_SOCKETS),
            late: VecDeque::new(),
            next: 0,
            turns: Turns::default(),
            looked: uptime(),
            names,
            path: None,
            card: None,
            again: None,
            receiving: None,
            sending: None,
            sought: None,
            pause: cards::LOOK,
            at: cards::PATHS[0],
            host: Host::default(),
            hosted: false,
            look_for_host: Some(Duration::ZERO),
            host_pause: SOON,
            host_receiving: None,
            host_sending: None,
            absent: None,
        };
        network.seek();
        network.seek_host();
        Ok(network)
    }

    /// A network whose clients are announced on these channels.
    pub fn given(names: Names, all: Vec<(Root, Given)>) -> Result<Network, Error> {
        let mut network = Network::new(names)?;
        for (root, lookup) in all {
            network.admit(lookup.send_success(), root)?;
        }
        Ok(network)
    }

    /// A network whose connections are at a path.
    pub fn at(names: Names, path: String) -> Result<Network, Error> {
        let mut network = Network::new(names)?;
        network.path = Some(path);
        network.register()?;
        Ok(network)
    }

    fn admit(&mut self, lookup: Lookup, root: Root) -> Result<(), Error> {
        let door = self
            .slots
            .insert(SYSTEM, lookup, |l| Client::Door(Door::new(l), root));
        door.map(drop).map_err(|(error, _)| error)
    }

    fn register(&mut self) -> Result<(), Error> {
        let path = self.path.as_ref().ok_or(Error::Closed)?;
        let lookup = self.names.register_as(path, "NamespaceContract")?;
        self.admit(lookup, Root::Tcp)
    }

    /// Registers the path again, if it is time.
    fn come_back(&mut self) {
        if self.absent.is_some_and(|next| uptime() >= next) {
            self.absent = self.register().err().map(|_| uptime() + ABSENT);
        }
    }

    /// Serves without end.
    pub fn run(mut self) -> Result<(), Error> {
        loop {
            let mut patience = self.patience();
            for _ in 0..TURN {
                let Ok(number) = self.slots.wait(patience) else {
                    break;
                };
                self.step(number)?;
                patience = Timeout::NONE;
            }
            self.come_back();
            self.recover();
            if self.hosted {
                self.seek_host();
            }
            self.poll();
        }
    }

    /// How long to wait for an event.
    fn patience(&mut self) -> Timeout {
        if self.turns.moved {
            return Timeout::NONE;
        }
        let links = self.links.iter_mut().filter_map(Link::delay).min();
        let absent = self.absent.map(|next| next.saturating_sub(uptime()));
        let again = self.again.map(|next| next.saturating_sub(uptime()));
        let host = self.look_for_host.filter(|_| self.hosted);
        let host = host.map(|next| next.saturating_sub(uptime()));
        let looks = !self.streams.is_empty() || self.any_rests();
        let look = looks.then_some(LOOK);
        let connections = [links, absent, again, host, look]
            .into_iter()
            .flatten()
            .min();
        let (names, echoes) = (self.resolver.delay(), self.echoes_wait());
        let others = [names, echoes, self.datagrams_wait()];
        let others = others.into_iter().flatten().min();
        let least = [connections, others].into_iter().flatten().min();
        least.map_or(Timeout::FOREVER, Timeout::from)
    }

    /// Has packets taken and sent, and does what follows from them.
    fn poll(&mut self) {
        let mut moved = core::mem::take(&mut self.turns.moved) | self.poll_links().any();
        self.hear();
        let mut all = self.configure();
        if self.serve_more() {
            // What is asked and sent by these goes at once.
            moved |= self.poll_links().any();
        }
        all |= core::mem::take(&mut self.host.changed);
        let come = core::mem::take(&mut self.host.come_about);
        self.answered();
        self.exchange();
        let now = uptime();
        if now - self.looked >= LOOK {
            (self.looked, all) = (now, true);
        }
        if moved || all || self.late.len() > ENDED {
            self.bury();
        }
        if moved || all || come {
            self.arrive(all || come);
        }
        if moved && !all {
            self.note_moved();
        }
        for number in self.in_turn(all) {
            self.pump(number);
        }
        // A listener that has all its share of sockets has one more when another has gone.
        if core::mem::take(&mut self.turns.freed) {
            self.arrive(true);
        }
        // What was moved has to be sent, and makes room; over a loop it has come by that.
        self.turns.moved = self.poll_links().heard;
        self.exchange();
        self.exchange_host();
    }

    /// Looks at listeners whose sockets have moved, or at all.
    fn arrive(&mut self, all: bool) {
        for number in self.listeners.keys().copied().collect::<Vec<_>>() {
            if all || self.is_stirred(number) {
                self.arrived(number);
            }
        }
    }

    /// Has packets taken and sent; whether the state of a socket may have changed by that.
    fn poll_links(&mut self) -> Moved {
        if let Some(card) = self.card {
            let listeners = self.listeners.values();
            let ports: Vec<_> = listeners
                .filter_map(|listener| listener.begins(card, &self.links[card]))
                .collect();
            self.links[card].allow(ports);
        }
        let mut moved = Moved::default();
        for link in &mut self.links {
            let now = link.poll();
            moved.heard |= now.heard;
            moved.sent |= now.sent;
        }
        moved
    }

    /// A number for a connection or listener.
    pub fn number(&mut self) -> u32 {
        loop {
            self.next = self.next.wrapping_add(1);
            let taken = self.streams.contains_key(&self.next);
            let listens = self.listeners.contains_key(&self.next);
            if !taken && !listens && !self.datagrams.contains_key(&self.next) {
                return self.next;
            }
        }
    }

    /// A socket for an origin on a link; connections of the origin that nobody has make way for it.
    pub fn socket(&mut self, origin: u32, link: usize) -> Option<At> {
        let taken = self.take_share(origin, false);
        self.taken_socket(taken, origin, link)
    }

    /// The same, for which nobody makes way.
    pub fn spare_socket(&mut self, origin: u32, link: usize) -> Option<At> {
        let taken = self.sockets.take(origin, 1);
        self.taken_socket(taken, origin, link)
    }

    fn taken_socket(&mut self, taken: bool, origin: u32, link: usize) -> Option<At> {
        if !taken {
            return None;
        }
        let socket = self.links[link].socket();
        if socket.is_none() {
            self.sockets.give_back(origin, 1);
        }
        socket.map(|socket| At::Stack(link, socket))
    }

    /// Gives up a socket: it is freed when its last packets are sent. Until then it is on nobody's
    /// share: there are few ([`ENDED`]), and whoever had it has no say in how long it takes.
    pub fn give_up(&mut self, at: At, origin: u32, port: Option<Port>) {
        self.turns.freed = true;
        match at {
            At::Stack(link, socket) => {
                self.sockets.give_back(origin, 1);
                self.late.push_back(Late { link, socket, port });
            }
            At::Host(number) => {
                self.host_sockets.give_back(origin, 1);
                self.host.forget(number);
                if let Some(port) = port {
                    self.ports.give_back(port);
                }
            }
        }
    }

    /// Frees sockets that are done, and the oldest of those that only wait for late packets.
    fn bury(&mut self) {
        let mut waiting = 0;
        for late in &self.late {
            waiting += usize::from(!self.links[late.link].is_closed(late.socket));
        }
        for _ in 0..self.late.len() {
            let Some(late) = self.late.pop_front() else {
                return;
            };
            let closed = self.links[late.link].is_closed(late.socket);
            if !closed && waiting <= ENDED {
                self.late.push_back(late);
                continue;
            }
            waiting -= usize::from(!closed);
            self.links[late.link].sockets().remove(late.socket);
            if let Some(port) = late.port {
                self.ports.give_back(port);
            }
        }
    }

    /// Serves one channel.
    ///
    /// # Errors
    /// [`Error::Closed`]: whoever has given it its place has gone.
    fn step(&mut self, number: u32) -> Result<(), Error> {
        let Some(client) = self.slots.take(number) else {
            return Ok(());
        };
        match client {
            Client::Door(door, root) => match door.answer(&mut View(self, root)) {
                Ok(door) => self.slots.put(number, Client::Door(door, root)),
                // The name server was started again. Clients have their channels still.
                Err(_) => {
                    self.slots.remove(number);
                    if self.path.is_none() {
                        return Err(Error::Closed);
                    }
                    self.absent = Some(uptime());
                }
            },
            Client::Receiving(receiving) => self.received(number, receiving),
            Client::Sending(sending) => self.sent(number, sending),
            Client::HostReceiving(receiving) => self.host_received(number, receiving),
            Client::HostSending(sending) => self.host_sent(number, sending),
            Client::Output(output, stream) => self.written(number, output, stream),
            Client::Input(input, stream) => self.taken(number, input, stream),
            Client::More(client) => self.more(number, client),
            control => self.control(number, control),
        }
        Ok(())
    }
}
