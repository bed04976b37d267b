//! Hand-off: a message goes from the sender's registers straight to the waiting receiver, with the
//! same effect as a send and a receive. The receiver runs next or is made runnable.
//!
//! Invariant: a function here that returns `None` has changed nothing; the general path,
//! [`super::send`], then finds out why.

use super::{Channel, End, Inner, copy_words};
use crate::ground::contract::Load;
use crate::ground::trace;
use crate::mechanism::cpu;
use crate::mechanism::wait;
use crate::object::sip::Sip;
use crate::object::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use sing_image::manifest::Side;
use sing_runtime::SipMemory;

impl End {
    /// The memory of the thread that waits to receive here, if a message without conditions can be
    /// given to it directly; `state` is the other end's protocol state. `None` if the message has
    /// to take the general path.
    #[inline(always)]
    pub(super) fn waiting_receiver(&self, t: &'static Thread, state: u32) -> Option<SipMemory> {
        let sip = t.its_sip()?;
        let waits = self.state == state
            && self.len == 0
            && self.owner.is(sip)
            && wait::waits(t)
            && !sip.is_halted()
            && !trace::is_on();
        waits.then(|| sip.window())
    }

    /// Notes that the thread that receives here has got a message, after which the state is `next`.
    /// The caller makes the thread run.
    #[inline(always)]
    pub(super) fn complete_receive(&mut self, t: &'static Thread, next: u32, message: u32) {
        wait::tell(t, message + 1);
        self.receiver.set(None);
        self.state = next;
    }

    /// Queues a message of scalars for the thread that waits for the set with this end: that
    /// thread, for the caller to run, and the result of its wait. `None`, with nothing changed, if
    /// there is none or the message has to take the general path.
    #[inline(never)]
    fn deliver_to_set(
        &mut self,
        from: &'static Thread,
        message: u32,
        load: Load,
    ) -> Option<(&'static Thread, u32)> {
        // If a message is queued already, a receiver has left it there, or is not waiting.
        if load.block().is_some()
            || self.len != 0
            || !self.waiters.is_empty()
            || self.closed
            || trace::is_on()
        {
            return None;
        }
        let hand_off = self.member.get()?.hand_off()?;
        let slot = self.queue.get_mut(self.head..self.head + self.stride)?;
        let (tag, rest) = slot.split_first_mut()?;
        let rest = rest.get_mut(..load.words())?;
        *tag = u64::from(message);
        match rest {
            [word] => *word = from.wait.passed.word(),
            rest => copy_words(rest, &from.wait.passed.words()[..rest.len()]),
        }
        self.len = 1;
        Some(hand_off.done())
    }
}

/// Gives `to` the message that `from` has passed in registers: writes its words where `to` wants
/// them, and moves a block into its table. `None`, with nothing changed, if that is not possible.
#[inline(always)]
fn put(from: &'static Thread, to: &'static Thread, memory: SipMemory, load: Load) -> Option<()> {
    if load == Load::WORD {
        let out = to.wait.out.load(Relaxed);
        return memory.write_u64(out, from.wait.passed.word()).ok();
    }
    put_others(from, to, load)
}

#[inline(never)]
fn put_others(from: &'static Thread, to: &'static Thread, load: Load) -> Option<()> {
    let (sip, out) = (to.sip(), to.wait.out.load(Relaxed));
    let mut words = from.wait.passed.words();
    let words = words.get_mut(..load.words())?;
    let Some(block) = load.block() else {
        return sip.window().write_words(out, words).ok();
    };
    // If the receiver may have no room for it, the general path decides.
    sip.account().may_borrow().then_some(())?;
    let word = words.get_mut(block)?;
    let handle = *word as u32;
    let allocation = from.allocation(handle)?;
    (load.takes_parts() || !allocation.1.has_parts()).then_some(())?;
    let new = to.enter_allocation(allocation)?;
    *word = u64::from(new);
    if sip.window().write_words(out, words).is_err() {
        to.take_allocation(new);
        return None;
    }
    from.take_allocation(handle);
    allocation.1.charge(sip.account());
    Some(())
}

/// Both ends, the state after the message, and what it carries, if `sip` may send it from `side`
/// and it qualifies for the hand-off.
#[inline(always)]
fn steps<'a>(
    inner: &'a mut Inner,
    side: Side,
    message: u32,
    sip: &'static Sip,
) -> Option<((&'a mut End, &'a mut End), u32, Load)> {
    let contract = inner.contract?;
    let (mine, theirs) = inner.both(side);
    let (next, load) = contract.fast_step(mine.state, message, side)?;
    // The owner changes only under the channel's lock, hence the check here, as in a receive.
    let may = mine.owner.is(sip);
    may.then_some(((mine, theirs), next, load))
}

/// Sends the message that `me` has passed in registers from `side` and begins to receive there, if
/// that can be done by a switch from `me` to the thread that waits at the other side: that thread,
/// and the result of its wait. `None`, with nothing changed, if the call has to take the general
/// path.
#[inline(always)]
pub(crate) fn hand_over(
    (channel, side): (&'static Channel, Side),
    message: u32,
    (me, sip): (&'static Thread, &'static Sip),
) -> Option<(&'static Thread, u32)> {
    let mut guard = channel.inner.try_lock()?;
    let inner = &mut *guard;
    let ((mine, theirs), next, load) = steps(inner, side, message, sip)?;
    let state = mine.state;
    if mine.len != 0 || mine.receiver.get().is_some() || !cpu::this().hands_over() {
        return None;
    }
    let to = match theirs.receiver.get() {
        Some(t) => {
            let memory = theirs.waiting_receiver(t, state)?;
            put(me, t, memory, load)?;
            theirs.complete_receive(t, next, message);
            (t, message + 1)
        }
        None => theirs.deliver_to_set(me, message, load)?,
    };
    mine.state = next;
    mine.receiver.set(Some(me));
    me.is_receiver(mine.member.get());
    Some(to)
}

/// Gives the message that `me` has passed in registers to the thread that waits at the other side,
/// and makes that runnable. `None`, with nothing changed, if it has to take the general path.
#[inline(always)]
pub(crate) fn deliver(
    (channel, side): (&'static Channel, Side),
    message: u32,
    (me, sip): (&'static Thread, &'static Sip),
) -> Option<()> {
    let mut guard = channel.inner.try_lock()?;
    let inner = &mut *guard;
    let ((mine, theirs), next, load) = steps(inner, side, message, sip)?;
    let t = theirs.receiver.get()?;
    let memory = theirs.waiting_receiver(t, mine.state)?;
    put(me, t, memory, load)?;
    theirs.complete_receive(t, next, message);
    mine.state = next;
    t.ready();
    Some(())
}
