//! Datagrams of programs that go by the host: to where no link leads, if the user of the system
//! permits it, and from the host's own programs to a port that a program has asked for.
//!
//! Invariants:
//! - A port of the host is on the share of the program whose datagrams it has, as a socket is.
//! - Who asked for a port hears that it has it when the host has said so.

use crate::address::Address;
use crate::clients::More;
use crate::datagrams::{Datagrams, Fate, PEERS, To};
use crate::host_ports::PortStage;
use crate::network::{Client, Network};
use alloc::vec;
use sing_sdk::prelude::*;

/// No peer, or any address.
const NONE: To = (Address::ANY, 0);

impl Network {
    /// Takes a port of the host for datagrams; whether their program's share went so far.
    pub fn bind_at_host(&mut self, all: &mut Datagrams) -> bool {
        if self.host.is_busy() || !self.take_share(all.origin, true) {
            return false;
        }
        let local = match all.asked {
            true => (all.port.address, all.port.number),
            false => NONE,
        };
        all.host = Some(self.host.bind_port(local, all.to.unwrap_or(NONE)));
        true
    }

    /// Whether datagrams need a port of the host from the beginning: their program waits for those
    /// of others there, or has to do with nobody but somebody beyond.
    pub fn begins_at_host(&self, all: &Datagrams) -> bool {
        match all.to {
            Some(to) => self.goes_by_host(all, to),
            None => all.asked && self.host.listens(all.port.address),
        }
    }

    /// Whether a datagram goes by the host: to who has sent something from there, or, if that is
    /// permitted, to where no link leads. The loopback is the system's and the host's: who has the
    /// port here is asked first.
    pub fn goes_by_host(&self, all: &Datagrams, to: To) -> bool {
        let reached = match to.0.is_loopback() {
            true => self.udp_ports.is_held(to.0, to.1),
            false => self.links.iter().any(|link| link.reaches(to.0)),
        };
        all.host_peers.contains(&to) || self.host.is_outward() && !reached
    }

    pub fn send_by_host(&mut self, all: &mut Datagrams, to: To, data: &Block) -> Fate {
        if all.host.is_none() && !self.bind_at_host(all) {
            return Fate::NotSent(TcpFault::NoResources);
        }
        let copy = || {
            let mut bytes = vec![0; data.len()];
            data.read(0, &mut bytes);
            bytes
        };
        let carry = |port| self.host.carry(port, to, data.len(), copy);
        match all.host.map(carry) {
            None | Some(None) => Fate::Waits,
            Some(Some(TcpFault::None)) => Fate::Sent,
            Some(Some(fault)) => Fate::NotSent(fault),
        }
    }

    /// Tells a program that waits for its port whether it has it. Nothing is left of the datagrams if
    /// it has not.
    pub fn settle_at_host(&mut self, mut all: Datagrams) -> Option<Datagrams> {
        let Some(port) = all.host else {
            return Some(all);
        };
        let stage = self.host.port_stage(port);
        // A datagram that waits for the port hears why it is not sent, before another port is asked for.
        if self.is_closed(port) && !self.waits_to_send(&all) {
            self.leave_host(&mut all);
        }
        if stage == PortStage::Opening {
            return Some(all);
        }
        let Some(slot) = all.opening.take() else {
            return Some(all);
        };
        let Some(Client::More(More::UdpOpening(client, way, _))) = self.slots.take(slot) else {
            return Some(all);
        };
        match stage {
            PortStage::Closed(fault) => {
                let client = More::Udp(client.send_failed(fault), way);
                self.slots.put(slot, Client::More(client));
                self.close_datagrams(all);
                None
            }
            _ => {
                drop(client.send_bound(all.port.number));
                self.slots.remove(slot);
                Some(all)
            }
        }
    }

    fn is_closed(&self, port: u32) -> bool {
        matches!(self.host.port_stage(port), PortStage::Closed(_))
    }

    /// There is a session with the host again: ports that were asked for come back, if nobody has
    /// taken them meanwhile.
    pub fn bring_ports_back(&mut self) {
        for number in self.datagrams.keys().copied().collect::<Vec<_>>() {
            let Some(mut all) = self.datagrams.remove(&number) else {
                continue;
            };
            // The one of the session before.
            if all.host.is_some_and(|port| self.is_closed(port)) {
                self.leave_host(&mut all);
            }
            if all.asked && all.host.is_none() && self.begins_at_host(&all) {
                // Without a share they are within the system.
                let _ = self.bind_at_host(&mut all);
            }
            self.datagrams.insert(number, all);
        }
    }

    /// Gives up what datagrams have of the host.
    pub fn leave_host(&mut self, all: &mut Datagrams) {
        if let Some(port) = all.host.take() {
            self.host.release_port(port);
            self.host_sockets.give_back(all.origin, 1);
        }
    }

    /// The next datagram that came by the host and that the program may have.
    pub fn come_by_host(&mut self, all: &mut Datagrams) -> Option<(To, Block)> {
        while let Some((from, data)) = self.host.next_come(all.host?) {
            if let Some(block) = all.wanted(from, &data) {
                all.host_peers.retain(|peer| *peer != from);
                all.host_peers.push_back(from);
                if all.host_peers.len() > PEERS {
                    all.host_peers.pop_front();
                }
                return Some((from, block));
            }
        }
        None
    }
}
