//! Channels ([O] 3.5): two endpoints, each with a queue whose length the contract bounds.
//!
//! A send puts the message into the receiver's queue; there always is room, because a sender that keeps to
//! the contract cannot have more under way, and one that does not is ended before. So a send never waits,
//! fails or allocates. Each end has its own view of the protocol's state, which steps when it sends and when
//! it receives.
//!
//! Allocations and endpoints in a message belong to the message: to nobody's table. They are in the queue as
//! indices, and are given back with it when the receiving end is closed: step by step, by the one who closes it
//! ([`empty`]). The record is free when both ends are closed and empty.

mod arguments;
mod closing;
mod direct;
mod sweep;

pub(crate) use arguments::{from_word, to_word};
pub(crate) use closing::{close, empty};
pub(crate) use direct::{deliver, hand_over};
pub(crate) use sweep::sweep;

use crate::ground::contract::Contract;
use crate::ground::trace;
use crate::ground::trusted::Store;
use crate::mechanism::wait::{self, WaitList};
use crate::object::account::Account;
use crate::object::set::Member;
use crate::object::sip::Sip;
use crate::object::thread::Thread;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_abi::MAX_MESSAGE_WORDS;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_arch::link::Link;
use sing_arch::lock::{Guard, SpinLock};
use sing_arch::slab::Slab;
use sing_image::manifest::Side;
use sing_runtime::HEADER;

/// A channel.
#[derive(Default)]
pub(crate) struct Channel {
    /// Its index.
    pub(crate) index: AtomicU32,
    /// The account that it is charged to.
    account: Link<Account>,
    /// The places of the importing and of the exporting end in sets.
    members: [Member; 2],
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

impl Inner {
    /// The end of a side, and the other one.
    #[inline(always)]
    fn both(&mut self, side: Side) -> (&mut End, &mut End) {
        let [imp, exp] = &mut self.ends;
        match side {
            Side::Imp => (imp, exp),
            Side::Exp => (exp, imp),
        }
    }
}

/// One end of a channel.
#[derive(Default)]
pub(crate) struct End {
    /// The state that this end has seen, as its row in the contract.
    pub(crate) state: u32,
    /// Whether its owner has closed it.
    pub(crate) closed: bool,
    /// What it may be used as: the channel's contract, or a permission to which it has been narrowed, for good.
    pub(crate) permission: Option<&'static Contract>,
    /// The SIP in whose table it is; none while it is in a message.
    pub(crate) owner: Link<Sip>,
    /// Messages to this end: slots of `stride` words, the first of which is the message's index.
    queue: Vec<u64>,
    stride: usize,
    head: usize,
    /// Messages waiting.
    pub(crate) len: usize,
    /// The thread that receives here and has nothing to receive.
    receiver: Link<Thread>,
    /// Threads that wait for several things, this among them; and further receivers.
    pub(crate) waiters: WaitList,
    /// Its place in a set, for whoever has nothing but the end: a receive that keeps the channel for what hardly ever
    /// happens is longer for all.
    member: Link<Member>,
}

/// Words of a queue that a record keeps for the next channel: most queues are as short.
const KEPT: usize = 32;

static CHANNELS: Slab<Channel> = Slab::new();

/// Channels in use.
pub(crate) fn live() -> u32 {
    CHANNELS.live()
}

/// One more than the highest index of a channel there ever was.
pub(crate) fn end() -> u32 {
    CHANNELS.end()
}

/// The channel with this index.
pub(crate) fn from_index(index: u32) -> Option<&'static Channel> {
    CHANNELS.get(index)
}

/// The stores of channels.
pub(crate) fn stores() -> [&'static dyn Store; 1] {
    [&CHANNELS]
}

impl Channel {
    /// A new channel, charged to `account`. Its ends belong to nobody yet. `None` where memory is short, or the
    /// account has no room.
    pub(crate) fn create(
        contract: &'static Contract,
        account: &'static Account,
    ) -> Option<&'static Channel> {
        if !account.charge(Self::cost(contract)) {
            return None;
        }
        let Some((index, channel)) = CHANNELS.take() else {
            account.discharge(Self::cost(contract));
            return None;
        };
        channel.account.set(Some(account));
        channel.index.store(index, Relaxed);
        let mut inner = channel.inner.lock();
        inner.contract = Some(contract);
        let mut room = true;
        for side in [Side::Imp, Side::Exp] {
            channel.member(side).belongs_to(channel, side);
            let slots = usize::from(contract.table.queue[side.index()]);
            let end = &mut inner.ends[side.index()];
            end.state = 0;
            end.closed = false;
            end.permission = Some(contract);
            end.owner.set(None);
            end.member.set(Some(channel.member(side)));
            end.stride = contract.max_words + 1;
            end.head = 0;
            end.len = 0;
            end.queue.clear();
            room &= end.queue.try_reserve_exact(slots * end.stride).is_ok();
            if room {
                #[expect(clippy::disallowed_methods, reason = "there is room")]
                end.queue.resize(slots * end.stride, 0);
            }
        }
        drop(inner);
        if !room {
            channel.give_back(contract);
            return None;
        }
        Some(channel)
    }

    /// Bytes that a channel of this contract takes.
    fn cost(contract: &Contract) -> u64 {
        let slots: u64 = contract.table.queue.iter().map(|&q| u64::from(q)).sum();
        let queues = slots * (contract.max_words as u64 + 1) * 8 + 2 * HEADER;
        queues + Slab::<Channel>::RECORD + 16 * KEPT as u64
    }

    /// Nobody has either of its ends any more.
    fn give_back(&self, contract: &Contract) {
        let mut inner = self.inner.lock();
        inner.contract = None;
        for end in &mut inner.ends {
            if end.queue.capacity() > KEPT {
                end.queue = Vec::new();
            }
        }
        drop(inner);
        CHANNELS.give(self.index.load(Relaxed));
        if let Some(account) = self.account.take() {
            account.discharge(Channel::cost(contract));
        }
    }

    /// An end's place in a set.
    #[inline(always)]
    pub(crate) fn member(&self, side: Side) -> &Member {
        &self.members[side.index()]
    }

    /// The SIP that held this end gives it away: whoever receives there finds that out, and it leaves its set.
    pub(crate) fn release(&'static self, side: Side) {
        self.member(side).leave();
        let inner = self.inner.lock();
        let end = &inner.ends[side.index()];
        end.owner.set(None);
        end.wake_all();
    }

    /// The channel's state.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Guard<'_, Inner> {
        self.inner.lock()
    }
}

impl End {
    /// It is used as one of `contract` from now on; where that is a permission, for good.
    pub(crate) fn narrow(&mut self, contract: &'static Contract) {
        if contract.table.narrows.is_some() {
            self.permission = Some(contract);
        }
    }

    /// Where the next message goes: its slot, or `None` where there is no room.
    #[inline(always)]
    fn next_slot(&mut self) -> Option<&mut [u64]> {
        let used = self.len * self.stride;
        if used >= self.queue.len() {
            return None;
        }
        let mut at = self.head + used;
        if at >= self.queue.len() {
            at -= self.queue.len();
        }
        self.queue.get_mut(at..at + self.stride)
    }

    /// Puts a message at the end of the queue. False where there is no room.
    #[inline(always)]
    fn push(&mut self, message: u32, words: &[u64]) -> bool {
        let Some(slot) = self.next_slot() else {
            return false;
        };
        let Some((tag, rest)) = slot.split_first_mut() else {
            return false;
        };
        *tag = u64::from(message);
        if rest.len() < words.len() {
            return false;
        }
        copy_words(rest, words);
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

    /// Lets who waits here know of a message.
    #[inline(always)]
    fn wake(&self, member: &'static Member) {
        match self.receiver.take() {
            Some(t) => wait::wake(t),
            None => {
                wait::wake_one(&self.waiters);
                member.notify();
            }
        }
    }

    /// The first message stays, for which a receiver has no room, who may have been woken for it: lets another one know.
    #[cold]
    #[inline(never)]
    fn pass_on(&self) {
        if let Some(member) = self.member.get() {
            self.wake(member);
        }
    }

    /// Lets all who wait here know that this end is closed, has moved, or will never get a message.
    pub(crate) fn wake_all(&self) {
        if let Some(t) = self.receiver.take() {
            wait::wake(t);
        }
        wait::wake_all(&self.waiters);
    }

    /// Whether nobody has it, and nothing waits in it.
    fn is_done(&self) -> bool {
        self.closed && self.len == 0
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

/// Copies a message's words: few, so that a call of `memcpy` would cost more than the copy.
#[inline(always)]
fn copy_words(to: &mut [u64], from: &[u64]) {
    match from {
        [] => {}
        [a] => to[0] = *a,
        [a, b] => (to[0], to[1]) = (*a, *b),
        [a, b, c] => (to[0], to[1], to[2]) = (*a, *b, *c),
        more => to[..more.len()].copy_from_slice(more),
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
    let (mine, theirs) = inner.both(side);
    let Some(step) = contract.step(mine.state, message, side) else {
        return Err(Trap::ProtocolViolation);
    };
    let words = words
        .get(..usize::from(step.words))
        .ok_or(Trap::BadArgument)?;
    // As above: the owner is looked at under the lock.
    if !mine.owner.is(thread.sip()) {
        return Err(Trap::BadHandle);
    }
    if theirs.closed {
        // Nobody gets it, but it is the sender's fault all the same.
        if !step.fast {
            arguments::judged(contract, message, words, thread)?;
        }
        mine.state = step.next;
        return Ok(Sent::Closed);
    }
    if step.fast {
        if let Some(t) = theirs.receiver.get()
            && let Some(memory) = theirs.receives(t, mine.state)
            && memory.write_words(t.wait.out.load(Relaxed), words).is_ok()
        {
            theirs.received(t, step.next, message);
            mine.state = step.next;
            t.ready();
            return Ok(Sent::Ok);
        }
        if !theirs.push(message, words) {
            return Err(Trap::ProtocolViolation);
        }
    } else {
        arguments::moved(channel, contract, theirs, message, words, thread)?;
    }
    mine.state = step.next;
    trace::sent(thread, channel, contract, message, theirs);
    theirs.wake(channel.member(side.peer()));
    Ok(Sent::Ok)
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

/// Receives at `side`: hands the words to `deliver`, or begins a wait. Words of a message that comes meanwhile may be put to
/// `out` at once.
#[inline(always)]
pub(crate) fn receive(
    channel: &'static Channel,
    side: Side,
    thread: &'static Thread,
    out: u32,
    deliver: impl FnOnce(&[u64]) -> Result<(), Trap>,
) -> Result<Received, Trap> {
    let sip = thread.sip();
    let mut guard = channel.inner.lock();
    let inner = &mut *guard;
    let Some(contract) = inner.contract else {
        return Err(Trap::BadHandle);
    };
    let (mine, theirs) = inner.both(side);
    // Another thread of the SIP may have closed or sent the endpoint while this one waited.
    if !mine.owner.is(sip) {
        return Err(Trap::BadHandle);
    }
    let Some((message, words)) = mine.front() else {
        if theirs.closed {
            return Ok(Received::Closed);
        }
        thread.wait_at(channel.member(side), out, &mine.receiver, &mine.waiters);
        return Ok(Received::Wait);
    };
    let Some(step) = contract.step(mine.state, message, side.peer()) else {
        return Err(Trap::ProtocolViolation);
    };
    let words = words
        .get(..usize::from(step.words))
        .ok_or(Trap::BadArgument)?;
    if step.plain {
        deliver(words)?;
    } else {
        let kinds = &contract.table.messages[message as usize].words;
        let mut handles = [0; MAX_MESSAGE_WORDS];
        let Some(refused) = arguments::given(kinds, words, thread, &mut handles) else {
            mine.pass_on();
            return Ok(Received::NoRoom);
        };
        let delivered = deliver(&handles[..words.len()]);
        if delivered.is_err() || refused {
            // Where the receiver ends, what it was given ends with it, and the message must not be given back twice.
            let refused = arguments::refused(kinds, words, &handles);
            mine.state = step.next;
            mine.pop();
            drop(guard);
            for (channel, side) in refused.into_iter().flatten() {
                close(channel, side, sip);
            }
            return delivered.map(|()| Received::Message(message));
        }
    }
    mine.state = step.next;
    mine.pop();
    trace::received(thread, channel, contract, message, theirs);
    Ok(Received::Message(message))
}

/// Takes a thread out that receives at this end, and is ended.
pub(crate) fn stop_waiting(channel: &'static Channel, side: Side, thread: &'static Thread) {
    let inner = channel.inner.lock();
    let end = &inner.ends[side.index()];
    thread.stop_waiting_in(&end.receiver, &end.waiters);
}

/// Whether a receive at this end would not wait.
#[inline(always)]
pub(crate) fn is_ready(channel: &'static Channel, side: Side) -> bool {
    let inner = channel.inner.lock();
    inner.ends[side.index()].len > 0 || inner.ends[side.peer().index()].closed
}

/// The first message that waits at this end, `WOULD_BLOCK` where none does, `CLOSED` where none will ever.
#[inline]
pub(crate) fn peek(channel: &'static Channel, side: Side) -> i32 {
    let inner = channel.inner.lock();
    match inner.ends[side.index()].front() {
        Some((message, _)) => message as i32,
        None if inner.ends[side.peer().index()].closed => status::CLOSED,
        None => status::WOULD_BLOCK,
    }
}
