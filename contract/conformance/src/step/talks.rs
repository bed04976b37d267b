//! Conversations with endpoints that share a name: who they are with, which of them go on, and what
//! they keep to themselves.
//!
//! A sequence that speaks with one of several endpoints of a name is a conversation with that one,
//! until it comes to a named state. It has a place of its own, so that the process can have others
//! meanwhile: while it waits, the process is still in its named state, and begins further
//! conversations there and goes on with those that it has. Whether it does so says the state in
//! which the conversation began: a `serial` one keeps the process until it is over, a `parallel`
//! one only while it has something to do itself, and where nothing is said both may be, at each
//! wait anew.
//!
//! Invariant: a process does one thing at a time. What a conversation does without waiting, nothing
//! of its process comes between.

use super::{Rules, Visitor};
use crate::ast::Order;
use crate::machine::{Edge, Machine};
use std::borrow::Cow;

impl Rules<'_> {
    /// The places that a process continues from: conversations (0: the process by itself) with
    /// their nodes.
    #[must_use]
    pub fn places(&self, process: usize, row: &[u16]) -> Vec<(usize, usize)> {
        let Some(trunk) = self.layout.nodes[process].map(|cell| usize::from(row[cell])) else {
            return Vec::new();
        };
        let talks = &self.layout.talks[process];
        if let Some(only) = self.layout.only[process].map(|cell| usize::from(row[cell]))
            && only > 0
        {
            let node = usize::from(row[talks[only - 1].node]);
            return node.checked_sub(1).map(|n| (only, n)).into_iter().collect();
        }
        let named = self
            .system
            .machine(process)
            .is_some_and(|m| m.nodes[trunk].named);
        let mut all = vec![(0, trunk)];
        if named {
            let nodes = talks.iter().map(|t| usize::from(row[t.node]));
            let active = (1..).zip(nodes).filter(|(_, node)| *node > 0);
            all.extend(active.map(|(talk, node)| (talk, node - 1)));
        }
        all
    }

    /// The node that tells most of where a process is: that of a conversation, where it has one.
    #[must_use]
    pub fn node(&self, process: usize, row: &[u16]) -> Option<usize> {
        let places = self.places(process, row);
        let talk = places.iter().find(|(talk, _)| *talk > 0);
        talk.or(places.first()).map(|(_, node)| *node)
    }

    /// The channel that a conversation speaks with by this name.
    pub(super) fn partner(
        &self,
        process: usize,
        talk: usize,
        endpoint: usize,
        row: &[u16],
        machine: &Machine,
    ) -> Option<usize> {
        let talk = &self.layout.talks[process][talk.checked_sub(1)?];
        if talk.endpoint == endpoint {
            return Some(talk.channel);
        }
        let bound = usize::from(row[talk.bound[endpoint]?]);
        Some(machine.endpoints[endpoint].channels[bound.checked_sub(1)?])
    }

    /// Channels that an endpoint name stands for in a conversation: the one that it speaks with, or
    /// all with which no other does.
    pub fn instances<'s>(
        &'s self,
        process: usize,
        talk: usize,
        endpoint: usize,
        row: &[u16],
        machine: &'s Machine,
    ) -> Cow<'s, [usize]> {
        let all = &machine.endpoints[endpoint].channels[..];
        if all.len() < 2 {
            return Cow::Borrowed(all);
        }
        if let Some(channel) = self.partner(process, talk, endpoint, row, machine) {
            return Cow::Owned(vec![channel]);
        }
        let talks = 1..=self.layout.talks[process].len();
        let others: Vec<usize> = talks
            .filter(|&t| t != talk && self.is_active(process, t, row))
            .filter_map(|t| self.partner(process, t, endpoint, row, machine))
            .collect();
        Cow::Owned(
            all.iter()
                .copied()
                .filter(|c| !others.contains(c))
                .collect(),
        )
    }

    fn is_active(&self, process: usize, talk: usize, row: &[u16]) -> bool {
        row[self.layout.talks[process][talk - 1].node] > 0
    }

    /// Whether another conversation has an endpoint in use that they share.
    pub(super) fn is_held(
        &self,
        process: usize,
        talk: usize,
        endpoint: usize,
        row: &[u16],
        machine: &Machine,
    ) -> bool {
        if machine.endpoints[endpoint].channels.len() > 1 {
            return false;
        }
        let talks = self.layout.talks[process].iter().zip(1..);
        talks.filter(|(_, t)| *t != talk).any(|(t, _)| {
            let node = usize::from(row[t.node]).checked_sub(1);
            node.is_some_and(|n| machine.nodes[n].held.contains(&endpoint))
        })
    }

    /// Ends a step of a behaviour, in the row that has been made.
    pub(super) fn arrive(
        &mut self,
        p: usize,
        machine: &Machine,
        (n, e): (usize, usize),
        edge: &Edge,
        row: &[u16],
        visitor: &mut impl Visitor,
    ) {
        let target = &machine.nodes[edge.target];
        let Some(trunk) = self.layout.nodes[p] else {
            return;
        };
        // A step that begins to speak with an endpoint begins a conversation with it.
        let first = self.bindings.first();
        let begun = first.and_then(|(endpoint, channel)| {
            let mut talks = self.layout.talks[p].iter();
            talks.position(|t| t.endpoint == *endpoint && t.channel == *channel)
        });
        let talk = if self.talk > 0 {
            self.talk
        } else {
            begun.map_or(0, |t| t + 1)
        };
        if target.named {
            if self.talk == 0 || edge.target != machine.nodes[n].origin {
                self.scratch[trunk] = edge.target as u16;
            }
            if target.end {
                (1..=self.layout.talks[p].len()).for_each(|t| self.forget(p, t));
                for endpoint in &machine.endpoints {
                    for &channel in &endpoint.channels {
                        self.close(channel, endpoint.side);
                    }
                }
            } else if self.talk > 0 {
                self.forget(p, self.talk);
            }
            self.only(p, 0);
            return visitor.step(p, Some((n, e)), &self.events, &self.scratch);
        }
        if talk == 0 {
            self.scratch[trunk] = edge.target as u16;
            return visitor.step(p, Some((n, e)), &self.events, &self.scratch);
        }
        if self.talk == 0 {
            self.scratch[trunk] = target.origin as u16;
        }
        let place = &self.layout.talks[p][talk - 1];
        self.scratch[place.node] = edge.target as u16 + 1;
        for (endpoint, channel) in &self.bindings {
            let mut all = machine.endpoints[*endpoint].channels.iter();
            if let (Some(cell), Some(i)) = (place.bound[*endpoint], all.position(|c| c == channel))
            {
                self.scratch[cell] = i as u16 + 1;
            }
        }
        // Nothing waits for what another conversation has in use, and lets that one not go on.
        let mut needed = target.edges.iter().flat_map(|e| e.act.endpoints());
        let held = needed.any(|i| {
            self.is_held(p, talk, i, row, machine)
                || self.instances(p, talk, i, row, machine).is_empty()
        });
        let (keeps, leaves) = match target.order {
            _ if held => (false, true),
            _ if !target.only_receives() => (true, false),
            Order::Serial => (true, false),
            Order::Parallel => (false, true),
            Order::Either => (true, true),
        };
        for (wanted, only) in [(keeps, talk), (leaves, 0)] {
            if wanted {
                self.only(p, only);
                visitor.step(p, Some((n, e)), &self.events, &self.scratch);
            }
        }
    }

    /// A conversation is over.
    fn forget(&mut self, p: usize, talk: usize) {
        let place = &self.layout.talks[p][talk - 1];
        self.scratch[place.node] = 0;
        for cell in place.bound.iter().flatten() {
            self.scratch[*cell] = 0;
        }
    }

    fn only(&mut self, p: usize, talk: usize) {
        if let Some(cell) = self.layout.only[p] {
            self.scratch[cell] = talk as u16;
        }
    }
}
