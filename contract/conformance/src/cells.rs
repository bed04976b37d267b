//! Situations of a system: a row of small numbers, and how it is packed into words.
//!
//! The row holds, in order: for each process with a behaviour the node that it is at; for each of
//! its endpoints that share a name the node of the conversation that is had there (0: none, else
//! its index and one), with the others of such names that it speaks with, and which conversation
//! keeps the process from doing anything else (0: none); for each channel both sides' states in the
//! contract (one past the last: closed), then the places of the queue to the importing side, and
//! those to the exporting one (0: free, else the message's index and one).
//!
//! Invariant: how wide each number may become follows from the system, so that a row packs without
//! loss.

use crate::system::System;
use sing_image::manifest::Side;

/// The places of all cells in a row.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The node of each process; none for those without a behaviour.
    pub nodes: Vec<Option<usize>>,
    /// For each process the places of conversations with endpoints that share a name.
    pub talks: Vec<Vec<Talk>>,
    /// For each process which conversation is the only one that goes on; none where there are no
    /// such conversations.
    pub only: Vec<Option<usize>>,
    /// Channels.
    pub channels: Vec<ChannelLayout>,
    /// Bits of each number.
    widths: Vec<u8>,
}

/// The cells of a conversation.
#[derive(Clone, Debug)]
pub struct Talk {
    /// The endpoint's name, as its index.
    pub endpoint: usize,
    /// The channel.
    pub channel: usize,
    /// Its node.
    pub node: usize,
    /// For each other name that stands for several endpoints: which of them it speaks with too.
    pub bound: Vec<Option<usize>>,
}

/// The cells of a channel.
#[derive(Clone, Debug)]
pub struct ChannelLayout {
    /// State of each side, by `Side::index`.
    pub states: [usize; 2],
    /// First place of the queue to each side.
    pub queues: [usize; 2],
    /// Places of the queue to each side.
    pub places: [usize; 2],
    /// The number that stands for closed.
    pub closed: u16,
}

/// Bits for the numbers 0 to `most`.
fn bits(most: usize) -> u8 {
    (usize::BITS - most.leading_zeros()) as u8
}

impl Layout {
    /// The layout for a system.
    #[must_use]
    pub fn new(system: &System) -> Layout {
        let mut widths = Vec::new();
        let mut cell = |most: usize| {
            widths.push(bits(most));
            widths.len() - 1
        };
        let mut nodes = Vec::new();
        let (mut talks, mut only) = (Vec::new(), Vec::new());
        for p in 0..system.processes.len() {
            let machine = system.machine(p);
            nodes.push(machine.map(|m| cell(m.nodes.len() - 1)));
            let mut all = Vec::new();
            if let Some(machine) = machine {
                for (endpoint, e) in machine.endpoints.iter().enumerate() {
                    for &channel in e.channels.iter().filter(|_| e.channels.len() > 1) {
                        let node = cell(machine.nodes.len());
                        let others = machine.endpoints.iter().enumerate();
                        let bound = others
                            .map(|(i, o)| {
                                let several = i != endpoint && o.channels.len() > 1;
                                several.then(|| cell(o.channels.len()))
                            })
                            .collect();
                        all.push(Talk {
                            endpoint,
                            channel,
                            node,
                            bound,
                        });
                    }
                }
            }
            only.push((!all.is_empty()).then(|| cell(all.len())));
            talks.push(all);
        }
        let mut channels = Vec::new();
        for c in 0..system.channels.len() {
            let table = system.contract(c);
            let closed = table.states.len();
            let states = [cell(closed), cell(closed)];
            let places = table.queue.map(usize::from);
            let mut queues = [0; 2];
            for side in [Side::Imp, Side::Exp] {
                let i = side.index();
                let all: Vec<usize> = (0..places[i]).map(|_| cell(table.messages.len())).collect();
                queues[i] = all.first().copied().unwrap_or(0);
            }
            channels.push(ChannelLayout {
                states,
                queues,
                places,
                closed: closed as u16,
            });
        }
        Layout {
            nodes,
            talks,
            only,
            channels,
            widths,
        }
    }

    /// Numbers in a row.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.widths.len()
    }

    /// Words of a packed row; at least one.
    #[must_use]
    pub fn words(&self) -> usize {
        let bits: usize = self.widths.iter().map(|&w| usize::from(w)).sum();
        bits.div_ceil(64).max(1)
    }

    /// The row in which everything begins.
    #[must_use]
    pub fn start(&self, system: &System) -> Vec<u16> {
        let mut row = vec![0; self.cells()];
        for (channel, layout) in system.channels.iter().zip(&self.channels) {
            for side in [Side::Imp, Side::Exp] {
                if channel.ends[side.index()].is_none() {
                    row[layout.states[side.index()]] = layout.closed;
                }
            }
        }
        row
    }

    /// Packs a row.
    pub fn pack(&self, row: &[u16], words: &mut [u64]) {
        words.fill(0);
        let mut at = 0;
        for (&value, &width) in row.iter().zip(&self.widths) {
            let (word, shift) = (at / 64, at % 64);
            words[word] |= u64::from(value) << shift;
            if shift + usize::from(width) > 64 {
                words[word + 1] |= u64::from(value) >> (64 - shift);
            }
            at += usize::from(width);
        }
    }

    /// Unpacks a row.
    pub fn unpack(&self, words: &[u64], row: &mut [u16]) {
        let mut at = 0;
        for (value, &width) in row.iter_mut().zip(&self.widths) {
            let (word, shift) = (at / 64, at % 64);
            let mut bits = words.get(word).copied().unwrap_or(0) >> shift;
            if shift + usize::from(width) > 64 {
                bits |= words[word + 1] << (64 - shift);
            }
            *value = (bits & ((1 << width) - 1)) as u16;
            at += usize::from(width);
        }
    }
}

/// The first message of a queue.
#[must_use]
pub fn head(row: &[u16], channel: &ChannelLayout, side: Side) -> Option<u16> {
    let i = side.index();
    if channel.places[i] == 0 {
        return None;
    }
    row[channel.queues[i]].checked_sub(1)
}

/// Puts a message behind the others; false where there is no place for it.
pub fn push(row: &mut [u16], channel: &ChannelLayout, side: Side, message: u16) -> bool {
    let i = side.index();
    let places = &mut row[channel.queues[i]..channel.queues[i] + channel.places[i]];
    match places.iter_mut().find(|p| **p == 0) {
        Some(place) => {
            *place = message + 1;
            true
        }
        None => false,
    }
}

/// Takes the first message out.
pub fn pop(row: &mut [u16], channel: &ChannelLayout, side: Side) {
    let i = side.index();
    let places = &mut row[channel.queues[i]..channel.queues[i] + channel.places[i]];
    places.rotate_left(1);
    if let Some(last) = places.last_mut() {
        *last = 0;
    }
}

/// Takes everything out.
pub fn clear(row: &mut [u16], channel: &ChannelLayout, side: Side) {
    let i = side.index();
    row[channel.queues[i]..channel.queues[i] + channel.places[i]].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Rows of any content within their widths come back as they were, wherever the words' ends
    /// fall.
    #[test]
    fn rows_pack_without_loss() {
        let text = "contract C { in message A(); in message B(); out message D();
              state Start: A? -> B? -> A? -> D! -> Start; }
            process p { state S: c.D? -> S; } process q, r, s, t, u: any;
            channel C: p.c -> q.c; channel C: q.d -> r.c; channel C: r.d -> s.c; channel C: s.d -> t.c;
            channel C: t.d -> u.c; channel C: u.d -> q.e;";
        let system = crate::load("x", text, Path::new("")).unwrap();
        let layout = Layout::new(&system);
        assert!(layout.words() > 1);
        let mut words = vec![0; layout.words()];
        for seed in 1..2000_u64 {
            let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let row: Vec<u16> = layout
                .widths
                .iter()
                .map(|&width| {
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                    (x & ((1 << width) - 1)) as u16
                })
                .collect();
            layout.pack(&row, &mut words);
            let mut back = vec![0; row.len()];
            layout.unpack(&words, &mut back);
            assert_eq!(row, back);
        }
    }

    #[test]
    fn queues_keep_their_order() {
        let text = "contract C { in message A(); in message B(); out message D();
              state Start: A? -> B? -> D! -> Start; }
            process p, q: any; channel C: p.c -> q.c;";
        let system = crate::load("x", text, Path::new("")).unwrap();
        let layout = Layout::new(&system);
        let channel = &layout.channels[0];
        let mut row = layout.start(&system);
        assert_eq!(head(&row, channel, Side::Exp), None);
        assert!(push(&mut row, channel, Side::Exp, 1) && push(&mut row, channel, Side::Exp, 0));
        assert!(!push(&mut row, channel, Side::Exp, 0), "it has two places");
        assert_eq!(head(&row, channel, Side::Exp), Some(1));
        pop(&mut row, channel, Side::Exp);
        assert_eq!(head(&row, channel, Side::Exp), Some(0));
        pop(&mut row, channel, Side::Exp);
        assert_eq!(row, layout.start(&system));
    }
}
