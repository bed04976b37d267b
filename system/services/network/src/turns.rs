//! Which connections are looked at, and in which order.
//!
//! A look is for those of which something was heard, or that have something to send; when the stack
//! has taken or sent packets, for those whose socket is in another state than after their last look,
//! as the stack does not say whose the packets were; and once in a while for all.
//!
//! Invariants:
//! - A connection that can go on is in one of the two sets, or its socket's state says so, or
//!   something will be heard of it.
//! - Each look another one is first: what they send to the host goes in one block, and who is first
//!   has most room.

use crate::end::At;
use crate::network::Network;
use crate::stream::Stream;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// What a look of the stack has done: sockets may be in another state by each.
#[derive(Clone, Copy, Default)]
pub struct Moved {
    pub heard: bool,
    pub sent: bool,
}

impl Moved {
    pub fn any(self) -> bool {
        self.heard || self.sent
    }
}

#[derive(Default)]
pub struct Turns {
    /// Connections that are looked at next.
    due: BTreeSet<u32>,
    /// Those that have something to send, and there was no room.
    full: BTreeSet<u32>,
    /// The one that was served first in the last look.
    first: u32,
    /// A socket was given up.
    pub freed: bool,
    /// The stack has taken packets, and nobody was looked at since.
    pub moved: bool,
}

impl Turns {
    /// Has a connection looked at.
    pub fn note(&mut self, number: u32) {
        self.due.insert(number);
    }

    /// Has it looked at when there is room.
    pub fn wait(&mut self, number: u32) {
        self.full.insert(number);
    }
}

impl Network {
    /// Adds a connection.
    pub fn add(&mut self, number: u32, stream: Stream) {
        if let At::Host(socket) = stream.socket {
            self.host.give(socket, number);
        }
        self.streams.insert(number, Box::new(stream));
        self.turns.note(number);
    }

    /// Has those connections looked at whose sockets the stack has changed since their last look.
    pub fn note_moved(&mut self) {
        for (number, stream) in &self.streams {
            if let At::Stack(link, socket) = stream.socket
                && stream.seen != self.links[link].glance(socket)
            {
                self.turns.due.insert(*number);
            }
        }
    }

    /// The connections that are to be looked at now.
    pub fn in_turn(&mut self, all: bool) -> Vec<u32> {
        let turns = &mut self.turns;
        turns.due.extend(self.host.heard.drain(..));
        if all || core::mem::take(&mut self.host.has_room) {
            turns.due.append(&mut turns.full);
        }
        let due = core::mem::take(&mut turns.due);
        let mut now: Vec<u32> = match all {
            true => self.streams.keys().copied().collect(),
            false => due.into_iter().collect(),
        };
        let start = now.partition_point(|number| *number <= turns.first);
        if start < now.len() {
            now.rotate_left(start);
        }
        if let Some(first) = now.first() {
            turns.first = *first;
        }
        now
    }
}
