//! What a link's packets go over: a loop, or a card.

use crate::card::Card;
use crate::looped::Loop;
use alloc::vec::Vec;
use sing_packets::icmp::{self, Heard, Sums};
use smoltcp::phy::{Device, DeviceCapabilities, RxToken, TxToken};
use smoltcp::time::Instant;

pub enum Wire {
    Loop(Loop),
    Card(Card),
}

/// What is heard in one step, of packets that say something of others; more is not.
const HEARD: usize = 32;

impl Wire {
    /// What was heard since the last time.
    pub fn heard(&mut self) -> Vec<Heard> {
        match self {
            Wire::Loop(all) => core::mem::take(&mut all.heard),
            Wire::Card(card) => core::mem::take(&mut card.heard),
        }
    }

    /// Whether a packet has come that can be taken.
    pub fn has_come(&self) -> bool {
        match self {
            Wire::Loop(all) => !all.is_empty(),
            Wire::Card(card) => card.has_come(),
        }
    }

    /// Listens to a packet that has come.
    fn listen(&mut self, packet: &[u8]) {
        let (said, heard) = match self {
            Wire::Loop(all) => (icmp::read(packet, Sums::Absent), &mut all.heard),
            Wire::Card(card) => (icmp::read_frame(packet), &mut card.heard),
        };
        if heard.len() < HEARD {
            heard.extend(said);
        }
    }
}

/// A packet that has come.
pub struct Taken(Vec<u8>);
/// Room for one to be sent.
pub struct Room<'a>(&'a mut Wire);

impl RxToken for Taken {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut packet = alloc::vec![0; len];
        let done = fill(&mut packet);
        match self.0 {
            Wire::Loop(all) => all.push(packet),
            Wire::Card(card) => card.push(&mut packet),
        }
        done
    }
}

impl Device for Wire {
    type RxToken<'a> = Taken;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Taken, Room<'_>)> {
        let packet = match self {
            Wire::Loop(all) => all.pop(),
            Wire::Card(card) => card.take(),
        };
        let packet = packet?;
        self.listen(&packet);
        Some((Taken(packet), Room(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Room<'_>> {
        let has_room = match self {
            Wire::Loop(all) => all.has_room(),
            Wire::Card(card) => card.has_room(),
        };
        has_room.then_some(Room(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        match self {
            Wire::Loop(_) => Loop::capabilities(),
            Wire::Card(_) => Card::capabilities(),
        }
    }
}
