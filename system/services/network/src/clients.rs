//! What comes over the channels that are not of connections: of datagrams, of names, of echoes, of
//! links; and over those of connections whose host's name is to be found first.
//!
//! Invariant: a client that waits has one wait, which ends when its channel closes.

use crate::address::Address;
use crate::datagrams::{self, Opened};
use crate::network::{Client, Network};
use crate::place::Target;
use crate::root::{Host, Way};
use TcpConnectionContract::exp::Ready as TcpRequest;
use alloc::vec::Vec;
use sing_packets::dns::{self, Name};
use sing_sdk::prelude::*;

/// What a bound path allows.
pub enum Start {
    Tcp(Target),
    NamedTcp(Name, u16),
    Udp(Way),
    Names(Option<Name>),
    Echo(Host),
    Links,
}

type Tcp = TcpConnectionContract::Exp<TcpConnectionContract::Ready>;
type Connecting = TcpConnectionContract::Exp<TcpConnectionContract::Connecting>;
type TcpPipes = (
    PipeContract::Exp<PipeContract::Start>,
    PipeContract::Imp<PipeContract::Start>,
);
type Udp = UdpContract::Exp<UdpContract::Ready>;
type Opening = UdpContract::Exp<UdpContract::Opening>;
type Names = ResolveContract::Exp<ResolveContract::Ready>;
type LookingUp = ResolveContract::Exp<ResolveContract::Ready_Lookup>;
type Querying = ResolveContract::Exp<ResolveContract::Ready_Query>;
type Echo = EchoContract::Exp<EchoContract::Ready>;
type Echoing = EchoContract::Exp<EchoContract::Ready_Echo>;
type Links = LinksContract::Exp<LinksContract::Ready>;

/// What is kept for such a channel.
pub enum More {
    /// A connection to a host of this name, and one whose name is being found.
    Tcp(Tcp, Name, u16),
    TcpWaits(Connecting, TcpPipes, Name, u16),
    Udp(Udp, Way),
    UdpWaits(Opening, datagrams::Ends, Name, u16),
    /// The host is asked for the port of these datagrams.
    UdpOpening(Opening, Way, u32),
    Output(datagrams::Output, u32),
    Input(datagrams::Input, u32),
    /// Who may ask for names: for this one alone, or any.
    Names(Names, Option<Name>),
    LookingUp(LookingUp, Option<Name>),
    Querying(Querying, Option<Name>),
    Echo(Echo, Host),
    /// How many bytes, and for how many milliseconds, once the name is found.
    EchoWaits(Echoing, Name, (u32, u32)),
    Echoing(Echoing, Host),
    Links(Links),
}

/// What was found of a name.
#[derive(Clone)]
pub struct Found {
    pub addresses: Vec<Address>,
    pub message: Vec<u8>,
    pub age: u32,
}

impl Network {
    /// Serves one such channel: it has a message, or is closed.
    pub fn more(&mut self, slot: u32, client: More) {
        match client {
            More::Tcp(client, name, port) => self.named_tcp(slot, client.recv(), name, port),
            More::Udp(client, way) => self.udp(slot, client.recv(), way),
            More::Output(output, number) => self.said(slot, output, number),
            More::Input(input, number) => self.heard(slot, input, number),
            More::Names(client, only) => self.names(slot, client.recv(), only),
            More::Echo(client, host) => self.echo(slot, client.recv(), host),
            More::UdpOpening(_, _, number) => {
                self.slots.remove(slot);
                if let Some(all) = self.datagrams.remove(&number) {
                    self.close_datagrams(all);
                }
            }
            More::Links(client) => match client.recv() {
                LinksContract::exp::Ready::Describe(number, next) => {
                    let next = self.describe(number, next);
                    self.slots.put(slot, Client::More(More::Links(next)));
                }
                LinksContract::exp::Ready::Closed => drop(self.slots.remove(slot)),
            },
            // Nothing can come here but the close.
            More::TcpWaits(..)
            | More::UdpWaits(..)
            | More::LookingUp(..)
            | More::Querying(..)
            | More::EchoWaits(..) => {
                self.slots.remove(slot);
                self.resolver.leave(slot);
            }
            More::Echoing(..) => {
                self.slots.remove(slot);
                self.forget_echo(slot);
            }
        }
    }

    /// Does for names, echoes and datagrams what can be done; whether there are any.
    pub fn serve_more(&mut self) -> bool {
        let busy = self.resolver.is_busy() || !self.echoes.is_empty() || !self.datagrams.is_empty();
        self.hear_answers();
        self.hear_echoes();
        for number in self.datagrams.keys().copied().collect::<Vec<_>>() {
            self.pump_datagrams(number);
        }
        busy
    }

    fn named_tcp(&mut self, slot: u32, request: TcpRequest, name: Name, port: u16) {
        let client = match request {
            TcpRequest::Open(output, input, next) => {
                let waits = More::TcpWaits(next, (output, input), name.clone(), port);
                self.slots.put(slot, Client::More(waits));
                return self.look_up(slot, &name);
            }
            TcpRequest::Connect(_, _, _, _, next) => next.send_failed(TcpFault::NotPermitted),
            TcpRequest::BindLocalEndPoint(_, _, next) => {
                next.send_invalid_end_point(TcpFault::NotPermitted)
            }
            TcpRequest::Closed => return drop(self.slots.remove(slot)),
        };
        let client = More::Tcp(client, name, port);
        self.slots.put(slot, Client::More(client));
    }

    fn udp(&mut self, slot: u32, request: UdpContract::exp::Ready, way: Way) {
        use UdpContract::exp::Ready;
        let (next, opened) = match request {
            Ready::Bind(address, port, output, input, next) => {
                let local = (Address::from(address), port);
                let allowed = match way {
                    Way::Any => Ok(local),
                    Way::Port(own) if port == own || port == 0 => Ok((local.0, own)),
                    _ => Err(TcpFault::NotPermitted),
                };
                let ends = (output, input);
                let opened =
                    allowed.and_then(|local| self.open_datagrams(slot, local, &way, None, ends));
                (next, opened)
            }
            Ready::Open(output, input, next) => {
                let ends = (output, input);
                let opened = match &way {
                    Way::To(Host::Name(name), port) => {
                        let name = name.clone();
                        let waits = More::UdpWaits(next, ends, name.clone(), *port);
                        self.slots.put(slot, Client::More(waits));
                        return self.look_up(slot, &name);
                    }
                    Way::To(Host::Address(address), port) => {
                        let to = Some((*address, *port));
                        self.open_datagrams(slot, (Address::ANY, 0), &way, to, ends)
                    }
                    Way::Port(own) => {
                        self.open_datagrams(slot, (Address::ANY, *own), &way, None, ends)
                    }
                    Way::Any => self.open_datagrams(slot, (Address::ANY, 0), &way, None, ends),
                };
                (next, opened)
            }
            Ready::Closed => return drop(self.slots.remove(slot)),
        };
        self.opened(slot, next, opened, way);
    }

    /// Tells a client whether its datagrams can go.
    fn opened(&mut self, slot: u32, next: Opening, opened: Result<Opened, TcpFault>, way: Way) {
        match opened {
            Ok(Opened { port, number }) => {
                if let Some(all) = self.datagrams.get_mut(&number)
                    && all.host.is_some()
                {
                    all.opening = Some(slot);
                    let client = More::UdpOpening(next, way, number);
                    return self.slots.put(slot, Client::More(client));
                }
                drop(next.send_bound(port));
                self.slots.remove(slot);
            }
            Err(fault) => {
                let client = More::Udp(next.send_failed(fault), way);
                self.slots.put(slot, Client::More(client));
            }
        }
    }

    fn names(&mut self, slot: u32, request: ResolveContract::exp::Ready, only: Option<Name>) {
        use ResolveContract::exp::Ready;
        let allowed = |text: &Text| {
            let name = text.get_within(dns::LONGEST).and_then(|t| Name::parse(&t));
            let name = name.ok_or(TcpFault::NoName)?;
            match &only {
                Some(only) if *only != name => Err(TcpFault::NotPermitted),
                _ => Ok(name),
            }
        };
        match request {
            Ready::Lookup(text, next) => match allowed(&text) {
                Ok(name) => {
                    self.slots
                        .put(slot, Client::More(More::LookingUp(next, only)));
                    self.look_up(slot, &name);
                }
                Err(fault) => {
                    let next = next.send_not_found(fault);
                    self.slots.put(slot, Client::More(More::Names(next, only)));
                }
            },
            Ready::Query(text, kind, next) => match allowed(&text) {
                Ok(name) => {
                    self.slots
                        .put(slot, Client::More(More::Querying(next, only)));
                    self.ask(slot, &name, kind, None);
                }
                Err(fault) => {
                    let next = next.send_not_found(fault);
                    self.slots.put(slot, Client::More(More::Names(next, only)));
                }
            },
            Ready::Closed => drop(self.slots.remove(slot)),
        }
    }

    /// Asks for the addresses of a name: those of a family that this machine has itself first.
    fn look_up(&mut self, slot: u32, name: &Name) {
        let lacks_v4 = self.card.is_some_and(|card| self.links[card].has_only_v6());
        let (first, second) = match lacks_v4 {
            true => (dns::AAAA, dns::A),
            false => (dns::A, dns::AAAA),
        };
        self.ask(slot, name, first, Some(second));
    }

    /// A name was found for a client, or not.
    pub fn found(&mut self, slot: u32, found: Result<Found, TcpFault>) {
        let Some(Client::More(client)) = self.slots.take(slot) else {
            return;
        };
        let first = |found: &Result<Found, TcpFault>| match found {
            Ok(found) => found.addresses.first().copied().ok_or(TcpFault::NoName),
            Err(fault) => Err(*fault),
        };
        let client = match client {
            More::TcpWaits(next, pipes, name, port) => match first(&found) {
                Ok(address) => return self.connect_named(slot, next, pipes, (address, port)),
                Err(fault) => More::Tcp(next.send_failed(fault), name, port),
            },
            More::UdpWaits(next, ends, name, port) => {
                let way = Way::To(Host::Name(name), port);
                let opened = first(&found).and_then(|address| {
                    let to = Some((address, port));
                    self.open_datagrams(slot, (Address::ANY, 0), &way, to, ends)
                });
                return self.opened(slot, next, opened, way);
            }
            More::LookingUp(next, only) => {
                let all = found.and_then(|found| {
                    let all: Vec<IpAddress> = found.addresses.iter().map(|a| (*a).into()).collect();
                    if all.is_empty() {
                        return Err(TcpFault::NoName);
                    }
                    Vector::from_slice(&all).map_err(|_| TcpFault::NoResources)
                });
                let next = match all {
                    Ok(all) => next.send_addresses(all),
                    Err(fault) => next.send_not_found(fault),
                };
                More::Names(next, only)
            }
            More::Querying(next, only) => {
                let answer = found.and_then(|found| {
                    let block = Vector::from_slice(&found.message);
                    Ok((block.map_err(|_| TcpFault::NoResources)?, found.age))
                });
                let next = match answer {
                    Ok((message, age)) => next.send_answer(message, age),
                    Err(fault) => next.send_not_found(fault),
                };
                More::Names(next, only)
            }
            More::EchoWaits(next, name, how) => {
                let host = Host::Name(name);
                match first(&found) {
                    Ok(address) => return self.send_echo(slot, next, host, address, how),
                    Err(fault) => More::Echo(next.send_not_answered(fault), host),
                }
            }
            other => other,
        };
        self.slots.put(slot, Client::More(client));
    }

    fn echo(&mut self, slot: u32, request: EchoContract::exp::Ready, host: Host) {
        match request {
            EchoContract::exp::Ready::Echo(bytes, milliseconds, next) => {
                let how = (bytes, milliseconds);
                match host {
                    Host::Address(address) => self.send_echo(slot, next, host, address, how),
                    Host::Name(name) => {
                        let waits = More::EchoWaits(next, name.clone(), how);
                        self.slots.put(slot, Client::More(waits));
                        self.look_up(slot, &name);
                    }
                }
            }
            EchoContract::exp::Ready::Closed => drop(self.slots.remove(slot)),
        }
    }
}
