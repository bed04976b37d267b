//! The model of channels, of endpoints that travel in messages, and of sets of endpoints.

use crate::blocks::{Heap, Node, Owned, given};
use crate::raw;
use crate::{Failure, expect};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use fastrand::Rng;
use sing_abi::status::{BAD_ARGUMENT, BAD_STATE, CLOSED, NOT_FOUND, OK, TIMEOUT, WOULD_BLOCK};

/// The most channels and sets at a time.
const CHANNELS: usize = 24;
const SETS: usize = 4;
/// Messages of the contract, by their tags.
const PUT: i32 = 0;
const TWO: i32 = 1;
const MOVE: i32 = 2;
const ANSWER: i32 = 3;
/// The sides.
const IMP: usize = 0;
const EXP: usize = 1;

/// A message under way.
enum Message {
    Put(Node),
    Two(Node, Node),
    /// The importing end of the channel of this number.
    Move(u32),
    Answer,
}

impl Message {
    fn tag(&self) -> i32 {
        match self {
            Message::Put(_) => PUT,
            Message::Two(..) => TWO,
            Message::Move(_) => MOVE,
            Message::Answer => ANSWER,
        }
    }

    fn blocks(&self) -> (u64, u64) {
        match self {
            Message::Put(a) => a.count(),
            Message::Two(a, b) => {
                let (a, b) = (a.count(), b.count());
                (a.0 + b.0, a.1 + b.1)
            }
            Message::Move(_) | Message::Answer => (0, 0),
        }
    }
}

/// The place of an end.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Held(u32),
    Travelling,
    Closed,
}

struct End {
    place: Place,
    /// Whether it has seen a question without its answer.
    asked: bool,
    queue: Option<Message>,
    /// The set that it is in, and its key there.
    set: Option<(u32, u32)>,
}

/// All channels and sets.
#[derive(Default)]
pub struct Channels {
    all: BTreeMap<u32, [End; 2]>,
    /// Sets by their handles.
    sets: Vec<u32>,
    /// Numbers for channels and keys.
    next: u32,
}

impl Channels {
    /// The number of channels.
    pub fn len(&self) -> u64 {
        self.all.len() as u64
    }

    /// Blocks in messages, and their bytes.
    pub fn count(&self) -> (u64, u64) {
        let queues = self.all.values().flatten().filter_map(|e| e.queue.as_ref());
        queues
            .map(Message::blocks)
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// One operation.
    pub fn step(&mut self, heap: &mut Heap, rng: &mut Rng) -> Result<(), Failure> {
        if self.all.len() < CHANNELS && rng.u32(..12) == 0 {
            return self.create();
        }
        let choice = rng.u32(..24);
        if choice < 6 {
            return self.step_sets(choice, rng);
        }
        let held = self.held();
        if held.is_empty() {
            return Ok(());
        }
        let (channel, side, handle) = held[rng.usize(..held.len())];
        let waits = self.peek(channel, side);
        expect("peek", raw::endpoint_peek(handle), waits)?;
        if choice == 6 {
            return self.close(channel, side, handle);
        }
        if waits != WOULD_BLOCK && rng.u32(..3) > 0 {
            return self.receive(channel, side, handle, heap);
        }
        match (side, self.end(channel, side).asked) {
            (IMP, false) => self.ask(channel, handle, heap, rng),
            (EXP, true) => {
                let sent = raw::send_ok(handle);
                self.end(channel, EXP).asked = false;
                self.under_way(channel, EXP, Message::Answer, sent)
                    .map(drop)
            }
            _ => Ok(()),
        }
    }

    fn create(&mut self) -> Result<(), Failure> {
        let mut handles = [0_u32; 2];
        expect("a channel", raw::new(raw::address(&mut handles)), OK)?;
        self.next += 1;
        let ends = handles.map(|handle| End {
            place: Place::Held(handle),
            asked: false,
            queue: None,
            set: None,
        });
        self.all.insert(self.next, ends);
        Ok(())
    }

    /// Every end that is held: its channel, side and handle.
    fn held(&self) -> Vec<(u32, usize, u32)> {
        let mut held = Vec::new();
        for (&channel, ends) in &self.all {
            for (side, end) in ends.iter().enumerate() {
                if let Place::Held(handle) = end.place {
                    held.push((channel, side, handle));
                }
            }
        }
        held
    }

    fn end(&mut self, channel: u32, side: usize) -> &mut End {
        &mut self.all.get_mut(&channel).expect("a channel that is there")[side]
    }

    /// The expected result of a poll of an end.
    fn peek(&self, channel: u32, side: usize) -> i32 {
        let ends = &self.all[&channel];
        match &ends[side].queue {
            Some(message) => message.tag(),
            None if ends[1 - side].place == Place::Closed => CLOSED,
            None => WOULD_BLOCK,
        }
    }

    /// Closes an end that is held. Its waiting messages go with it: blocks, and endpoints with
    /// their own messages.
    fn close(&mut self, channel: u32, side: usize, handle: u32) -> Result<(), Failure> {
        expect("close", raw::handle_dispose(handle), OK)?;
        let mut todo = alloc::vec![(channel, side)];
        while let Some((channel, side)) = todo.pop() {
            let end = self.end(channel, side);
            end.place = Place::Closed;
            end.set = None;
            if let Some(Message::Move(other)) = end.queue.take() {
                todo.push((other, IMP));
            }
            if self.end(channel, 1 - side).place == Place::Closed {
                self.all.remove(&channel);
            }
        }
        Ok(())
    }

    /// A message has been sent, or has come back because the other side is closed.
    fn under_way(
        &mut self,
        channel: u32,
        from: usize,
        message: Message,
        sent: i32,
    ) -> Result<Option<Message>, Failure> {
        let to = self.end(channel, 1 - from);
        if to.place == Place::Closed {
            expect("a send to the closed", sent, CLOSED)?;
            return Ok(Some(message));
        }
        to.queue = Some(message);
        expect("send", sent, OK)?;
        Ok(None)
    }

    /// Sends blocks or an endpoint.
    fn ask(
        &mut self,
        channel: u32,
        handle: u32,
        heap: &mut Heap,
        rng: &mut Rng,
    ) -> Result<(), Failure> {
        let back = if rng.u32(..3) == 0 {
            // Any importing end without messages, but not this channel's own.
            let others: Vec<(u32, u32)> = self
                .held()
                .into_iter()
                .filter(|&(c, side, _)| c != channel && side == IMP)
                .map(|(c, _, handle)| (c, handle))
                .filter(|&(c, _)| !self.all[&c][IMP].asked)
                .collect();
            if others.is_empty() {
                return Ok(());
            }
            let (other, moved) = others[rng.usize(..others.len())];
            let sent = raw::send_move(handle, i64::from(moved));
            let back = self.under_way(channel, IMP, Message::Move(other), sent)?;
            if back.is_none() {
                let end = self.end(other, IMP);
                end.place = Place::Travelling;
                end.set = None;
            }
            Vec::new()
        } else {
            let blocks: Vec<Owned> = (0..rng.usize(1..=2))
                .filter_map(|_| heap.take(rng))
                .collect();
            let handles: Vec<u32> = blocks.iter().map(|b| b.handle).collect();
            let mut nodes = blocks.into_iter().map(|b| b.node);
            let (message, sent) = match (nodes.next(), nodes.next()) {
                (Some(a), Some(b)) => (
                    Message::Two(a, b),
                    raw::send_two(handle, i64::from(handles[0]), i64::from(handles[1])),
                ),
                (Some(a), None) => (
                    Message::Put(a),
                    raw::send_put(handle, i64::from(handles[0])),
                ),
                _ => return Ok(()),
            };
            let nodes = match self.under_way(channel, IMP, message, sent)? {
                Some(Message::Put(a)) => alloc::vec![a],
                Some(Message::Two(a, b)) => alloc::vec![a, b],
                _ => Vec::new(),
            };
            handles.into_iter().zip(nodes).collect()
        };
        self.end(channel, IMP).asked = true;
        back.into_iter()
            .try_for_each(|(handle, node)| heap.put(handle, node))
    }

    /// Receives at an end at which a message waits, or none will ever come.
    fn receive(
        &mut self,
        channel: u32,
        side: usize,
        handle: u32,
        heap: &mut Heap,
    ) -> Result<(), Failure> {
        let mut words = [0_u64; 2];
        let at = raw::address(&mut words);
        let tag = if side == IMP {
            raw::recv_imp(handle, at)
        } else {
            raw::recv_exp(handle, at)
        };
        expect("receive", tag, self.peek(channel, side))?;
        // The message is in memory that only the kernel has written.
        let words = core::hint::black_box(words);
        let Some(message) = self.end(channel, side).queue.take() else {
            return Ok(());
        };
        self.end(channel, side).asked = side == EXP;
        match message {
            Message::Put(a) => heap.put(words[0] as u32, a),
            Message::Two(a, b) => {
                heap.put(words[0] as u32, a)?;
                heap.put(words[1] as u32, b)
            }
            Message::Move(other) => {
                self.end(other, IMP).place = Place::Held(words[0] as u32);
                Ok(())
            }
            Message::Answer => Ok(()),
        }
    }

    /// An operation on sets.
    fn step_sets(&mut self, choice: u32, rng: &mut Rng) -> Result<(), Failure> {
        let held = self.held();
        if self.sets.is_empty() || (self.sets.len() < SETS && rng.u32(..8) == 0) {
            self.sets.push(given("a set", raw::set_create())?);
            return Ok(());
        }
        let at = rng.usize(..self.sets.len());
        let set = self.sets[at];
        match choice {
            0 if rng.u32(..8) == 0 => {
                self.sets.swap_remove(at);
                let ends = self.all.values_mut().flatten();
                ends.filter(|e| e.set.is_some_and(|s| s.0 == set))
                    .for_each(|e| e.set = None);
                expect("the end of a set", raw::handle_dispose(set), OK)
            }
            0..3 if !held.is_empty() => {
                let (channel, side, endpoint) = held[rng.usize(..held.len())];
                self.next += 1;
                let key = self.next;
                let end = self.end(channel, side);
                if rng.u32(..3) == 0 {
                    let inside = end.set.take_if(|s| s.0 == set).is_some();
                    let wanted = if inside { OK } else { NOT_FOUND };
                    return expect("remove", raw::set_remove(set, endpoint), wanted);
                }
                let wanted = match end.set {
                    Some((other, _)) if other != set => BAD_STATE,
                    _ => {
                        end.set = Some((set, key));
                        OK
                    }
                };
                expect("add", raw::set_add(set, endpoint, key), wanted)
            }
            3 => self.select(&held, set, rng),
            _ => self.wait(set),
        }
    }

    /// Keys of a set's ends at which a receive would not wait.
    fn ready(&self, set: u32) -> Vec<u32> {
        let mut keys = Vec::new();
        for (&channel, ends) in &self.all {
            for (side, end) in ends.iter().enumerate() {
                if let Some((_, key)) = end.set.filter(|s| s.0 == set)
                    && self.peek(channel, side) != WOULD_BLOCK
                {
                    keys.push(key);
                }
            }
        }
        keys
    }

    /// As many waits as ends are ready report each of them once.
    fn wait(&self, set: u32) -> Result<(), Failure> {
        let mut ready = self.ready(set);
        if ready.is_empty() {
            return expect("a wait for nothing", raw::set_wait(set, 0), TIMEOUT);
        }
        while !ready.is_empty() {
            let key = raw::set_wait(set, 0);
            match ready.iter().position(|&k| k as i32 == key) {
                Some(at) => drop(ready.swap_remove(at)),
                None => return Err(Failure::new("a wait for a set", key, ready[0] as i32)),
            }
        }
        Ok(())
    }

    /// Waits for the first of a few ends, sometimes with a set among them. The reported one must be
    /// ready, and one must be reported if any is ready.
    fn select(&self, held: &[(u32, usize, u32)], set: u32, rng: &mut Rng) -> Result<(), Failure> {
        let mut handles = [0_u32; 6];
        let mut wanted = [WOULD_BLOCK; 6];
        for i in 0..5 {
            if let Some(&(channel, side, handle)) = held.get(rng.usize(..CHANNELS)) {
                handles[i] = handle;
                wanted[i] = self.peek(channel, side);
            }
        }
        let mut ready = Vec::new();
        if rng.bool() {
            handles[5] = set;
            ready = self.ready(set);
        }
        let any = !ready.is_empty() || wanted.iter().any(|&w| w != WOULD_BLOCK);
        let result = match (any, handles) {
            (_, [0, 0, 0, 0, 0, 0]) => BAD_ARGUMENT,
            (true, _) => OK,
            (false, _) => TIMEOUT,
        };
        let mut tags = [WOULD_BLOCK; 6];
        let selected = raw::select(raw::address(&mut handles), raw::address(&mut tags), 6, 0);
        expect("select", selected, result)?;
        let tags = core::hint::black_box(tags);
        let mut came = false;
        for (i, &tag) in tags.iter().enumerate() {
            if tag == WOULD_BLOCK {
                continue;
            }
            came = true;
            if i == 5 {
                let found = ready.iter().any(|&key| key as i32 == tag);
                expect("a ready end of a set", i32::from(found), 1)?;
            } else {
                expect("what has come", tag, wanted[i])?;
            }
        }
        expect("whether anything has come", i32::from(came), i32::from(any))
    }
}
