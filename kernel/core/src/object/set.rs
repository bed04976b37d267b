//! Sets of endpoints: waiting for the first of many at a cost that does not depend on how many are
//! idle ([O] 4.4, `switch receive` over a set of endpoints).
//!
//! An endpoint in a set is put into the set's ready list when a message arrives or the other side
//! closes. It stays there until a wait finds it without a message; each wait moves it to the end.
//! So endpoints are served in turn, no message is missed if a receiver leaves some behind, and idle
//! endpoints are never visited. A wait for the set among other objects only checks it, and moves
//! nothing.
//!
//! Each message wakes one waiter of the set, even if its endpoint is in the ready list already: it
//! may be a leftover there, of a thread that has since turned to other work.
//!
//! Invariants:
//! - An endpoint is in at most one set, and a set's endpoints belong to its SIP, or to no SIP, if it is
//!   that of calls of the host program: an endpoint that is closed, sent or given to a child leaves
//!   its set first.
//! - A member's node is changed under its set's lock only. If both locks are held, the channel's
//!   was taken first.
//! - A set that is disposed of does not touch its idle members; they refer to it by its number,
//!   which is not used again.

pub(crate) mod layout;
mod sweep;

pub(crate) use sweep::sweep;

use crate::ground::trusted::Store;
use crate::ground::trusted::variables;
use crate::ground::work::Work;
use crate::mechanism::interrupt;
use crate::mechanism::wait::{self, Until, WaitList, Waitable};
use crate::object::calls;
use crate::object::channel::{self, Channel};
use crate::object::thread::Thread;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::status;
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock::{Counter, Guard, SpinLock};
use sing_arch::slab::Slab;
use sing_image::manifest::Side;

/// A set of endpoints.
#[derive(Default)]
pub(crate) struct Set {
    index: AtomicU32,
    /// Identifies this use of the record; 0 while the record is free.
    number: AtomicU64,
    /// Whether it is a thread's selection ([`crate::object::selection`]), which only borrows
    /// endpoints.
    borrows: AtomicBool,
    /// Whether it is that of calls of the host program ([`crate::object::calls`]).
    of_calls: AtomicBool,
    /// Whether a borrowed endpoint has left it.
    stale: AtomicBool,
    inner: SpinLock<Inner>,
}

#[derive(Default)]
struct Inner {
    ready: List<Member>,
    /// The thread that waits for this set alone.
    waiter: Link<Thread>,
    /// Threads that wait for several objects including this set, and further waiters.
    waiters: WaitList,
}

/// The role of the node by which a closed endpoint is in its SIP's list of those with messages to
/// free.
pub(crate) struct Closing;

/// The part of an endpoint that can be referred to without its channel's lock: its set membership,
/// what a thread waits for, and its place among endpoints to be emptied.
#[derive(Default)]
pub(crate) struct Member {
    /// Its place in the set's ready list.
    node: Node<Member>,
    /// Its place among endpoints that its SIP has closed and not emptied.
    closing: Node<Member, Closing>,
    set: Link<Set>,
    number: AtomicU64,
    key: AtomicU32,
    /// The endpoint: its channel, whose field this is, and its side.
    channel: Link<Channel>,
    side: AtomicU32,
}

impl Linked for Member {
    fn node(&self) -> &Node<Member> {
        &self.node
    }
}

impl Linked<Closing> for Member {
    fn node(&self) -> &Node<Member, Closing> {
        &self.closing
    }
}

impl Waitable for Member {
    fn acquire(&'static self, _: &'static Thread) -> bool {
        self.is_ready()
    }

    fn look(&'static self, _: &'static Thread) -> i32 {
        self.endpoint().map_or(status::CLOSED, |(channel, side)| {
            channel::peek(channel, side)
        })
    }

    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList)) {
        if let Some((channel, side)) = self.endpoint() {
            f(&channel.lock().ends[side.index()].waiters);
        }
    }
}

/// The step's allowance is spent.
struct Spent;

/// The result of looking for a ready endpoint.
pub(crate) enum Look {
    /// The key of a ready endpoint: a receive there would not wait.
    Key(u32),
    /// No endpoint is ready.
    Nothing,
    /// Unknown yet: the step ended after as many endpoints as its allowance.
    More,
}

/// The most endpoints without a message that one step removes from the ready list.
pub(crate) const STEP: usize = 256;

variables! { forget:
    static SETS: Slab<Set> = Slab::new();
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);
}

/// The stores of sets' records.
pub(crate) fn stores() -> [&'static dyn Store; 1] {
    [&SETS]
}

impl Member {
    /// Sets the endpoint that this belongs to.
    pub(crate) fn belongs_to(&self, channel: &'static Channel, side: Side) {
        self.channel.set(Some(channel));
        self.side.store(side.index() as u32, Relaxed);
    }

    /// The set that it is in, if any.
    #[inline(always)]
    fn set(&self) -> Option<&'static Set> {
        let set = self.set.get()?;
        (set.number.load(Relaxed) == self.number.load(Relaxed)).then_some(set)
    }

    /// Tells its set that a message has arrived, or the other side has closed.
    #[inline(always)]
    pub(crate) fn notify(&'static self) {
        if let Some(set) = self.set() {
            set.ready(self);
        }
    }

    /// A message is about to arrive: the thread that waits for its set, if it could run at once.
    #[inline(always)]
    pub(crate) fn hand_off(&'static self) -> Option<HandOff> {
        let set = self.set()?;
        let inner = set.inner.lock();
        let t = inner.waiter.get()?;
        let can = wait::waits(t) && !t.is_halted();
        can.then_some(HandOff {
            member: self,
            inner,
            t,
        })
    }

    /// Takes it out of its set. False if it is in none.
    pub(crate) fn leave(&'static self) -> bool {
        let Some(set) = self.set() else {
            return false;
        };
        self.set.set(None);
        let inner = set.inner.lock();
        inner.ready.remove(self);
        if set.borrows.load(Relaxed) {
            set.stale.store(true, Relaxed);
            if let Some(t) = inner.waiter.take() {
                wait::wake(t);
            }
        }
        true
    }

    /// The endpoint: its channel and side.
    #[inline(always)]
    pub(crate) fn endpoint(&self) -> Option<(&'static Channel, Side)> {
        let side = if self.side.load(Relaxed) == 0 {
            Side::Imp
        } else {
            Side::Exp
        };
        Some((self.channel.get()?, side))
    }

    /// Whether a receive at its endpoint would not wait.
    #[inline(always)]
    fn is_ready(&self) -> bool {
        self.endpoint()
            .is_some_and(|(channel, side)| channel::is_ready(channel, side))
    }
}

/// A thread that waits for the set of an endpoint at which a message is about to arrive; holds the
/// set's lock.
pub(crate) struct HandOff {
    member: &'static Member,
    inner: Guard<'static, Inner>,
    t: &'static Thread,
}

impl HandOff {
    /// Ends the wait after the message has been queued: the thread, for the caller to run at once,
    /// and the result of its wait.
    #[inline(always)]
    pub(crate) fn done(self) -> (&'static Thread, u32) {
        let (member, inner, t) = (self.member, self.inner, self.t);
        if !member.node.is_linked() {
            inner.ready.push(member);
        }
        inner.waiter.set(None);
        let told = t.wait.told_of_key(member.key.load(Relaxed));
        wait::tell(t, told);
        (t, told)
    }
}

impl Set {
    /// Bytes that a set costs its SIP, beside its handle.
    pub(crate) const COST: u64 = Slab::<Set>::RECORD;

    /// A new set. `None` if memory is short.
    pub(crate) fn create() -> Option<&'static Set> {
        let (index, set) = SETS.take()?;
        set.index.store(index, Relaxed);
        set.borrows.store(false, Relaxed);
        set.of_calls.store(false, Relaxed);
        set.renew();
        Some(set)
    }

    /// A new set for calls of the host program: the idle context looks at what is ready there.
    pub(crate) fn create_for_calls() -> Option<&'static Set> {
        let set = Self::create()?;
        set.of_calls.store(true, Relaxed);
        Some(set)
    }

    /// A new set for a thread's selection.
    pub(crate) fn create_for_selection() -> Option<&'static Set> {
        let set = Self::create()?;
        set.borrows.store(true, Relaxed);
        Some(set)
    }

    /// Empties it without visiting idle members: none of them refers to it under its new number.
    pub(crate) fn renew(&self) {
        let inner = self.inner.lock();
        while inner.ready.pop().is_some() {}
        self.number.store(NEXT_NUMBER.add(1), Relaxed);
        self.stale.store(false, Relaxed);
    }

    /// Whether it has lost a borrowed endpoint.
    #[inline(always)]
    pub(crate) fn is_stale(&self) -> bool {
        self.stale.load(Relaxed)
    }

    /// Empties the ready list, in steps, before the set is disposed of. Whether none is left.
    pub(crate) fn empty(&self, work: &mut Work) -> bool {
        while !work.is_spent() {
            let inner = self.inner.lock();
            if inner.ready.pop().is_none() {
                return true;
            }
            work.spend(0);
        }
        self.inner.lock().ready.is_empty()
    }

    /// Wakes all waiters and frees the record: its owner gives it up, and has emptied it.
    pub(crate) fn dispose(&'static self) {
        let inner = self.inner.lock();
        self.number.store(0, Relaxed);
        while inner.ready.pop().is_some() {}
        if let Some(t) = inner.waiter.take() {
            wait::wake(t);
        }
        wait::wake_all(&inner.waiters);
        drop(inner);
        SETS.give(self.index.load(Relaxed));
    }

    /// Adds an endpoint, or changes the key of one that is in it. False if it is in another set,
    /// unless that has only borrowed it.
    pub(crate) fn add(&'static self, channel: &'static Channel, side: Side, key: u32) -> bool {
        let member = channel.member(side);
        match member.set() {
            Some(set) if core::ptr::eq(set, self) => {}
            Some(set) if !set.borrows.load(Relaxed) => return false,
            _ => drop(member.leave()),
        }
        self.join(member, key);
        true
    }

    /// Adds an endpoint until another set wants it. False if a set owns it, or a thread waits in
    /// the set that has borrowed it.
    pub(crate) fn borrow(&'static self, channel: &'static Channel, side: Side, key: u32) -> bool {
        let member = channel.member(side);
        match member.set() {
            Some(set) if core::ptr::eq(set, self) => {}
            Some(set) if !set.borrows.load(Relaxed) || set.inner.lock().waiter.get().is_some() => {
                return false;
            }
            _ => drop(member.leave()),
        }
        self.join(member, key);
        true
    }

    fn join(&'static self, member: &'static Member, key: u32) {
        member.key.store(key, Relaxed);
        member.number.store(self.number.load(Relaxed), Relaxed);
        member.set.set(Some(self));
        if member.is_ready() {
            self.ready(member);
        }
    }

    /// Takes an endpoint out. False if it is not in this set.
    pub(crate) fn remove(&'static self, channel: &'static Channel, side: Side) -> bool {
        let member = channel.member(side);
        member.set().is_some_and(|s| core::ptr::eq(s, self)) && member.leave()
    }

    /// Appends a member to the ready list, unless it is there already, and wakes one waiter.
    #[inline(always)]
    fn ready(&self, member: &'static Member) {
        let inner = self.inner.lock();
        if !member.node.is_linked() {
            inner.ready.push(member);
        }
        match inner.waiter.take() {
            Some(t) => wait::wake(t),
            None if self.of_calls.load(Relaxed) => calls::come(),
            None => drop(wait::wake_one(&inner.waiters)),
        }
    }

    /// The key of the next ready endpoint, which moves to the end of the ready list.
    #[inline(always)]
    pub(crate) fn next(&self) -> Look {
        let (member, alone) = match self.first() {
            Ok(Some(first)) => first,
            Ok(None) => return Look::Nothing,
            Err(Spent) => return Look::More,
        };
        // A single endpoint is at the end already.
        if !alone {
            let inner = self.inner.lock();
            if inner.ready.remove(member) {
                inner.ready.push(member);
            }
        }
        Look::Key(member.key.load(Relaxed))
    }

    /// As [`Set::next`], for a set with at most [`STEP`] endpoints: a selection.
    #[inline(always)]
    pub(crate) fn next_of_few(&self) -> Option<u32> {
        match self.next() {
            Look::Key(key) => Some(key),
            Look::Nothing | Look::More => None,
        }
    }

    /// Whether an endpoint is ready, or may be: at most [`STEP`] are looked at.
    pub(crate) fn has_ready(&self) -> bool {
        !matches!(self.first(), Ok(None))
    }

    /// The first ready endpoint, and whether it is the only one in the list. Removes those before
    /// it that are not ready any more, as a thread may have received there directly: at most
    /// [`STEP`], then fails.
    #[inline(always)]
    fn first(&self) -> Result<Option<(&'static Member, bool)>, Spent> {
        self.first_within(&mut { STEP })
    }

    /// As [`Set::first`], for at most `left` endpoints.
    #[inline(always)]
    fn first_within(&self, left: &mut usize) -> Result<Option<(&'static Member, bool)>, Spent> {
        while *left > 0 {
            *left -= 1;
            let (member, alone) = {
                let inner = self.inner.lock();
                let Some(first) = inner.ready.first() else {
                    return Ok(None);
                };
                (first, inner.ready.is_last(first))
            };
            if member.is_ready() {
                return Ok(Some((member, alone)));
            }
            let inner = self.inner.lock();
            inner.ready.remove(member);
            if inner.ready.is_empty() {
                return Ok(None);
            }
        }
        Err(Spent)
    }

    /// Its number, by which a wait recognises it later.
    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// Whether it still has this number and all that it has borrowed.
    #[inline(always)]
    pub(crate) fn is(&self, number: u64) -> bool {
        self.number() == number && !self.is_stale()
    }

    /// Waits for a ready endpoint until a deadline: its key, or the status of a wait that ended
    /// otherwise. `None` if the set was disposed of meanwhile or has become stale; the caller can
    /// then wait for something else until the same deadline.
    #[cold]
    pub(crate) fn wait_until(
        &'static self,
        thread: &'static Thread,
        until: &mut Until,
    ) -> Option<i32> {
        let number = self.number();
        loop {
            match self.next() {
                Look::Key(key) => return Some(key as i32),
                Look::Nothing => {}
                Look::More => {
                    interrupt::let_others_run();
                    if !self.is(number) {
                        return None;
                    }
                    continue;
                }
            }
            let deadline = until.deadline();
            if crate::ground::machine::hal().now() >= deadline {
                return Some(status::TIMEOUT);
            }
            self.begin_wait(thread);
            thread.sleep_until(deadline);
            if !self.is(number) {
                return None;
            }
            self.stop_waiting(thread);
        }
    }

    /// Notes the thread as waiting for this set alone.
    #[inline(always)]
    pub(crate) fn begin_wait(&'static self, thread: &'static Thread) {
        let inner = self.inner.lock();
        thread.wait_in(self, self.number(), &inner.waiter, &inner.waiters);
    }

    /// Removes a thread from the waiters: its time is up, it has been woken, or it is being ended.
    pub(crate) fn stop_waiting(&self, thread: &'static Thread) {
        let inner = self.inner.lock();
        thread.stop_waiting_in(&inner.waiter, &inner.waiters);
    }
}

impl Waitable for Set {
    /// Whether an endpoint is ready. It keeps its place in the list, as the caller does not receive
    /// there yet.
    fn acquire(&'static self, _: &'static Thread) -> bool {
        loop {
            if let Ok(first) = self.first() {
                return first.is_some();
            }
        }
    }

    fn look(&'static self, _: &'static Thread) -> i32 {
        loop {
            match self.next() {
                Look::Key(key) => return key as i32,
                Look::Nothing => return status::WOULD_BLOCK,
                Look::More => {}
            }
        }
    }

    fn settle(&'static self, left: &mut usize) -> bool {
        self.first_within(left).is_ok()
    }

    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList)) {
        f(&self.inner.lock().waiters);
    }
}
