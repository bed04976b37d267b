//! Datagrams of a program: its two channels, and the sockets behind them, one on each link that its
//! address is reached by.
//!
//! Invariants:
//! - What a program keeps here is bounded: the buffers of its sockets, which are on its share, one
//!   datagram on its way out, [`LOST`] reports and [`PEERS`] addresses.
//! - Who was bound to one address neither sends to another nor hears of one; who was bound to a port
//!   sends to those only from whom something has come.
//! - A datagram whose way is not found delays those of the same program alone, and [`STUCK`] long at
//!   most.
//! - The port and the sockets go back when both channels are closed and what was sent has left, or
//!   after [`STUCK`].

use crate::address::Address;
use crate::clients::More;
use crate::network::{Client, Network};
use crate::ports::Port;
use crate::root::Way;
use crate::stream::UP;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::udp;
use smoltcp::wire::IpEndpoint;

/// The buffers of a socket: bytes that have come, those that are to go, and datagrams of each.
const IN: usize = 64 << 10;
const OUT: usize = 32 << 10;
const COUNT: usize = 64;
/// How long the way of a datagram is looked for.
const STUCK: Duration = Duration::from_secs(3);
/// Reports of datagrams that were lost, and addresses that may be answered.
const LOST: usize = 16;
pub const PEERS: usize = 64;

/// The two channels, as a client hands them in.
pub type Ends = (
    DatagramContract::Exp<DatagramContract::Start>,
    DatagramContract::Imp<DatagramContract::Start>,
);
pub type To = (Address, u16);

/// What a program sends.
pub enum Output {
    Idle(DatagramContract::Exp<DatagramContract::Start>),
    /// A datagram that waits since then: for its link's address, or for room.
    Full(
        DatagramContract::Exp<DatagramContract::Written>,
        To,
        Block,
        Duration,
    ),
}

/// What a program receives.
pub enum Input {
    Idle(DatagramContract::Imp<DatagramContract::Start>),
    /// It has one.
    Sent(DatagramContract::Imp<DatagramContract::Written>),
}

/// A socket on a link.
struct Leg {
    link: usize,
    socket: SocketHandle,
    /// What is on its way out: so many bytes since then, the last to there.
    queue: usize,
    since: Duration,
    last: To,
}

/// The datagrams of one program at one port.
pub struct Datagrams {
    pub origin: u32,
    pub port: Port,
    /// It is the one that the program has asked for.
    pub asked: bool,
    legs: Vec<Leg>,
    /// The only address that it has to do with.
    pub to: Option<To>,
    /// Those that have sent something, if it may answer only them; the latest last.
    peers: Option<VecDeque<To>>,
    output: Option<u32>,
    input: Option<u32>,
    lost: VecDeque<(To, TcpFault)>,
    /// Since when nobody has it.
    left: Option<Duration>,
    /// The port of the host, if there is one, and who has sent something there.
    pub host: Option<u32>,
    pub host_peers: VecDeque<To>,
    /// Who waits until the host has given that port.
    pub opening: Option<u32>,
    /// What came by the host is looked at first.
    host_first: bool,
}

/// A port that was taken.
pub struct Opened {
    pub port: u16,
    pub number: u32,
}

/// What has become of a datagram that is to be sent.
pub enum Fate {
    Sent,
    Waits,
    NotSent(TcpFault),
}

/// A socket of a link, at an address and port.
pub fn socket(local: To, bytes: (usize, usize), count: usize) -> udp::Socket<'static> {
    let buffer = |bytes| {
        let datagrams = vec![udp::PacketMetadata::EMPTY; count];
        udp::PacketBuffer::new(datagrams, vec![0; bytes])
    };
    let mut socket = udp::Socket::new(buffer(bytes.0), buffer(bytes.1));
    // The port is not 0, and the socket new.
    let _ = socket.bind(local.0.listen(local.1));
    socket
}

impl Datagrams {
    /// A block of a datagram that has come, if the program may have it: it may answer who has sent it.
    pub fn wanted(&mut self, from: To, data: &[u8]) -> Option<Block> {
        // A block is not empty. Without memory for it the datagram is lost, as on any way.
        let wanted = self.to.is_none_or(|to| to == from) && !data.is_empty();
        let block = wanted.then(|| Block::from_bytes(data).ok()).flatten()?;
        if let Some(peers) = &mut self.peers {
            peers.retain(|peer| *peer != from);
            peers.push_back(from);
            if peers.len() > PEERS {
                peers.pop_front();
            }
        }
        Some(block)
    }
}

impl Network {
    /// Takes a port for the datagrams of a client; the port.
    ///
    /// # Errors
    /// Why not; the channels are closed.
    pub fn open_datagrams(
        &mut self,
        slot: u32,
        local: To,
        way: &Way,
        to: Option<To>,
        ends: Ends,
    ) -> Result<Opened, TcpFault> {
        let origin = self.slots.origin(slot).unwrap_or_default();
        if !self.links.iter().any(|link| link.has(local.0)) {
            return Err(TcpFault::NotLocal);
        }
        let port = self.udp_ports.take(local.0, local.1)?;
        let all = 0..self.links.len();
        let here = all
            .filter(|l| self.links[*l].has(local.0))
            .collect::<Vec<_>>();
        if !self.sockets.take(origin, here.len()) {
            self.udp_ports.give_back(port);
            return Err(TcpFault::NoResources);
        }
        let (number, at) = (self.number(), (local.0, port.number));
        let legs = here.iter().map(|link| self.leg(*link, at)).collect();
        let mut all = Datagrams {
            origin,
            port,
            asked: local.1 != 0,
            legs,
            to,
            peers: matches!(way, Way::Port(_)).then(VecDeque::new),
            output: None,
            input: None,
            lost: VecDeque::new(),
            left: None,
            host: None,
            host_peers: VecDeque::new(),
            opening: None,
            host_first: false,
        };
        let (output, input) = ends;
        let output = self.slots.insert(origin, output, |o| {
            Client::More(More::Output(Output::Idle(o), number))
        });
        let input = self.slots.insert(origin, input, |i| {
            Client::More(More::Input(Input::Idle(i), number))
        });
        (all.output, all.input) = (output.ok(), input.ok());
        let port = all.port.number;
        let hosted = !self.begins_at_host(&all) || self.bind_at_host(&mut all);
        if all.output.is_none() || all.input.is_none() || !hosted {
            self.close_datagrams(all);
            return Err(TcpFault::NoResources);
        }
        self.datagrams.insert(number, all);
        Ok(Opened { port, number })
    }

    fn leg(&mut self, link: usize, local: To) -> Leg {
        Leg {
            link,
            socket: self.links[link]
                .sockets()
                .add(socket(local, (IN, OUT), COUNT)),
            queue: 0,
            since: uptime(),
            last: (Address::ANY, 0),
        }
    }

    /// There is a further link: who receives at all addresses does so there, too.
    pub fn spread_datagrams(&mut self) {
        let link = self.links.len() - 1;
        for number in self.datagrams.keys().copied().collect::<Vec<_>>() {
            let Some(mut all) = self.datagrams.remove(&number) else {
                continue;
            };
            if all.port.address.is_any() && self.sockets.take(all.origin, 1) {
                let leg = self.leg(link, (all.port.address, all.port.number));
                all.legs.push(leg);
            }
            self.datagrams.insert(number, all);
        }
    }

    /// Gives up all that the datagrams of a program have.
    pub fn close_datagrams(&mut self, mut all: Datagrams) {
        self.leave_host(&mut all);
        for slot in [all.output, all.input].into_iter().flatten() {
            self.slots.remove(slot);
        }
        for leg in &all.legs {
            self.links[leg.link].sockets().remove(leg.socket);
        }
        self.sockets.give_back(all.origin, all.legs.len());
        self.udp_ports.give_back(all.port);
    }

    /// A program has sent a datagram, or has closed its end.
    pub fn said(&mut self, slot: u32, output: Output, number: u32) {
        use DatagramContract::exp::Start as Said;
        let Output::Idle(client) = output else {
            // It has gone, and the datagram that still waited with it.
            return self.shut(slot, number);
        };
        match client.recv() {
            Said::Datagram(address, port, data, next) => {
                let to = (Address::from(address), port);
                let full = Output::Full(next, to, data.into_block(), uptime());
                self.slots
                    .put(slot, Client::More(More::Output(full, number)));
            }
            Said::Lost(_, _, _, next) => {
                let idle = Output::Idle(next.send_not_sent(TcpFault::NotPermitted));
                self.slots
                    .put(slot, Client::More(More::Output(idle, number)));
            }
            Said::Closed => self.shut(slot, number),
        }
        self.pump_datagrams(number);
    }

    /// A program has taken what came, or takes no more.
    pub fn heard(&mut self, slot: u32, input: Input, number: u32) {
        use DatagramContract::imp::Written;
        let next = match input {
            Input::Idle(_) => None,
            Input::Sent(client) => match client.recv() {
                Written::Ack(next) | Written::NotSent(_, next) => Some(next),
                Written::Closed => None,
            },
        };
        match next {
            Some(next) => {
                let idle = More::Input(Input::Idle(next), number);
                self.slots.put(slot, Client::More(idle));
            }
            None => self.shut(slot, number),
        }
        self.pump_datagrams(number);
    }

    fn shut(&mut self, slot: u32, number: u32) {
        self.slots.remove(slot);
        if let Some(all) = self.datagrams.get_mut(&number) {
            all.output = all.output.filter(|own| *own != slot);
            all.input = all.input.filter(|own| *own != slot);
        }
    }

    /// Does for the datagrams of a program what can be done.
    pub fn pump_datagrams(&mut self, number: u32) {
        let all = self.datagrams.remove(&number);
        let Some(mut all) = all.and_then(|all| self.settle_at_host(all)) else {
            return;
        };
        self.send_datagram(&mut all, number);
        self.unstick(&mut all);
        self.report(&mut all, number);
        self.receive_datagram(&mut all, number);
        if all.output.is_none() && all.input.is_none() {
            let since = *all.left.get_or_insert_with(uptime);
            let sent = all.legs.iter().all(|leg| leg.queue == 0);
            if sent || uptime() - since >= STUCK {
                return self.close_datagrams(all);
            }
        }
        self.datagrams.insert(number, all);
    }

    /// Sends what the program has handed in, if that can be now.
    fn send_datagram(&mut self, all: &mut Datagrams, number: u32) {
        let Some(slot) = all.output else { return };
        let Some(Client::More(More::Output(output, _))) = self.slots.take(slot) else {
            return;
        };
        let output = match output {
            Output::Idle(client) => Output::Idle(client),
            Output::Full(next, to, block, since) => match self.try_send(all, to, &block, since) {
                Fate::Sent => Output::Idle(next.send_ack()),
                Fate::NotSent(fault) => Output::Idle(next.send_not_sent(fault)),
                Fate::Waits => Output::Full(next, to, block, since),
            },
        };
        self.slots
            .put(slot, Client::More(More::Output(output, number)));
    }

    fn try_send(&mut self, all: &mut Datagrams, to: To, data: &Block, since: Duration) -> Fate {
        let named = if to == (Address::ANY, 0) {
            all.to
        } else {
            Some(to)
        };
        let (to, allowed) = match (named, all.to, &all.peers) {
            (None, ..) => return Fate::NotSent(TcpFault::Unreachable),
            (Some(to), Some(only), _) => (to, to == only),
            (Some(to), None, Some(peers)) => (to, peers.contains(&to)),
            (Some(to), None, None) => (to, true),
        };
        if !allowed {
            return Fate::NotSent(TcpFault::NotPermitted);
        }
        // smoltcp makes no packet from an address of one family to one of the other: it panics.
        let own = all.port.address;
        let other = !own.is_any() && own.is_v4() != to.0.is_v4();
        if to.1 == 0 || !to.0.is_unicast() || other {
            return Fate::NotSent(TcpFault::Unreachable);
        }
        if self.goes_by_host(all, to) {
            return self.send_by_host(all, to, data);
        }
        let Some(link) = self.links.iter().position(|link| link.reaches(to.0)) else {
            return Fate::NotSent(TcpFault::Unreachable);
        };
        if data.len() > self.links[link].longest_datagram(to.0) {
            return Fate::NotSent(TcpFault::TooLong);
        }
        let Some(leg) = all.legs.iter_mut().find(|leg| leg.link == link) else {
            return Fate::NotSent(TcpFault::Unreachable);
        };
        if !self.links[link].is_up_for(to.0) {
            let late = uptime() - since >= UP;
            return if late {
                Fate::NotSent(TcpFault::Unreachable)
            } else {
                Fate::Waits
            };
        }
        let socket = self.links[link]
            .sockets()
            .get_mut::<udp::Socket>(leg.socket);
        let before = socket.send_queue();
        match socket.send(data.len(), IpEndpoint::new(to.0.ip(), to.1)) {
            Ok(room) => {
                data.read(0, room);
                leg.last = to;
                // What is added here hides nothing of what leaves: a shorter queue is one of which
                // something has left, however much a program adds.
                if leg.queue == 0 {
                    leg.since = uptime();
                }
                leg.queue += socket.send_queue() - before;
                Fate::Sent
            }
            Err(udp::SendError::BufferFull) => Fate::Waits,
            Err(udp::SendError::Unaddressable) => Fate::NotSent(TcpFault::Unreachable),
        }
    }

    /// Gives up datagrams that have found no way for a while: those behind them can go.
    fn unstick(&mut self, all: &mut Datagrams) {
        let now = uptime();
        for leg in &mut all.legs {
            let socket = self.links[leg.link]
                .sockets()
                .get_mut::<udp::Socket>(leg.socket);
            let queue = socket.send_queue();
            if queue == 0 || queue < leg.queue {
                (leg.queue, leg.since) = (queue, now);
            } else if now - leg.since >= STUCK {
                let local = (all.port.address, all.port.number);
                socket.close();
                let _ = socket.bind(local.0.listen(local.1));
                leg.queue = 0;
                if all.lost.len() < LOST {
                    all.lost.push_back((leg.last, TcpFault::Unreachable));
                }
            }
        }
    }

    /// Tells the program of a datagram that was lost.
    fn report(&mut self, all: &mut Datagrams, number: u32) {
        let Some((slot, client)) = self.reader(all) else {
            return;
        };
        // In this order: a report that is taken is told.
        let by_host = || all.host.and_then(|port| self.host.next_lost(port));
        let input = match all.lost.pop_front().or_else(by_host) {
            Some((to, fault)) => Input::Sent(client.send_lost(to.0.into(), to.1, fault)),
            None => Input::Idle(client),
        };
        self.slots
            .put(slot, Client::More(More::Input(input, number)));
    }

    /// The channel of a program that can be given something, taken out.
    fn reader(
        &mut self,
        all: &Datagrams,
    ) -> Option<(u32, DatagramContract::Imp<DatagramContract::Start>)> {
        let slot = all.input?;
        match self.slots.get(slot) {
            Some(Client::More(More::Input(Input::Idle(_), _))) => {}
            _ => return None,
        }
        match self.slots.take(slot) {
            Some(Client::More(More::Input(Input::Idle(client), _))) => Some((slot, client)),
            _ => None,
        }
    }

    /// Gives the program the next datagram that it may have.
    fn receive_datagram(&mut self, all: &mut Datagrams, number: u32) {
        if all.input.is_none() {
            for leg in &all.legs {
                let socket = self.links[leg.link]
                    .sockets()
                    .get_mut::<udp::Socket>(leg.socket);
                while socket.recv().is_ok() {}
            }
            while all
                .host
                .and_then(|port| self.host.next_come(port))
                .is_some()
            {}
            return;
        }
        let Some((slot, client)) = self.reader(all) else {
            return;
        };
        let input = match self.next_datagram(all) {
            Some((from, block)) => {
                let data = Vector::from_block(block);
                Input::Sent(client.send_datagram(from.0.into(), from.1, data))
            }
            None => Input::Idle(client),
        };
        self.slots
            .put(slot, Client::More(More::Input(input, number)));
    }

    fn next_datagram(&mut self, all: &mut Datagrams) -> Option<(To, Block)> {
        // Neither keeps what came by the other waiting.
        all.host_first = !all.host_first;
        match all.host_first {
            true => self.come_by_host(all).or_else(|| self.come_by_link(all)),
            false => self.come_by_link(all).or_else(|| self.come_by_host(all)),
        }
    }

    fn come_by_link(&mut self, all: &mut Datagrams) -> Option<(To, Block)> {
        for at in 0..all.legs.len() {
            let leg = &all.legs[at];
            let socket = self.links[leg.link]
                .sockets()
                .get_mut::<udp::Socket>(leg.socket);
            while let Ok((data, about)) = socket.recv() {
                let from = (Address::from(about.endpoint.addr), about.endpoint.port);
                let Some(block) = all.wanted(from, data) else {
                    continue;
                };
                all.host_peers.retain(|peer| *peer != from);
                // The others are before it now: no link keeps another's datagrams waiting.
                all.legs.rotate_left(at + 1);
                return Some((from, block));
            }
        }
        None
    }

    /// A datagram from this address and port has not arrived.
    pub fn lose_datagram(&mut self, link: usize, from: To, to: To, fault: TcpFault) {
        let found = self.datagrams.iter_mut().find(|(_, all)| {
            let here = all.legs.iter().any(|leg| leg.link == link);
            let own = all.port.address.is_any() || all.port.address == from.0;
            all.port.number == from.1 && own && here
        });
        let Some((number, all)) = found else { return };
        let about = all.to.is_none_or(|own| own == to)
            && all.peers.as_ref().is_none_or(|peers| peers.contains(&to));
        if about && all.input.is_some() && all.lost.len() < LOST {
            all.lost.push_back((to, fault));
            let number = *number;
            self.pump_datagrams(number);
        }
    }

    /// Whether a datagram of the program's waits.
    pub fn waits_to_send(&self, all: &Datagrams) -> bool {
        let output = all.output.and_then(|slot| self.slots.get(slot));
        matches!(
            output,
            Some(Client::More(More::Output(Output::Full(..), _)))
        )
    }

    /// When datagrams are to be looked at again, whatever comes.
    pub fn datagrams_wait(&self) -> Option<Duration> {
        let waits = |all: &Datagrams| {
            self.waits_to_send(all)
                || all.left.is_some()
                || all.legs.iter().any(|leg| leg.queue != 0)
        };
        self.datagrams
            .values()
            .any(waits)
            .then_some(Duration::from_secs(1))
    }
}
