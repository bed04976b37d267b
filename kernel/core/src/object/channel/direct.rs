//! Hand-off: a message goes from the sender's registers to the thread that waits for it, as if it had been queued and received
//! at once, and that thread runs next or is made runnable.
//!
//! Invariant: nothing has happened where one of these answers `None`; the ordinary way, [`super::send`], then finds out why.

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
    /// The memory of the thread that receives here and waits, where a message of which nothing must hold can be given to it
    /// as if it had been queued and received at once; the other end's state is `state`. `None` where the message has to go
    /// the ordinary way.
    #[inline(always)]
    pub(super) fn receives(&self, t: &'static Thread, state: u32) -> Option<SipMemory> {
        let sip = t.its_sip()?;
        let waits = self.state == state
            && self.len == 0
            && self.owner.is(sip)
            && wait::waits(t)
            && !sip.is_halted()
            && !trace::is_on();
        waits.then(|| sip.window())
    }

    /// The thread that receives here has been given the words of a message, which `next` follows. The thread is for the
    /// caller to run.
    #[inline(always)]
    pub(super) fn received(&mut self, t: &'static Thread, next: u32, message: u32) {
        wait::tell(t, message + 1);
        self.receiver.set(None);
        self.state = next;
    }

    /// Queues a message of scalars for the thread that waits for the set that this end is in, which is for the caller to run:
    /// with what that is told. `None`, and nothing has happened, where there is none, or the message has to go the ordinary
    /// way.
    #[inline(never)]
    fn deliver_to_set(
        &mut self,
        from: &'static Thread,
        message: u32,
        load: Load,
    ) -> Option<(&'static Thread, u32)> {
        // Where something is queued, somebody has left it there, or does not wait.
        if load.block().is_some()
            || self.len != 0
            || !self.waiters.is_empty()
            || self.closed
            || trace::is_on()
        {
            return None;
        }
        let handing = self.member.get()?.handing()?;
        let slot = self.queue.get_mut(self.head..self.head + self.stride)?;
        let (tag, rest) = slot.split_first_mut()?;
        let rest = rest.get_mut(..load.words())?;
        *tag = u64::from(message);
        match rest {
            [word] => *word = from.wait.passed.word(),
            rest => copy_words(rest, &from.wait.passed.words()[..rest.len()]),
        }
        self.len = 1;
        Some(handing.done())
    }
}

/// Gives `to` the message that `from` has passed in registers: writes its words where `to` wants them, and puts a block into
/// its table. `None`, and nothing has happened, where that cannot be.
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
    // Where there may be no room for it, the ordinary way finds out.
    sip.account().may_borrow().then_some(())?;
    let word = words.get_mut(block)?;
    let handle = *word as u32;
    let allocation = from.allocation(handle)?;
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

/// Both ends where `sip` may send a message from `side` that can go at once, the state that follows, and what goes over.
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
    // The lock is what keeps the owner from changing: it is looked at under it, as in a receive.
    let may = mine.owner.is(sip);
    may.then_some(((mine, theirs), next, load))
}

/// Sends the message that `me` has passed in registers from `side` and begins to receive there, where both can be done by
/// leaving `me` for the thread that waits for it at the other side: that is who runs next then, and what it is told. `None`, and nothing has happened,
/// where the call has to go the ordinary way.
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
            let memory = theirs.receives(t, state)?;
            put(me, t, memory, load)?;
            theirs.received(t, next, message);
            (t, message + 1)
        }
        None => theirs.deliver_to_set(me, message, load)?,
    };
    mine.state = next;
    mine.receiver.set(Some(me));
    me.is_receiver(mine.member.get());
    Some(to)
}

/// Gives the message that `me` has passed in registers to the thread that receives at the other side, where nothing else is to be done, and lets that run later.
/// `None`, and nothing has happened, where it has to go the ordinary way.
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
    let memory = theirs.receives(t, mine.state)?;
    put(me, t, memory, load)?;
    theirs.received(t, next, message);
    mine.state = next;
    t.ready();
    Some(())
}
