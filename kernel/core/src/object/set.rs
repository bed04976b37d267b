//! Sets of endpoints: waiting for the first of many at a cost that does not depend on how many are idle
//! ([O] 4.4, `switch receive` over a set of endpoints).
//!
//! An endpoint that is in a set is put into the set's list of those that are ready when a message arrives or the
//! other side closes. It stays there until a wait finds it without a message; each wait moves it to the end. So
//! endpoints are served in turn, nothing is lost where a receiver leaves messages behind, and idle endpoints are never
//! looked at. Whoever waits for the set among other things only looks, and moves nothing.
//!
//! Each message wakes one of those who wait for the set, also where its endpoint is in the list already: it may be there
//! because nobody has looked since it was emptied, by a thread that has other things to do now.
//!
//! Invariants:
//! - An endpoint is in one set at most, and a set's endpoints belong to its SIP: an endpoint that is closed, sent or
//!   handed to a child leaves its set first.
//! - A member's node is changed under its set's lock alone. Where both locks are held, the channel's was taken first.
//! - A set that is disposed of leaves its idle members as they are; they know it by its number, which is not used again.

mod sweep;

pub(crate) use sweep::sweep;

use crate::ground::trusted::Store;
use crate::mechanism::interrupt;
use crate::mechanism::wait::{self, Until, WaitList, Waitable};
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
    /// Distinguishes it from others that the object has stood for; 0 while it stands for none.
    number: AtomicU64,
    /// Whether it is a thread's selection ([`crate::object::selection`]), which endpoints are only borrowed for.
    borrows: AtomicBool,
    /// Whether one of those has left since.
    stale: AtomicBool,
    inner: SpinLock<Inner>,
}

#[derive(Default)]
struct Inner {
    ready: List<Member>,
    /// The thread that waits for this set alone.
    waiter: Link<Thread>,
    /// Threads that wait for several things, this among them.
    waiters: WaitList,
}

/// The role of a node by which an endpoint that is closed stands among those whose messages are to be given back.
pub(crate) struct Closing;

/// What an endpoint is where it is named by itself, without its channel's record: its place in a set, what a thread waits
/// for, what is left to give back of it.
#[derive(Default)]
pub(crate) struct Member {
    /// Its place among those that are ready.
    node: Node<Member>,
    /// Its place among those that its SIP has closed and not emptied.
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

/// A step is over.
struct Spent;

/// What a look at a set has come to.
pub(crate) enum Look {
    /// The key of an endpoint at which a receive would not wait.
    Key(u32),
    /// There is none.
    Nothing,
    /// Nobody knows yet: as many endpoints have been taken out as go into a step.
    More,
}

/// Endpoints without a message that are taken out of the list of those that are ready in a step.
const STEP: usize = 256;

static SETS: Slab<Set> = Slab::new();
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// The stores of sets.
pub(crate) fn stores() -> [&'static dyn Store; 1] {
    [&SETS]
}

impl Member {
    /// Says whose place this is.
    pub(crate) fn belongs_to(&self, channel: &'static Channel, side: Side) {
        self.channel.set(Some(channel));
        self.side.store(side.index() as u32, Relaxed);
    }

    /// The set that it is in.
    #[inline(always)]
    fn set(&self) -> Option<&'static Set> {
        let set = self.set.get()?;
        (set.number.load(Relaxed) == self.number.load(Relaxed)).then_some(set)
    }

    /// A message has arrived, or the other side has closed.
    #[inline(always)]
    pub(crate) fn notify(&'static self) {
        if let Some(set) = self.set() {
            set.ready(self);
        }
    }

    /// A message is about to arrive: a thread that waits for its set, which could run at once. `None` where there is none.
    #[inline(always)]
    pub(crate) fn handing(&'static self) -> Option<Handing> {
        let set = self.set()?;
        let inner = set.inner.lock();
        let t = inner.waiter.get()?;
        let can = wait::waits(t) && !t.is_halted();
        can.then_some(Handing {
            member: self,
            inner,
            t,
        })
    }

    /// Takes it out of its set. False where it is in none.
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

/// A thread that waits for the set of an endpoint at which a message is about to arrive, and the set's lock.
pub(crate) struct Handing {
    member: &'static Member,
    inner: Guard<'static, Inner>,
    t: &'static Thread,
}

impl Handing {
    /// The message has been queued: the thread, which is for the caller to run at once, and what it is told.
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
    /// What one costs its SIP, in bytes, beside its handle.
    pub(crate) const COST: u64 = Slab::<Set>::RECORD;

    /// A new set. `None` where there are too many.
    pub(crate) fn create() -> Option<&'static Set> {
        let (index, set) = SETS.take()?;
        set.index.store(index, Relaxed);
        set.borrows.store(false, Relaxed);
        set.renew();
        Some(set)
    }

    /// A new set for a thread's selection.
    pub(crate) fn create_for_selection() -> Option<&'static Set> {
        let set = Self::create()?;
        set.borrows.store(true, Relaxed);
        Some(set)
    }

    /// Makes it empty: by a new number, since its members know it by that.
    pub(crate) fn renew(&self) {
        let inner = self.inner.lock();
        while inner.ready.pop().is_some() {}
        self.number.store(NEXT_NUMBER.add(1), Relaxed);
        self.stale.store(false, Relaxed);
    }

    /// Whether it has lost what was borrowed for it.
    #[inline(always)]
    pub(crate) fn is_stale(&self) -> bool {
        self.stale.load(Relaxed)
    }

    /// Its owner gives it up.
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

    /// Adds an endpoint, or gives one that is in it another key. False where it is in another set.
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

    /// Adds an endpoint for as long as nobody else wants it. False where somebody has it.
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

    /// Takes an endpoint out. False where it is not in this set.
    pub(crate) fn remove(&'static self, channel: &'static Channel, side: Side) -> bool {
        let member = channel.member(side);
        member.set().is_some_and(|s| core::ptr::eq(s, self)) && member.leave()
    }

    /// Puts a member behind those that are ready, where it is not among them, and wakes one who waits.
    #[inline(always)]
    fn ready(&self, member: &'static Member) {
        let inner = self.inner.lock();
        if !member.node.is_linked() {
            inner.ready.push(member);
        }
        match inner.waiter.take() {
            Some(t) => wait::wake(t),
            None => drop(wait::wake_one(&inner.waiters)),
        }
    }

    /// The next endpoint at which a receive would not wait; it goes to the end.
    #[inline(always)]
    pub(crate) fn next(&self) -> Look {
        let (member, alone) = match self.first() {
            Ok(Some(first)) => first,
            Ok(None) => return Look::Nothing,
            Err(Spent) => return Look::More,
        };
        // Alone, it is at the end already.
        if !alone {
            let inner = self.inner.lock();
            if inner.ready.remove(member) {
                inner.ready.push(member);
            }
        }
        Look::Key(member.key.load(Relaxed))
    }

    /// The next endpoint of a set that has no more of them than go into a step: a selection.
    #[inline(always)]
    pub(crate) fn next_of_few(&self) -> Option<u32> {
        match self.next() {
            Look::Key(key) => Some(key),
            Look::Nothing | Look::More => None,
        }
    }

    /// The first endpoint at which a receive would not wait, and whether it is the only one in the list; those before it
    /// are taken out, as many as go into a step: all may have been emptied by who receives there directly.
    #[inline(always)]
    fn first(&self) -> Result<Option<(&'static Member, bool)>, Spent> {
        for _ in 0..STEP {
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

    /// Its number, by which a wait knows it again.
    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// Whether it is the one of this number still, and has not lost what was borrowed for it.
    #[inline(always)]
    pub(crate) fn is(&self, number: u64) -> bool {
        self.number() == number && !self.is_stale()
    }

    /// Waits for the next endpoint until a deadline: its key, or the status of a wait that ended otherwise; `None` where the
    /// set was disposed of meanwhile, or has become stale. Then a further wait can go on until the same time.
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

    /// Begins a wait for the next endpoint.
    #[inline(always)]
    pub(crate) fn begin_wait(&'static self, thread: &'static Thread) {
        let inner = self.inner.lock();
        thread.wait_in(self, self.number(), &inner.waiter, &inner.waiters);
    }

    /// Takes a thread out whose time is up, that has been woken, or is ended.
    pub(crate) fn stop_waiting(&self, thread: &'static Thread) {
        let inner = self.inner.lock();
        thread.stop_waiting_in(&inner.waiter, &inner.waiters);
    }
}

impl Waitable for Set {
    /// Whether there is an endpoint at which a receive would not wait. It stays where it is: who looks has not been
    /// served.
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

    fn settle(&'static self) -> bool {
        self.first().is_ok()
    }

    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList)) {
        f(&self.inner.lock().waiters);
    }
}
