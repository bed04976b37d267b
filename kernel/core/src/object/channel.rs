//! Channels ([O] 3.5): two endpoints, each with a queue whose length the contract bounds.
//!
//! A send puts the message into the receiver's queue. There is always room, because a sender that
//! keeps to the contract cannot have more messages in flight, and one that does not is ended
//! before. So a send never waits, fails or allocates. Each end has its own view of the protocol's
//! state, which steps when it sends and when it receives.
//!
//! Allocations and endpoints in a message belong to the message and are in no SIP's table. The
//! queue holds their indices. If the receiving end is closed, they are freed with the message, step
//! by step, by the SIP that closed it ([`empty`]). The record is free when both ends are closed and
//! empty.

mod arguments;
mod closing;
mod direct;
pub(crate) mod layout;
mod outside;
mod sweep;

pub(crate) use arguments::{NO_BLOCK, allocation_in, from_word, to_word};
pub(crate) use closing::{close, empty};
pub(crate) use direct::{deliver, hand_over};
pub(crate) use outside::{Came, Heard, Next, Unsaid, hear, next, say, tell};
pub(crate) use sweep::sweep;

use crate::ground::contract::Contract;
use crate::ground::machine;
use crate::ground::trace;
use crate::ground::trusted::Store;
use crate::ground::trusted::variables;
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
    /// Its index in the store.
    pub(crate) index: AtomicU32,
    /// The account that it is charged to.
    account: Link<Account>,
    /// The set memberships of the importing and of the exporting end.
    members: [Member; 2],
    /// Messages that were sent over it and its predecessors in this record while somebody traced.
    pub(crate) traced: AtomicU32,
    inner: SpinLock<Inner>,
}

/// A channel's state, under its lock.
#[derive(Default)]
pub(crate) struct Inner {
    /// Its contract; none while the record is free.
    pub(crate) contract: Option<&'static Contract>,
    /// The importing and the exporting end.
    pub(crate) ends: [End; 2],
}

impl Inner {
    /// The end at `side`, and the other one.
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
    /// The protocol state as this end has seen it: a row of the contract's table.
    pub(crate) state: u32,
    /// Whether its owner has closed it.
    pub(crate) closed: bool,
    /// The contract that it may be used under: the channel's, or a permission to which it has been
    /// narrowed permanently.
    pub(crate) permission: Option<&'static Contract>,
    /// The SIP that has a handle to it; none while it is in a message, or kept for a successor.
    pub(crate) owner: Link<Sip>,
    /// For a successor of the owner ([`crate::object::sip`]): what the owner says that it is. None
    /// if it is closed when the owner ends.
    pub(crate) kept: Option<Kept>,
    /// Ring buffer of messages to this end: slots of `stride` words, the first of which is the
    /// message's index in the contract.
    queue: Vec<u64>,
    stride: usize,
    head: usize,
    /// Messages in the queue.
    pub(crate) len: usize,
    /// The thread that waits for a message here alone.
    receiver: Link<Thread>,
    /// Threads that wait for several things including this one, and further receivers.
    pub(crate) waiters: WaitList,
    /// Back-reference for code that holds only the `End`; passing the channel through `receive`
    /// would lengthen the fast path.
    member: Link<Member>,
}

/// What is noted of an endpoint for the successor of its owner.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    /// The owner's own mark.
    pub(crate) tag: u32,
    /// The bits that operations on it must carry, once the owner has ended: its successor has the
    /// same image.
    pub(crate) bits: u32,
}

/// Queues of up to this many words stay with a free record for the next channel: most are that
/// short.
const KEPT: usize = 32;

variables! { forget:
    static CHANNELS: Slab<Channel> = Slab::new();
}

/// Channels in use.
pub(crate) fn live() -> u32 {
    CHANNELS.live()
}

/// One more than the highest channel index ever used.
pub(crate) fn end() -> u32 {
    CHANNELS.end()
}

/// The channel with this index.
pub(crate) fn from_index(index: u32) -> Option<&'static Channel> {
    CHANNELS.get(index)
}

/// The stores of channel records.
pub(crate) fn stores() -> [&'static dyn Store; 1] {
    [&CHANNELS]
}

impl Channel {
    /// A new channel, charged to `account`. Its ends have no owner yet. `None` if memory is short,
    /// or the account has no room.
    pub(crate) fn create(
        contract: &'static Contract,
        account: &'static Account,
    ) -> Option<&'static Channel> {
        // Its queues are memory of the kernel's heap.
        if !machine::heap_grants(Self::cost(contract)) || !account.charge(Self::cost(contract)) {
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
            end.kept = None;
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

    /// Bytes that a channel of this contract is charged for.
    fn cost(contract: &Contract) -> u64 {
        let slots: u64 = contract.table.queue.iter().map(|&q| u64::from(q)).sum();
        let queues = slots * (contract.max_words as u64 + 1) * 8 + 2 * HEADER;
        queues + Slab::<Channel>::RECORD + 16 * KEPT as u64
    }

    /// Frees the record: both ends are closed and empty.
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

    /// The set membership of an end.
    #[inline(always)]
    pub(crate) fn member(&self, side: Side) -> &Member {
        &self.members[side.index()]
    }

    /// Takes this end from its owner, because it is sent away: wakes the threads that receive
    /// there, and takes it out of its set.
    pub(crate) fn release(&'static self, side: Side) {
        self.member(side).leave();
        let mut inner = self.inner.lock();
        let end = &mut inner.ends[side.index()];
        end.owner.set(None);
        end.kept = None;
        end.wake_all();
    }

    /// The channel's state.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Guard<'_, Inner> {
        self.inner.lock()
    }
}

impl End {
    /// Uses this end under `contract`. Narrowing to a permission is permanent.
    pub(crate) fn narrow(&mut self, contract: &'static Contract) {
        if contract.table.narrows.is_some() {
            self.permission = Some(contract);
        }
    }

    /// The slot for the next message; `None` if the queue is full.
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

    /// Appends a message to the queue. False if there is no room.
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

    /// Wakes one waiter of this end for a message.
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

    /// The receiver has no room for the first message, which stays queued. Wakes another waiter, as
    /// this wake-up may have been the only one.
    #[cold]
    #[inline(never)]
    fn pass_on(&self) {
        if let Some(member) = self.member.get() {
            self.wake(member);
        }
    }

    /// Wakes all waiters: this end is closed, has moved, or will never get a message. Returns their
    /// number, without a single receiver.
    pub(crate) fn wake_all(&self) -> u32 {
        if let Some(t) = self.receiver.take() {
            wait::wake(t);
        }
        wait::wake_all(&self.waiters)
    }

    /// Whether it is closed and its queue is empty.
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

/// Copies a message's words. They are so few that a call of `memcpy` would cost more.
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

/// The result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The message has been queued or delivered.
    Ok,
    /// The other side has closed; the arguments stay with the sender.
    Closed,
}

/// Sends `message` from `side`. `words` are as the sender passed them: scalars, and handles in the
/// tables of `thread` and its SIP.
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
    // Another thread of the SIP may have closed or sent the endpoint since the handle was looked
    // up; the owner changes only under this lock.
    if !mine.owner.is(thread.sip()) {
        return Err(Trap::BadHandle);
    }
    if theirs.closed {
        // The message is dropped, but a broken condition is still the sender's fault.
        if !step.fast {
            arguments::check_conditions(contract, message, words, thread)?;
        }
        mine.state = step.next;
        return Ok(Sent::Closed);
    }
    if step.fast {
        if let Some(t) = theirs.receiver.get()
            && let Some(memory) = theirs.waiting_receiver(t, mine.state)
            && memory.write_words(t.wait.out.load(Relaxed), words).is_ok()
        {
            theirs.complete_receive(t, step.next, message);
            mine.state = step.next;
            t.ready();
            return Ok(Sent::Ok);
        }
        if !theirs.push(message, words) {
            return Err(Trap::ProtocolViolation);
        }
    } else {
        arguments::take_arguments(channel, contract, theirs, message, words, thread)?;
    }
    mine.state = step.next;
    trace::sent(thread, channel, contract, message, theirs);
    theirs.wake(channel.member(side.peer()));
    Ok(Sent::Ok)
}

/// The result of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A message with this index; its words are where the receiver wanted them.
    Message(u32),
    /// The other side has closed, and the queue is empty.
    Closed,
    /// No message yet; the thread has been noted as a waiter.
    Wait,
    /// The receiver has no room for what the message moves; the message stays queued.
    NoRoom,
}

/// Receives at `side`: passes the words to `deliver`, or begins a wait. In the latter case a sender
/// may write the words of the next message to `out` directly.
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
        let Some(rejected) = arguments::give_arguments(kinds, words, thread, &mut handles) else {
            mine.pass_on();
            return Ok(Received::NoRoom);
        };
        let delivered = deliver(&handles[..words.len()]);
        if delivered.is_err() || rejected {
            // If the receiver is about to be ended, its end frees the arguments it was given; so
            // the message must leave the queue, or they would be freed twice.
            let rejected = arguments::rejected_endpoints(kinds, words, &handles);
            mine.state = step.next;
            mine.pop();
            drop(guard);
            for (channel, side) in rejected.into_iter().flatten() {
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

/// Removes a thread that is being ended from the waiters of this end.
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

/// The index of the first message at this end, `WOULD_BLOCK` if the queue is empty, `CLOSED` if it
/// will stay empty.
#[inline]
pub(crate) fn peek(channel: &'static Channel, side: Side) -> i32 {
    let inner = channel.inner.lock();
    match inner.ends[side.index()].front() {
        Some((message, _)) => message as i32,
        None if inner.ends[side.peer().index()].closed => status::CLOSED,
        None => status::WOULD_BLOCK,
    }
}
