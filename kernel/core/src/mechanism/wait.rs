//! Waiting and waking.
//!
//! A thread waits by adding itself to the wait list of each object, under the object's lock, and
//! then leaving the processor. A waker claims the thread first ([`claim`]), so only one of several
//! wakers wins. The woken thread takes its remaining nodes out of the lists itself.
//!
//! A wake-up is a hint: the woken thread checks again, and waits again if another one was faster.
//! An object wakes one of its waiters per occasion, so that one must take the occasion: a thread
//! that waits for several objects returns the one that it was woken for if that is still ready,
//! even if others have become ready meanwhile.
//!
//! There are two exceptions, in which a thread does not check again. A receiver at a channel can
//! get the message from its sender directly: the words are written where the receiver wants them,
//! and the wait ends with the message as its result ([`tell`]). A waiter of a set can get the key
//! of an endpoint as its result if it runs at once, before any other thread could receive there.
//!
//! A thread that waits at the end of a blocking entry keeps nothing on its stack about the wait. If
//! it has to check again, its record says how ([`Continuation`]).
//!
//! Objects that can be waited for implement [`Waitable`]; a wait for any of them goes through
//! [`Thread::wait_any`]. A receive at a channel and a wait for a set alone have a shorter path:
//! they note the thread itself, or its own node, at one object, which the thread's record of the
//! wait ([`Place`]) names.
//!
//! Invariants:
//! - While a thread waits, no value on its stack needs to be dropped. So it can be ended where it
//!   waits.
//! - A thread is referred to only from the place in its record of the wait, the lists that its
//!   nodes are in, the timers, a queue of runnable or held threads, and by counted references.
//!   [`Thread::cancel_wait`] removes it from the first three, however the wait ended, so that only
//!   the queue and counted references are left.

mod layout;
mod passed;
mod several;

use passed::Passed;
use several::Many;
pub(crate) use several::{forget, layout::NODES_LAYOUT, stores};

use crate::ground::trusted::Left;
use crate::mechanism::cpu;
use crate::mechanism::interrupt;
use crate::object::channel;
use crate::object::selection::Selection;
use crate::object::set::{Member, STEP, Set};
use crate::object::sip::{Kept, Sip};
use crate::object::thread::{State, Thread};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::{NO_TAGS, status};
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock;

/// A thread's node in one wait list.
#[derive(Default)]
pub(crate) struct WaitNode {
    node: Node<WaitNode>,
    pub(crate) thread: Link<Thread>,
    index: AtomicU32,
    /// Its index in the store, if it comes from there.
    record: AtomicU32,
}

impl Linked for WaitNode {
    fn node(&self) -> &Node<WaitNode> {
        &self.node
    }
}

impl WaitNode {
    /// Whether its thread's record is in use.
    pub(crate) fn is_there(&self) -> bool {
        self.thread.get().is_some_and(Thread::is_there)
    }
}

/// The threads that wait for one object.
pub(crate) type WaitList = List<WaitNode>;

/// An object that a thread can wait for. Each kind implements what waiting for it means.
pub(crate) trait Waitable: Sync {
    /// Whether it is ready; if so, takes what a wait takes (resets an automatic event, locks a
    /// mutex).
    fn acquire(&'static self, thread: &'static Thread) -> bool;

    /// Its result for a selection: a message's index, a set's key, 0 for any other object that is
    /// ready, or `CLOSED`; `WOULD_BLOCK` if it is not ready. Takes what a wait takes.
    fn look(&'static self, thread: &'static Thread) -> i32 {
        if self.acquire(thread) {
            status::OK
        } else {
            status::WOULD_BLOCK
        }
    }

    /// Does work that would make `acquire` or `look` slow: at most `left` items. False if there is
    /// more to do.
    fn settle(&'static self, _left: &mut usize) -> bool {
        true
    }

    /// Calls `f` with the list of threads that wait for it, under its lock.
    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList));
}

/// An object that a thread waits for.
pub(crate) type On = &'static dyn Waitable;

/// Whether both are the same object.
pub(crate) fn is_same(a: On, b: On) -> bool {
    core::ptr::addr_eq(a, b)
}

/// Prepares all objects so that checking them is fast, in steps between which others run. False if
/// the SIP has lost one of them meanwhile, as `held` says.
pub(crate) fn settle(on: &[On], held: impl Fn() -> bool) -> bool {
    loop {
        let mut left = STEP;
        if on.iter().all(|w| w.settle(&mut left)) {
            return true;
        }
        interrupt::let_others_run();
        if !held() {
            return false;
        }
    }
}

/// An object that is never ready, to fill arrays.
pub(crate) struct Never;

impl Waitable for Never {
    fn acquire(&'static self, _: &'static Thread) -> bool {
        false
    }

    fn with_waiters(&self, _: &mut dyn FnMut(&WaitList)) {}
}

/// Phases of a wait: none, waiting, and claimed by a waker.
const IDLE: u32 = 0;
const WAITING: u32 = 1;
const WOKEN: u32 = 2;

/// Result of a wait: its deadline has passed.
pub(crate) const TIMED_OUT: u32 = u32::MAX;
/// Result of a wait: another thread of the SIP has disposed of an object, or sent it away.
pub(crate) const LOST: u32 = u32::MAX - 1;
/// Result of a wait: no memory for so many nodes.
pub(crate) const NO_ROOM: u32 = u32::MAX - 2;

/// The object that a thread waits for alone: an endpoint at which it receives, or a set. It is
/// written before the thread is noted there, and is not cleared when the wait ends, which saves a
/// store. A stale value is harmless: it is only used to remove the thread from that object's
/// waiters, where it is not.
#[derive(Default)]
struct Place {
    end: Link<Member>,
    set: Link<Set>,
}

/// A thread's record of its wait.
#[derive(Default)]
pub(crate) struct Wait {
    pub(crate) passed: Passed,
    phase: AtomicU32,
    result: AtomicU32,
    place: Place,
    /// How the blocking entry continues if the thread has to check again: the tag of its
    /// [`Continuation`].
    continuation: AtomicU32,
    /// The address in its memory for the words of a message that it receives, or for the tags of a
    /// selection.
    pub(crate) out: AtomicU32,
    /// Address and number of the handles that it selects from.
    pub(crate) selected: [AtomicU32; 2],
    /// The number of the set that it waits for ([`Set::number`]).
    number: AtomicU64,
    pub(crate) deadline: AtomicU64,
    /// Its place in the timers' array, counted from 1; 0 if it has none.
    pub(crate) timer_place: AtomicU32,
    pub(crate) own: WaitNode,
    /// The node for the first object of [`Thread::wait_any`].
    one: WaitNode,
    /// The index of the object, among several, that was ready last.
    turn: AtomicU32,
    /// The objects of [`Thread::wait_any`].
    many: lock::SpinLock<Many>,
    /// The cached set of its last selection.
    pub(crate) selection: lock::SpinLock<Selection>,
    /// A reference to a SIP's record that the thread works with while others run. It is released
    /// with the thread's end.
    kept: lock::SpinLock<Option<Kept>>,
}

/// The deadline of a wait. The time starts when it is first asked for: so a wait that is over at
/// once does not read the clock, and one that is repeated keeps its deadline.
pub(crate) struct Until {
    timeout: i64,
    deadline: Option<u64>,
}

impl Until {
    /// A deadline after a timeout as in the ABI: nanoseconds, negative for none.
    #[inline(always)]
    pub(crate) fn after(timeout: i64) -> Until {
        Until {
            timeout,
            deadline: None,
        }
    }

    /// Whether there is a deadline.
    #[inline(always)]
    pub(crate) fn is_limited(&self) -> bool {
        self.timeout >= 0
    }

    /// The uptime in nanoseconds at which the wait ends (`u64::MAX`: never).
    #[inline(always)]
    pub(crate) fn deadline(&mut self) -> u64 {
        *self
            .deadline
            .get_or_insert_with(|| crate::mechanism::timer::deadline(self.timeout))
    }
}

/// How a blocking entry continues if the thread was woken without a result.
pub(crate) enum Continuation {
    /// Receives at this endpoint; the words go to this address.
    Receive(&'static Member, u32),
    /// Checks this set, if it has this number still.
    Set(&'static Set, u64),
    /// Repeats the selection: address and number of the handles, address of the tags.
    Select([u32; 3]),
    /// Nothing: the thread has only yielded.
    Nothing,
}

const RECEIVE: u32 = 0;
const SET: u32 = 1;
const SELECT: u32 = 2;
/// A selection whose result is the index of the ready object.
const PLACE: u32 = 3;

impl Wait {
    /// The result with which the thread runs again at the end of a blocking entry, plus 1; 0 if it
    /// has to check.
    #[inline(always)]
    pub(crate) fn told(&self) -> u32 {
        self.result.load(Relaxed)
    }

    /// The result plus 1 if it runs at once because an endpoint of its set has a message: the
    /// endpoint's key; 0 if its entry needs more than the key, and has to check.
    #[inline(always)]
    pub(crate) fn told_of_key(&self, key: u32) -> u32 {
        if self.continuation.load(Relaxed) == SELECT {
            0
        } else {
            key + 1
        }
    }

    /// Sets the result 0: the thread yields at the end of an entry without a wait.
    #[inline(always)]
    pub(crate) fn is_left(&self) {
        self.result.store(1, Relaxed);
    }

    /// How the blocking entry continues at whose end the thread has waited.
    pub(crate) fn continuation(&self) -> Continuation {
        let (end, set) = (self.place.end.get(), self.place.set.get());
        match (self.continuation.load(Relaxed), end, set) {
            (RECEIVE, Some(end), _) => Continuation::Receive(end, self.out.load(Relaxed)),
            (SET, _, Some(set)) => Continuation::Set(set, self.number.load(Relaxed)),
            (SELECT | PLACE, ..) => {
                let [handles, count] = self.selected.each_ref().map(|n| n.load(Relaxed));
                Continuation::Select([handles, count, self.out.load(Relaxed)])
            }
            _ => Continuation::Nothing,
        }
    }

    /// Notes that the wait is a selection's, which is to be repeated.
    #[inline(always)]
    pub(crate) fn is_selection(&self, handles: u32, tags: u32, count: u32) {
        let continuation = if tags == NO_TAGS { PLACE } else { SELECT };
        self.continuation.store(continuation, Relaxed);
        self.selected[0].store(handles, Relaxed);
        self.selected[1].store(count, Relaxed);
        self.out.store(tags, Relaxed);
    }

    /// The index of the object, of `n`, to check first: the one after the last that was ready, for
    /// fairness.
    pub(crate) fn next_turn(&self, n: usize) -> usize {
        (self.turn.load(Relaxed) as usize + 1) % n.max(1)
    }

    /// Notes that object number `i` was ready.
    pub(crate) fn set_turn(&self, i: u32) {
        self.turn.store(i, Relaxed);
    }
}

/// Claims a waiting thread: the caller that gets true must make it runnable.
#[inline(always)]
fn claim(t: &Thread, result: u32) -> bool {
    if lock::exchange_if(&t.wait.phase, WAITING, WOKEN) {
        t.wait.result.store(result, Relaxed);
        true
    } else {
        false
    }
}

/// Wakes the thread of a node that the caller has taken out of its list. False if it was awake.
#[inline(always)]
fn wake_node(node: &'static WaitNode) -> bool {
    let Some(t) = node.thread.get() else {
        return false;
    };
    if claim(t, node.index.load(Relaxed)) {
        t.unblocked();
        true
    } else {
        false
    }
}

/// Wakes a thread that waits for one object alone, unless it is awake.
#[inline(always)]
pub(crate) fn wake(t: &'static Thread) {
    if claim(t, 0) {
        t.unblocked();
    }
}

/// Whether a thread waits and has not been claimed.
#[inline(always)]
pub(crate) fn waits(t: &Thread) -> bool {
    t.wait.phase.load(Relaxed) == WAITING
}

/// Ends the wait of a thread ([`waits`]) with a result ([`Wait::told`]). The caller makes it
/// runnable, or switches to it.
#[inline(always)]
pub(crate) fn tell(t: &Thread, told: u32) {
    t.wait.phase.store(WOKEN, Relaxed);
    t.wait.result.store(told, Relaxed);
}

/// Wakes the first thread that waits in `list`. False if there is none.
#[inline(always)]
pub(crate) fn wake_one(list: &WaitList) -> bool {
    while let Some(node) = list.pop() {
        if wake_node(node) {
            return true;
        }
    }
    false
}

/// Wakes all threads that wait in `list`; returns the number of its nodes.
#[inline(always)]
pub(crate) fn wake_all(list: &WaitList) -> u32 {
    let mut nodes = 0;
    while let Some(node) = list.pop() {
        wake_node(node);
        nodes += 1;
    }
    nodes
}

/// Wakes a thread whose deadline has passed. Whether it preempts the running one.
pub(crate) fn time_out(t: &'static Thread) -> bool {
    claim(t, TIMED_OUT) && t.timed_out()
}

impl Thread {
    /// Begins a receive at an endpoint whose channel's lock the caller holds: notes the thread in
    /// `receiver` or, if that is taken, its own node in `waiters`. Words of a message that arrives
    /// are to be at `out`.
    #[inline(always)]
    pub(crate) fn wait_at(
        &'static self,
        end: &'static Member,
        out: u32,
        receiver: &Link<Thread>,
        waiters: &WaitList,
    ) {
        self.wait.out.store(out, Relaxed);
        self.is_receiver(Some(end));
        self.begin(receiver, waiters);
    }

    /// Records the wait of a thread that has been noted as the receiver at `end`.
    #[inline(always)]
    pub(crate) fn is_receiver(&'static self, end: Option<&'static Member>) {
        self.wait.continuation.store(RECEIVE, Relaxed);
        self.wait.place.end.set(end);
        self.wait.phase.store(WAITING, Relaxed);
    }

    /// Begins a wait for a set alone, whose lock the caller holds.
    #[inline(always)]
    pub(crate) fn wait_in(
        &'static self,
        set: &'static Set,
        number: u64,
        receiver: &Link<Thread>,
        waiters: &WaitList,
    ) {
        self.wait.continuation.store(SET, Relaxed);
        self.wait.number.store(number, Relaxed);
        self.wait.place.set.set(Some(set));
        self.wait.phase.store(WAITING, Relaxed);
        self.begin(receiver, waiters);
    }

    #[inline(always)]
    fn begin(&'static self, receiver: &Link<Thread>, waiters: &WaitList) {
        if receiver.get().is_none() {
            receiver.set(Some(self));
        } else {
            waiters.push(&self.wait.own);
        }
    }

    /// Removes the thread from the object that it waits for alone; the caller holds that object's
    /// lock.
    pub(crate) fn stop_waiting_in(&'static self, receiver: &Link<Thread>, waiters: &WaitList) {
        if receiver.is(self) {
            receiver.set(None);
        }
        waiters.remove(&self.wait.own);
    }

    /// Begins a wait for a deadline alone.
    #[inline(always)]
    pub(crate) fn wait_for_time(&self) {
        self.wait.phase.store(WAITING, Relaxed);
    }

    /// Keeps a SIP's record while others run, until [`Thread::let_go`] or the thread's end.
    /// Releases one that it kept before.
    pub(crate) fn keep(&self, sip: Kept) {
        let before = self.wait.kept.lock().replace(sip);
        drop(before);
    }

    /// Releases the SIP's record that it keeps, if any.
    pub(crate) fn let_go(&self) {
        let before = self.wait.kept.lock().take();
        drop(before);
    }

    /// Leaves the processor until woken; the wait's result.
    #[inline(always)]
    pub(crate) fn sleep_until_woken(&'static self) -> u32 {
        self.state.store(State::Blocked as u32, Relaxed);
        cpu::this().leave();
        self.wait.phase.store(IDLE, Relaxed);
        self.wait.result.load(Relaxed)
    }

    /// Leaves the processor until woken, at the end of a blocking entry. `None` if the thread has
    /// been woken already.
    #[inline(always)]
    pub(crate) fn sleep_after_entry(&'static self) -> Option<Left> {
        self.state.store(State::Blocked as u32, Relaxed);
        cpu::this().leave_entry(self)
    }

    /// As [`Thread::sleep_after_entry`], with a switch to `next`, whose wait has the result `told`.
    #[inline(always)]
    pub(crate) fn sleep_for(&'static self, next: &'static Thread, told: u32) -> Left {
        self.state.store(State::Blocked as u32, Relaxed);
        cpu::this().leave_entry_for(self, next, told)
    }

    /// As [`Thread::sleep_until_woken`], with a deadline in nanoseconds of uptime (`u64::MAX`:
    /// none).
    pub(crate) fn sleep_until(&'static self, deadline: u64) -> u32 {
        if deadline == u64::MAX {
            return self.sleep_until_woken();
        }
        crate::mechanism::timer::add(self, deadline);
        let result = self.sleep_until_woken();
        crate::mechanism::timer::remove(self);
        result
    }

    /// Ends a wait because the thread is being ended: removes it from everything that the wait has
    /// put it into.
    pub(crate) fn cancel_wait(&'static self) {
        let place = &self.wait.place;
        if let Some((channel, side)) = place.end.take().and_then(Member::endpoint) {
            channel::stop_waiting(channel, side, self);
        }
        if let Some(set) = place.set.take() {
            set.stop_waiting(self);
        }
        self.unlink();
        crate::mechanism::timer::remove(self);
        self.wait.phase.store(IDLE, Relaxed);
        let account = self.sip().account();
        self.wait.many.lock().dispose(account);
        self.wait.selection.lock().dispose(account);
        self.let_go();
    }

    /// Calls `f` with the SIP whose record it keeps, if any.
    pub(crate) fn with_kept(&self, f: impl FnOnce(&'static Sip)) {
        if let Some(kept) = &*self.wait.kept.lock() {
            f(kept.sip());
        }
    }

    /// Whether a wait list or the timers can still refer to it.
    pub(crate) fn is_known(&self) -> bool {
        let wait = &self.wait;
        let many = wait.many.lock();
        let listed = wait.own.node.is_linked()
            || wait.one.node.is_linked()
            || many.nodes.iter().any(|n| n.node.is_linked());
        listed
            || many.first.is_some()
            || wait.timer_place.load(Relaxed) != 0
            || wait.place.end.get().is_some()
            || wait.place.set.get().is_some()
    }

    /// Whether its record says that it receives at this endpoint.
    pub(crate) fn waits_at(&self, end: &'static Member) -> bool {
        self.wait.place.end.is(end)
    }

    /// Whether its record says that it waits for a set.
    pub(crate) fn waits_in(&self, set: &'static Set) -> bool {
        self.wait.place.set.is(set)
    }
}
