//! Channels ([O] 3.5): two endpoints, each with a queue whose length the contract bounds.
//!
//! A send puts the message into the receiver's queue; there always is room, because a sender that keeps to
//! the contract cannot have more under way, and one that does not is ended before. So a send never waits,
//! fails or allocates. Each end has its own view of the protocol's state, which steps when it sends and when
//! it receives.
//!
//! Allocations and endpoints in a message belong to the message: to nobody's table. They are in the queue as
//! indices, and are given back with it when the receiving end is closed.

use crate::contract::Contract;
use crate::exheap;
use crate::sip::Sip;
use crate::thread::Thread;
use crate::trace;
use crate::wait::{self, WaitList};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_abi::MAX_MESSAGE_WORDS;
use sing_abi::trap::Trap;
use sing_arch::link::Link;
use sing_arch::lock::{Guard, SpinLock};
use sing_arch::slab::Slab;
use sing_image::contract::Word;
use sing_image::manifest::Side;

/// A channel.
#[derive(Default)]
pub(crate) struct Channel {
    /// Its index.
    pub(crate) index: AtomicU32,
    /// The SIP that was charged for it, and that SIP's id then; the object may stand for another SIP now.
    payer: Link<Sip>,
    payer_id: AtomicU32,
    inner: SpinLock<Inner>,
}

/// A channel's state.
#[derive(Default)]
pub(crate) struct Inner {
    /// Its contract; none while the channel is not in use.
    pub(crate) contract: Option<&'static Contract>,
    /// The importing and the exporting end.
    pub(crate) ends: [End; 2],
}

/// One end of a channel.
#[derive(Default)]
pub(crate) struct End {
    /// The state that this end has seen.
    pub(crate) state: u16,
    /// Whether its owner has closed it.
    pub(crate) closed: bool,
    /// The SIP in whose table it is; none while it is in a message.
    pub(crate) owner: Link<Sip>,
    /// Messages to this end: slots of `stride` words, the first of which is the message's index.
    queue: Vec<u64>,
    stride: usize,
    head: usize,
    /// Messages waiting.
    pub(crate) len: usize,
    /// Threads that wait for a message.
    pub(crate) waiters: WaitList,
}

static CHANNELS: Slab<Channel> = Slab::new();

/// Channels in use.
pub(crate) fn live() -> u32 {
    CHANNELS.live()
}

/// Every channel that was ever in use.
pub(crate) fn all() -> impl Iterator<Item = &'static Channel> {
    CHANNELS.all()
}

impl Channel {
    /// A new channel, charged to `payer`. Its ends belong to nobody yet. `None` where there are too many, or
    /// the payer's budget is spent.
    pub(crate) fn create(
        contract: &'static Contract,
        payer: Option<&'static Sip>,
    ) -> Option<&'static Channel> {
        if payer.is_some_and(|p| !p.charge(Self::cost(contract))) {
            return None;
        }
        let Some((index, channel)) = CHANNELS.take() else {
            payer.inspect(|p| p.discharge(Self::cost(contract)));
            return None;
        };
        channel.payer.set(payer);
        channel.payer_id.store(payer.map_or(0, Sip::id), Relaxed);
        channel.index.store(index, Relaxed);
        let mut inner = channel.inner.lock();
        inner.contract = Some(contract);
        for side in [Side::Imp, Side::Exp] {
            let slots = usize::from(contract.table.queue[side.index()]);
            let end = &mut inner.ends[side.index()];
            end.state = 0;
            end.closed = false;
            end.owner.set(None);
            end.stride = contract.max_words + 1;
            end.head = 0;
            end.len = 0;
            end.queue.clear();
            end.queue.resize(slots * end.stride, 0);
        }
        drop(inner);
        Some(channel)
    }

    /// Bytes that a channel of this contract takes.
    fn cost(contract: &Contract) -> u64 {
        let slots: u64 = contract.table.queue.iter().map(|&q| u64::from(q)).sum();
        slots * (contract.max_words as u64 + 1) * 8 + size_of::<Channel>() as u64
    }

    /// The channel's state.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Guard<'_, Inner> {
        self.inner.lock()
    }
}

impl End {
    #[inline(always)]
    fn slots(&self) -> usize {
        self.queue.len() / self.stride.max(1)
    }

    /// Puts a message at the end of the queue. False where there is no room.
    #[inline(always)]
    fn push(&mut self, message: u32, words: &[u64]) -> bool {
        let used = self.len * self.stride;
        if used >= self.queue.len() {
            return false;
        }
        let mut at = self.head + used;
        if at >= self.queue.len() {
            at -= self.queue.len();
        }
        let Some(slot) = self.queue.get_mut(at..at + 1 + words.len()) else {
            return false;
        };
        slot[0] = u64::from(message);
        slot[1..].copy_from_slice(words);
        self.len += 1;
        true
    }

    /// The first message: its index and the words of its slot.
    #[inline(always)]
    fn front(&self) -> Option<(u32, &[u64])> {
        if self.len == 0 {
            return None;
        }
        let slot = self.queue.get(self.head..self.head + self.stride)?;
        Some((slot[0] as u32, &slot[1..]))
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.len -= 1;
        self.head += self.stride;
        if self.head >= self.queue.len() {
            self.head = 0;
        }
    }
}

/// What a send came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The message is under way.
    Ok,
    /// The other side has closed; what was to move has stayed.
    Closed,
}

/// Sends `message` from `side`, with the words that the sender passed: scalars, and handles in the tables of
/// `thread` and its SIP.
#[inline(always)]
pub(crate) fn send(
    channel: &'static Channel,
    side: Side,
    message: u32,
    words: &[u64],
    thread: &'static Thread,
) -> Result<Sent, Trap> {
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let Some(contract) = inner.contract else {
        return Err(Trap::BadHandle);
    };
    let [imp, exp] = &mut inner.ends;
    let (mine, theirs) = match side {
        Side::Imp => (imp, exp),
        Side::Exp => (exp, imp),
    };
    let Some(next) = contract.step(mine.state, message, side) else {
        return Err(Trap::ProtocolViolation);
    };
    let info = contract.info(message);
    let words = words
        .get(..usize::from(info.words))
        .ok_or(Trap::BadArgument)?;
    if theirs.closed {
        mine.state = next;
        return Ok(Sent::Closed);
    }
    if info.plain {
        if !theirs.push(message, words) {
            return Err(Trap::ProtocolViolation);
        }
    } else {
        if theirs.len >= theirs.slots() {
            return Err(Trap::ProtocolViolation);
        }
        let kinds = &contract.table.messages[message as usize].words;
        // An endpoint of the channel itself cannot travel on it; its lock is held here.
        let moved = take_arguments(channel, kinds, words, thread)?;
        theirs.push(message, &moved[..words.len()]);
    }
    mine.state = next;
    trace::sent(thread, channel, message, theirs);
    wait::wake_one(&theirs.waiters);
    Ok(Sent::Ok)
}

/// Takes what a message moves out of the sender's tables: all of it or, with the reason, nothing.
fn take_arguments(
    channel: &'static Channel,
    kinds: &[Word],
    words: &[u64],
    thread: &'static Thread,
) -> Result<[u64; MAX_MESSAGE_WORDS], Trap> {
    let sip = thread.sip();
    let mut moved = [0; MAX_MESSAGE_WORDS];
    // First all tests, so that a refused message moves nothing; a handle named twice fails at the second.
    for (i, (kind, &word)) in kinds.iter().zip(words).enumerate() {
        let handle = word as u32;
        let twice = words[..i].iter().zip(kinds).any(|(&w, k)| {
            *k != Word::Scalar
                && core::mem::discriminant(k) == core::mem::discriminant(kind)
                && w as u32 == handle
        });
        match kind {
            Word::Scalar => {}
            Word::Block => {
                if twice || thread.xtable.lock().get(handle).is_none() {
                    return Err(Trap::BadHandle);
                }
            }
            Word::Endpoint {
                contract,
                side,
                state,
            } => {
                if twice {
                    return Err(Trap::BadHandle);
                }
                sip.check_endpoint(handle, channel, contract, *side, state.as_deref())?;
            }
        }
    }
    for (slot, (kind, &word)) in moved.iter_mut().zip(kinds.iter().zip(words)) {
        *slot = match kind {
            Word::Scalar => word,
            Word::Block => {
                let index = thread.take_allocation(word as u32).ok_or(Trap::BadHandle)?;
                u64::from(index)
            }
            Word::Endpoint { .. } => sip.take_endpoint(word as u32).ok_or(Trap::BadHandle)?,
        };
    }
    Ok(moved)
}

/// What a receive came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// This message; its words are where the receiver wanted them.
    Message(u32),
    /// The other side has closed, and no message is left.
    Closed,
    /// No message yet, and the thread has been put into the wait list.
    Wait,
    /// The receiver has no room for what the message moves; the message stays.
    NoRoom,
}

/// Receives at `side`: hands the words to `deliver`, or begins a wait.
#[inline(always)]
pub(crate) fn receive(
    channel: &'static Channel,
    side: Side,
    thread: &'static Thread,
    deliver: impl FnOnce(&[u64]) -> Result<(), Trap>,
) -> Result<Received, Trap> {
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let Some(contract) = inner.contract else {
        return Err(Trap::BadHandle);
    };
    let [imp, exp] = &mut inner.ends;
    let (mine, theirs) = match side {
        Side::Imp => (imp, exp),
        Side::Exp => (exp, imp),
    };
    let Some((message, words)) = mine.front() else {
        if theirs.closed {
            return Ok(Received::Closed);
        }
        thread.wait_in(&mine.waiters);
        return Ok(Received::Wait);
    };
    let Some(next) = contract.step(mine.state, message, side.peer()) else {
        return Err(Trap::ProtocolViolation);
    };
    let info = contract.info(message);
    let words = &words[..usize::from(info.words)];
    if info.plain {
        deliver(words)?;
    } else {
        let kinds = &contract.table.messages[message as usize].words;
        let Some(handles) = give_arguments(kinds, words, thread) else {
            return Ok(Received::NoRoom);
        };
        deliver(&handles[..words.len()])?;
    }
    mine.state = next;
    mine.pop();
    trace::received(thread, channel, message);
    Ok(Received::Message(message))
}

/// Puts what a message moves into the receiver's tables: all of it, or nothing where there is no room.
fn give_arguments(
    kinds: &[Word],
    words: &[u64],
    thread: &'static Thread,
) -> Option<[u64; MAX_MESSAGE_WORDS]> {
    let sip = thread.sip();
    let mut handles = [0; MAX_MESSAGE_WORDS];
    for i in 0..words.len() {
        let given = match &kinds[i] {
            Word::Scalar => Some(words[i]),
            Word::Block => thread.give_allocation(words[i] as u32).map(u64::from),
            Word::Endpoint { contract, .. } => sip.give_endpoint(words[i], contract).map(u64::from),
        };
        match given {
            Some(h) => handles[i] = h,
            None => {
                for j in 0..i {
                    match &kinds[j] {
                        Word::Scalar => {}
                        Word::Block => drop(thread.take_allocation(handles[j] as u32)),
                        Word::Endpoint { .. } => drop(sip.take_endpoint(handles[j] as u32)),
                    }
                }
                return None;
            }
        }
    }
    Some(handles)
}

/// An endpoint as a word of a message.
pub(crate) fn to_word(channel: &Channel, side: Side) -> u64 {
    u64::from(channel.index.load(Relaxed)) << 1 | side.index() as u64
}

/// The endpoint in a word of a message.
pub(crate) fn from_word(word: u64) -> Option<(&'static Channel, Side)> {
    let side = if word & 1 == 0 { Side::Imp } else { Side::Exp };
    Some((CHANNELS.get((word >> 1) as u32)?, side))
}

/// Closes an end: gives back the messages that wait there, and lets the other side know. Messages can hold
/// endpoints whose closing finds further messages, to any depth; they are worked off one by one.
pub(crate) fn close(channel: &'static Channel, side: Side) {
    let mut todo: Vec<(&'static Channel, Side)> = Vec::new();
    let mut next = Some((channel, side));
    while let Some((channel, side)) = next {
        close_one(channel, side, &mut todo);
        next = todo.pop();
    }
}

fn close_one(channel: &'static Channel, side: Side, todo: &mut Vec<(&'static Channel, Side)>) {
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let Some(contract) = inner.contract else {
        return;
    };
    let [imp, exp] = &mut inner.ends;
    let (mine, theirs) = match side {
        Side::Imp => (imp, exp),
        Side::Exp => (exp, imp),
    };
    if mine.closed {
        return;
    }
    mine.closed = true;
    mine.owner.set(None);
    wait::wake_all(&mine.waiters);
    while let Some((message, words)) = mine.front() {
        for (kind, &word) in contract.table.messages[message as usize]
            .words
            .iter()
            .zip(words)
        {
            match kind {
                Word::Scalar => {}
                Word::Block => exheap::free(word as u32),
                Word::Endpoint { .. } => todo.extend(from_word(word)),
            }
        }
        mine.pop();
    }
    wait::wake_all(&theirs.waiters);
    if theirs.closed {
        inner.contract = None;
        drop(guard);
        if let Some(p) = channel.payer.take()
            && p.is_alive()
            && p.id() == channel.payer_id.load(Relaxed)
        {
            p.discharge(Channel::cost(contract));
        }
        CHANNELS.give(channel.index.load(Relaxed));
    }
}

/// Whether a message waits at this end: `Some(true)`; none: `Some(false)`; none will ever: `None`.
pub(crate) fn poll(channel: &'static Channel, side: Side) -> Option<bool> {
    let inner = channel.inner.lock();
    let mine = &inner.ends[side.index()];
    if mine.len > 0 {
        Some(true)
    } else if inner.ends[side.peer().index()].closed {
        None
    } else {
        Some(false)
    }
}
