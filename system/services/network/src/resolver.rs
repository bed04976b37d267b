//! The names of hosts: what servers of DNS say of them, and what they have said.
//!
//! Invariants:
//! - The same question is under way once, whoever asks it: many at once would let a forger guess the
//!   number of one of them.
//! - A question is asked under a new number, from a new port, each time, and only an answer of the
//!   server that was asked is taken that has the number, the port and the question.
//! - A question is on the share of the program that has asked it first, and ends within [`PATIENCES`]
//!   all in all; one that nobody waits for any more ends at once.
//! - At most [`KNOWN`] answers are kept, none for longer than its server said, nor than [`LONGEST`].

use crate::address::Address;
use crate::clients::Found;
use crate::datagrams::socket;
use crate::network::Network;
use crate::ports::Port;
use crate::stream::UP;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;
use sing_packets::dns::{self, Answer, Name};
use sing_sdk::prelude::*;
use sing_sdk::share::{SYSTEM, Shares};
use sing_sdk::time::uptime;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::udp;
use smoltcp::wire::IpEndpoint;

/// Questions under way, and those that each program may have while there is room.
const QUESTIONS: usize = 64;
const LEAST: usize = 4;
/// How long each attempt waits for its answer; the servers are asked in turn.
const PATIENCES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(3),
    Duration::from_secs(4),
];
/// Answers that are kept, and for how many seconds at most.
const KNOWN: usize = 128;
const LONGEST: u32 = 24 * 3600;
/// Messages that an attempt takes in one step: forgeries may come with the answer, and before it.
const HEARD: usize = 64;
/// Ports that questions are sent from: the first, and how many.
const PORTS: (u16, u16) = (0xc000, 0x3fff);

type Question = (Name, u16);

/// A server: one that a link knows, or the host.
#[derive(Clone, Copy)]
enum Server {
    Link(Address),
    Host((Address, u16)),
}

/// Somebody who waits for an answer, and what to ask then if there are no such addresses.
struct Waiter {
    slot: u32,
    second: Option<u16>,
}

/// An attempt under way.
struct Attempt {
    line: Line,
    id: u16,
    server: (Address, u16),
    until: Duration,
}

/// What an attempt goes over.
enum Line {
    Stack(usize, SocketHandle, Port),
    /// A port of the host's, for that server alone, and whether the host has the question.
    Host(u32, bool),
}

/// A question under way.
struct Asked {
    origin: u32,
    waiters: Vec<Waiter>,
    begun: Duration,
    attempts: usize,
    attempt: Option<Attempt>,
}

/// What is known.
struct Known {
    found: Found,
    came: Duration,
    until: Duration,
}

pub struct Resolver {
    questions: BTreeMap<Question, Asked>,
    shares: Shares,
    known: BTreeMap<Question, Known>,
    /// Attempts that have ended, whose sockets and ports are to be given back.
    ended: Vec<Attempt>,
}

impl Resolver {
    pub fn new() -> Resolver {
        Resolver {
            questions: BTreeMap::new(),
            shares: Shares::new(QUESTIONS, LEAST),
            known: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    /// Whether questions are under way, or their sockets not given back yet.
    pub fn is_busy(&self) -> bool {
        !self.questions.is_empty() || !self.ended.is_empty()
    }

    /// Who waits in a slot waits no more.
    pub fn leave(&mut self, slot: u32) {
        for asked in self.questions.values_mut() {
            asked.waiters.retain(|waiter| waiter.slot != slot);
        }
        let (shares, ended) = (&mut self.shares, &mut self.ended);
        self.questions.retain(|_, asked| {
            let wanted = !asked.waiters.is_empty();
            if !wanted {
                shares.give_back(asked.origin, 1);
                ended.extend(asked.attempt.take());
            }
            wanted
        });
    }

    /// Takes a question out, whose answer has come or will not.
    fn end(&mut self, question: &Question) -> Vec<Waiter> {
        let Some(asked) = self.questions.remove(question) else {
            return Vec::new();
        };
        self.shares.give_back(asked.origin, 1);
        self.ended.extend(asked.attempt);
        asked.waiters
    }

    /// What is known of a question.
    fn known(&mut self, question: &Question) -> Option<Found> {
        let now = uptime();
        self.known.retain(|_, known| now < known.until);
        let known = self.known.get(question)?;
        let mut found = known.found.clone();
        found.age = (now - known.came).as_secs() as u32;
        Some(found)
    }

    /// Keeps an answer for so many seconds; the one that would have gone first makes way.
    fn keep(&mut self, question: Question, found: Found, seconds: u32) {
        if seconds == 0 {
            return;
        }
        if self.known.len() >= KNOWN {
            let first = self.known.iter().min_by_key(|(_, known)| known.until);
            if let Some(first) = first.map(|(question, _)| question.clone()) {
                self.known.remove(&first);
            }
        }
        let came = uptime();
        let until = came + Duration::from_secs(seconds.min(LONGEST).into());
        self.known.insert(question, Known { found, came, until });
    }

    /// How long until an attempt has waited long enough.
    pub fn delay(&self) -> Option<Duration> {
        let ends = self.questions.values().map(|asked| match &asked.attempt {
            Some(attempt) => attempt.until,
            None => asked.begun + UP,
        });
        ends.min().map(|end| end.saturating_sub(uptime()))
    }
}

impl Network {
    /// Finds records of a name for a client whose channel is in its slot, and tells it
    /// ([`Network::found`]), at once if it is known. If there are no such addresses, asks for those of
    /// the second type then.
    pub fn ask(&mut self, slot: u32, name: &Name, kind: u16, second: Option<u16>) {
        if name.is_localhost() {
            let message = dns::localhost(name, kind);
            let found = read(&message, 0, name, kind);
            return self.answer([Waiter { slot, second }].into(), name, found);
        }
        let question = (name.clone(), kind);
        if let Some(found) = self.resolver.known(&question) {
            return self.answer([Waiter { slot, second }].into(), name, Ok(found));
        }
        if let Some(asked) = self.resolver.questions.get_mut(&question) {
            return asked.waiters.push(Waiter { slot, second });
        }
        let origin = self.slots.origin(slot).unwrap_or_default();
        if !self.resolver.shares.take(origin, 1) {
            return self.found(slot, Err(TcpFault::NoResources));
        }
        let asked = Asked {
            origin,
            waiters: [Waiter { slot, second }].into(),
            begun: uptime(),
            attempts: 0,
            attempt: None,
        };
        self.resolver.questions.insert(question.clone(), asked);
        self.attempt(&question);
    }

    /// Tells those who have waited.
    fn answer(&mut self, waiters: Vec<Waiter>, name: &Name, found: Result<Found, TcpFault>) {
        for Waiter { slot, second } in waiters {
            match (&found, second) {
                (Ok(all), Some(second)) if all.addresses.is_empty() => {
                    self.ask(slot, name, second, None);
                }
                (found, _) => self.found(slot, found.clone()),
            }
        }
    }

    /// Asks the next server, if there is one. A link whose servers are not known yet is given time.
    fn attempt(&mut self, question: &Question) {
        let servers = self.servers();
        let Some(asked) = self.resolver.questions.get_mut(question) else {
            return;
        };
        self.resolver.ended.extend(asked.attempt.take());
        let waits = self.card.is_some() && uptime() - asked.begun < UP;
        if servers.is_empty() && waits {
            return;
        }
        let next = servers.get(asked.attempts % servers.len().max(1)).copied();
        let patience = PATIENCES.get(asked.attempts).copied();
        asked.attempts += 1;
        let begun = match (next, patience) {
            (Some(server), Some(patience)) => self.send_question(question, server, patience),
            _ => None,
        };
        match (begun, self.resolver.questions.get_mut(question)) {
            (Some(attempt), Some(asked)) => asked.attempt = Some(attempt),
            _ => {
                let waiters = self.resolver.end(question);
                self.answer(waiters, &question.0, Err(TcpFault::NoServer));
            }
        }
    }

    /// The servers of all links.
    fn servers(&self) -> Vec<Server> {
        let links = self.links.iter().flat_map(|link| link.servers.iter());
        let links = links.map(|address| Server::Link(*address));
        let host = self.host.servers.iter().map(|at| Server::Host(*at));
        links.chain(host).collect()
    }

    fn send_question(
        &mut self,
        (name, kind): &Question,
        server: Server,
        patience: Duration,
    ) -> Option<Attempt> {
        let server = match server {
            Server::Link(server) => server,
            Server::Host(server) => {
                if self.host.is_busy() || !self.host_sockets.take(SYSTEM, 1) {
                    return None;
                }
                let port = self.host.bind_port((Address::ANY, 0), server);
                return Some(Attempt {
                    line: Line::Host(port, false),
                    id: self.chance.word(&mut self.names),
                    server,
                    until: uptime() + patience,
                });
            }
        };
        let link = self.links.iter().position(|link| link.reaches(server))?;
        let id = self.chance.word(&mut self.names);
        // One that is held is not asked from.
        let port = (0..8).find_map(|_| {
            let number = PORTS.0 + self.chance.word(&mut self.names) % PORTS.1;
            self.udp_ports.take(Address::ANY, number).ok()
        })?;
        let message = dns::query(id, name, *kind);
        let local = (Address::ANY, port.number);
        let mut socket = socket(local, (HEARD * dns::LONGEST, dns::LONGEST), HEARD);
        // There is room.
        let _ = socket.send_slice(&message, IpEndpoint::new(server.ip(), dns::PORT));
        Some(Attempt {
            line: Line::Stack(link, self.links[link].sockets().add(socket), port),
            id,
            server: (server, dns::PORT),
            until: uptime() + patience,
        })
    }

    /// Looks what servers have answered, and asks others where they have not.
    pub fn hear_answers(&mut self) {
        for question in self.resolver.questions.keys().cloned().collect::<Vec<_>>() {
            self.hear_answer(&question);
        }
        for attempt in core::mem::take(&mut self.resolver.ended) {
            match attempt.line {
                Line::Stack(link, socket, port) => {
                    self.links[link].sockets().remove(socket);
                    self.udp_ports.give_back(port);
                }
                Line::Host(port, _) => {
                    self.host.release_port(port);
                    self.host_sockets.give_back(SYSTEM, 1);
                }
            }
        }
    }

    fn hear_answer(&mut self, question: &Question) {
        let Some(asked) = self.resolver.questions.get_mut(question) else {
            return;
        };
        let Some(attempt) = &mut asked.attempt else {
            return self.attempt(question);
        };
        let (id, server, (name, kind)) = (attempt.id, attempt.server, question);
        let read = |message: &[u8], from: (Address, u16)| {
            let answer = (from == server).then(|| Answer::read(message, id, name, *kind))?;
            answer.map(|answer| (answer, message.to_vec()))
        };
        let mut found = None;
        match &mut attempt.line {
            Line::Stack(link, socket, _) => {
                let link = &mut self.links[*link];
                let socket = link.sockets().get_mut::<udp::Socket>(*socket);
                while found.is_none()
                    && let Ok((message, about)) = socket.recv()
                {
                    let from = (Address::from(about.endpoint.addr), about.endpoint.port);
                    found = read(message, from);
                }
            }
            Line::Host(port, sent) => {
                if !*sent {
                    let message = dns::query(id, name, *kind);
                    let bytes = message.len();
                    let fate = self.host.carry(*port, server, bytes, || message);
                    *sent = fate == Some(TcpFault::None);
                    if fate.is_some() && !*sent {
                        return self.attempt(question);
                    }
                }
                if self.host.next_lost(*port).is_some() {
                    return self.attempt(question);
                }
                while found.is_none()
                    && let Some((from, message)) = self.host.next_come(*port)
                {
                    // An answer is of so many bytes at most where it comes over a link, too.
                    found = read(&message[..message.len().min(dns::LONGEST)], from);
                }
            }
        }
        match found {
            Some((answer, _)) if answer.refused => self.attempt(question),
            Some((answer, _)) if answer.no_name => {
                let waiters = self.resolver.end(question);
                self.answer(waiters, &question.0, Err(TcpFault::NoName));
            }
            Some((answer, message)) => {
                let (found, seconds) = take(&answer, message, question);
                let waiters = self.resolver.end(question);
                self.resolver.keep(question.clone(), found.clone(), seconds);
                self.answer(waiters, &question.0, Ok(found));
            }
            None if uptime() >= attempt.until => self.attempt(question),
            None => {}
        }
    }

    /// A question that was sent from this port has not arrived: the next server is asked.
    pub fn lose_question(&mut self, port: u16, to: (Address, u16)) {
        let found = self.resolver.questions.iter().find(|(_, asked)| {
            let attempt = asked.attempt.as_ref();
            attempt.is_some_and(|a| {
                matches!(&a.line, Line::Stack(_, _, own) if own.number == port) && a.server == to
            })
        });
        if let Some(question) = found.map(|(question, _)| question.clone()) {
            self.attempt(&question);
        }
    }
}

/// What an answer says, and for how many seconds all of it holds.
fn take(answer: &Answer, message: Vec<u8>, (name, _): &Question) -> (Found, u32) {
    let (addresses, seconds) = answer.addresses(name);
    let seconds = match addresses.is_empty() {
        true => answer.records.iter().map(|r| r.seconds).min().unwrap_or(0),
        false => seconds,
    };
    let all = addresses
        .into_iter()
        .map(Address::from)
        .filter(|a| a.is_unicast());
    let found = Found {
        addresses: all.collect(),
        message,
        age: 0,
    };
    (found, seconds)
}

fn read(message: &[u8], id: u16, name: &Name, kind: u16) -> Result<Found, TcpFault> {
    let answer = Answer::read(message, id, name, kind).ok_or(TcpFault::NoName)?;
    Ok(take(&answer, message.to_vec(), &(name.clone(), kind)).0)
}
