//! Waiting and waking.
//!
//! A thread waits by making itself known to what it waits for, each under its owner's lock, and then leaving the
//! processor. Who wakes it claims it first ([`claim`]): of several wakers one wins. The woken thread takes its nodes
//! out itself, but for the one that the waker has taken.
//!
//! Who is woken has not got anything yet: it looks again, and waits again where somebody was faster. Of those who
//! wait for the same thing one is woken, so that one must look for it: a thread that waits for several things leaves
//! with the one that it was woken for, where that is still there, even if others have come meanwhile.
//!
//! One who receives at a channel can get the message from its sender at once: the words are where the receiver wants them,
//! and the wait ends with the message ([`tell`]). One who waits for a set can be told the key of an endpoint, where it runs
//! at once, before anybody else could receive there. Such a thread does not look again.
//!
//! A thread that waits at the end of a blocking entry has nothing on its stack that knows what it waits for: its record
//! does ([`Again`]), for when it has to look again.
//!
//! What can be waited for is [`Waitable`]; a wait for any of them goes through [`Thread::wait_any`]. A receive at a
//! channel and a wait for a set alone are shorter: they note the thread itself, or its own node, at the one place that
//! its record of the wait ([`Place`]) then names.
//!
//! Invariants:
//! - While a thread waits, nothing on its stack needs to be given back. So it can be ended where it waits.
//! - A thread is named only by the place in its record of the wait, by the lists in which its nodes stand, the timers, a
//!   queue of runnable or held threads, and by counted references. [`Thread::cancel_wait`] takes it out of the first
//!   three whatever became of the wait, so that afterwards only counted references are left.

mod passed;
mod several;

use passed::Passed;
use several::Many;
pub(crate) use several::stores;

use crate::ground::trusted::Left;
use crate::mechanism::cpu;
use crate::mechanism::interrupt;
use crate::object::channel;
use crate::object::selection::Selection;
use crate::object::set::{Member, Set};
use crate::object::sip::{Kept, Sip};
use crate::object::thread::{State, Thread};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::{NO_TAGS, status};
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock;

/// A thread's place in one wait list.
#[derive(Default)]
pub(crate) struct WaitNode {
    node: Node<WaitNode>,
    pub(crate) thread: Link<Thread>,
    index: AtomicU32,
    /// Its place in the store, where it has one of its own.
    record: AtomicU32,
}

impl Linked for WaitNode {
    fn node(&self) -> &Node<WaitNode> {
        &self.node
    }
}

impl WaitNode {
    /// Whether it is a thread's whose record is in use.
    pub(crate) fn is_there(&self) -> bool {
        self.thread.get().is_some_and(Thread::is_there)
    }
}

/// Threads that wait for one thing.
pub(crate) type WaitList = List<WaitNode>;

/// What a thread can wait for. Each kind of object says itself what it is to wait for it.
pub(crate) trait Waitable: Sync {
    /// Whether a wait for it is over; takes what a wait takes (an auto-reset event, a mutex).
    fn acquire(&'static self, thread: &'static Thread) -> bool;

    /// What a selection is told that finds it ready: a message's index, a set's key, 0 for anything else that has come,
    /// or `CLOSED`; `WOULD_BLOCK` where nothing has. Takes what a wait takes.
    fn look(&'static self, thread: &'static Thread) -> i32 {
        if self.acquire(thread) {
            status::OK
        } else {
            status::WOULD_BLOCK
        }
    }

    /// Does a step of what a look at it would take long for. False where there is more to do.
    fn settle(&'static self) -> bool {
        true
    }

    /// Gives access to the list of threads that wait for it, under its lock.
    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList));
}

/// Something that a thread waits for.
pub(crate) type On = &'static dyn Waitable;

/// Whether both are the same thing.
pub(crate) fn is_same(a: On, b: On) -> bool {
    core::ptr::addr_eq(a, b)
}

/// Sees to it that a look at any of these does not take long; others run meanwhile where it would. False where the SIP has
/// lost one of them then, as `held` says.
pub(crate) fn settle(on: &[On], held: impl Fn() -> bool) -> bool {
    while !on.iter().all(|w| w.settle()) {
        interrupt::let_others_run();
        if !held() {
            return false;
        }
    }
    true
}

/// What never comes: fills arrays.
pub(crate) struct Never;

impl Waitable for Never {
    fn acquire(&'static self, _: &'static Thread) -> bool {
        false
    }

    fn with_waiters(&self, _: &mut dyn FnMut(&WaitList)) {}
}

/// The wait is not over, or was not one.
const IDLE: u32 = 0;
const WAITING: u32 = 1;
const WOKEN: u32 = 2;

/// What a wait ended with: its time was over.
pub(crate) const TIMED_OUT: u32 = u32::MAX;
/// What a wait ended with: another thread gave up, or sent away, something that was waited for.
pub(crate) const LOST: u32 = u32::MAX - 1;
/// What a wait ended with: there is no memory for so many places in lists.
pub(crate) const NO_ROOM: u32 = u32::MAX - 2;

/// Where others find a thread that waits for one thing alone: the end of a channel at which it receives, or a set. It is
/// written before the thread becomes known there, one store on the way to blocking, and stays: what it says of a wait that
/// is over names something where the thread is not, which does no harm, since it is only ever taken out of where it is.
#[derive(Default)]
struct Place {
    end: Link<Member>,
    set: Link<Set>,
}

/// A thread's side of waiting.
#[derive(Default)]
pub(crate) struct Wait {
    pub(crate) passed: Passed,
    phase: AtomicU32,
    result: AtomicU32,
    place: Place,
    /// How the entry goes on at whose end it waits, where it has to look again: [`Again`].
    again: AtomicU32,
    /// Where it wants the words of a message that it waits for at a channel alone, or the tag of what it selects.
    pub(crate) out: AtomicU32,
    /// Where the handles are that it selects from, and how many.
    pub(crate) selected: [AtomicU32; 2],
    /// The number of the set that it waits for.
    number: AtomicU64,
    pub(crate) deadline: AtomicU64,
    /// Its place among the timers, counted from 1; 0 where it is not among them.
    pub(crate) timer_place: AtomicU32,
    pub(crate) own: WaitNode,
    /// The node for the first of the things of [`Thread::wait_any`].
    one: WaitNode,
    /// Which of several things came last.
    turn: AtomicU32,
    /// What it waits for in [`Thread::wait_any`].
    many: lock::SpinLock<Many>,
    /// What it selected from last.
    pub(crate) selection: lock::SpinLock<Selection>,
    /// A SIP that the thread works with over places where it lets others run. Whoever ends the thread there lets it go.
    kept: lock::SpinLock<Option<Kept>>,
}

/// When a wait is over in any case. The time begins when it is first asked for, so that what is there already costs no
/// clock, and does not begin anew where a wait has to.
pub(crate) struct Until {
    timeout: i64,
    deadline: Option<u64>,
}

impl Until {
    /// After a time-out as in the ABI.
    #[inline(always)]
    pub(crate) fn after(timeout: i64) -> Until {
        Until {
            timeout,
            deadline: None,
        }
    }

    /// Whether it is not for ever.
    #[inline(always)]
    pub(crate) fn is_limited(&self) -> bool {
        self.timeout >= 0
    }

    /// The uptime at which it is over (`u64::MAX`: never).
    #[inline(always)]
    pub(crate) fn deadline(&mut self) -> u64 {
        *self
            .deadline
            .get_or_insert_with(|| crate::mechanism::timer::deadline(self.timeout))
    }
}

/// What a thread that waited at the end of a blocking entry does when it has been told nothing.
pub(crate) enum Again {
    /// Receives at this end; the words go there.
    Receive(&'static Member, u32),
    /// Looks at this set, if it has this number still.
    Set(&'static Set, u64),
    /// Selects anew: from the handles at an address in its memory, so many, with tags there.
    Select([u32; 3]),
    /// Nothing: it has only been left for others.
    Nothing,
}

const RECEIVE: u32 = 0;
const SET: u32 = 1;
const SELECT: u32 = 2;
/// A selection that comes to the place of what has come.
const PLACE: u32 = 3;

impl Wait {
    /// What the thread is told when it runs again, at the end of a blocking entry: what that comes to, and 1; 0 where it has
    /// to look.
    #[inline(always)]
    pub(crate) fn told(&self) -> u32 {
        self.result.load(Relaxed)
    }

    /// What it is told where it runs at once, and an endpoint of the set that it waits for has a message: the endpoint's key,
    /// if that is what its entry comes to.
    #[inline(always)]
    pub(crate) fn told_of_key(&self, key: u32) -> u32 {
        if self.again.load(Relaxed) == SELECT {
            0
        } else {
            key + 1
        }
    }

    /// The thread is left for others without a wait, at the end of an entry that comes to 0.
    #[inline(always)]
    pub(crate) fn is_left(&self) {
        self.result.store(1, Relaxed);
    }

    /// How the entry goes on at whose end the thread has waited.
    pub(crate) fn again(&self) -> Again {
        let (end, set) = (self.place.end.get(), self.place.set.get());
        match (self.again.load(Relaxed), end, set) {
            (RECEIVE, Some(end), _) => Again::Receive(end, self.out.load(Relaxed)),
            (SET, _, Some(set)) => Again::Set(set, self.number.load(Relaxed)),
            (SELECT | PLACE, ..) => {
                let [handles, count] = self.selected.each_ref().map(|n| n.load(Relaxed));
                Again::Select([handles, count, self.out.load(Relaxed)])
            }
            _ => Again::Nothing,
        }
    }

    /// It is a selection that waits for its set: it selects anew.
    #[inline(always)]
    pub(crate) fn is_selection(&self, handles: u32, tags: u32, count: u32) {
        let again = if tags == NO_TAGS { PLACE } else { SELECT };
        self.again.store(again, Relaxed);
        self.selected[0].store(handles, Relaxed);
        self.selected[1].store(count, Relaxed);
        self.out.store(tags, Relaxed);
    }

    /// With which of `n` things to begin looking.
    pub(crate) fn next_turn(&self, n: usize) -> usize {
        (self.turn.load(Relaxed) as usize + 1) % n.max(1)
    }

    /// The `i`th thing has come.
    pub(crate) fn set_turn(&self, i: u32) {
        self.turn.store(i, Relaxed);
    }
}

/// Claims a waiting thread: whoever gets true wakes it.
#[inline(always)]
fn claim(t: &Thread, result: u32) -> bool {
    if lock::exchange_if(&t.wait.phase, WAITING, WOKEN) {
        t.wait.result.store(result, Relaxed);
        true
    } else {
        false
    }
}

/// Wakes the thread of a node that the caller has taken out of its list, unless it is awake already.
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

/// Wakes a thread that waits for one thing alone.
#[inline(always)]
pub(crate) fn wake(t: &'static Thread) {
    if claim(t, 0) {
        t.unblocked();
    }
}

/// Whether a thread waits, and nothing has woken it.
#[inline(always)]
pub(crate) fn waits(t: &Thread) -> bool {
    t.wait.phase.load(Relaxed) == WAITING
}

/// Ends the wait of a thread that waits ([`waits`]) with what it is told ([`Wait::told`]). Whoever does it makes it runnable,
/// or leaves for it.
#[inline(always)]
pub(crate) fn tell(t: &Thread, told: u32) {
    t.wait.phase.store(WOKEN, Relaxed);
    t.wait.result.store(told, Relaxed);
}

/// Wakes the first thread that waits in `list`. False where none does.
#[inline(always)]
pub(crate) fn wake_one(list: &WaitList) -> bool {
    while let Some(node) = list.pop() {
        if wake_node(node) {
            return true;
        }
    }
    false
}

/// Wakes all threads that wait in `list`.
#[inline(always)]
pub(crate) fn wake_all(list: &WaitList) {
    while let Some(node) = list.pop() {
        wake_node(node);
    }
}

/// Wakes a thread whose time-out has come. Returns whether it takes the place of the running one.
pub(crate) fn time_out(t: &'static Thread) -> bool {
    claim(t, TIMED_OUT) && t.timed_out()
}

impl Thread {
    /// Begins a receive at an end of a channel, whose lock the caller holds: the thread is noted in `receiver` or, where
    /// another one is, its own node in `waiters`. The words of a message that it is told of are to be at `out`.
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

    /// Notes what the thread waits for that has been noted as the receiver at an end, whose place in a set this is.
    #[inline(always)]
    pub(crate) fn is_receiver(&'static self, end: Option<&'static Member>) {
        self.wait.again.store(RECEIVE, Relaxed);
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
        self.wait.again.store(SET, Relaxed);
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

    /// Takes the thread out of where it waits alone, wherever its record says that this is; the lock is held.
    pub(crate) fn stop_waiting_in(&'static self, receiver: &Link<Thread>, waiters: &WaitList) {
        if receiver.is(self) {
            receiver.set(None);
        }
        waiters.remove(&self.wait.own);
    }

    /// Begins a wait for time alone.
    #[inline(always)]
    pub(crate) fn wait_for_time(&self) {
        self.wait.phase.store(WAITING, Relaxed);
    }

    /// Keeps a SIP's record over places where others run, until [`Thread::let_go`] or the thread's end.
    pub(crate) fn keep(&self, sip: Kept) {
        let before = self.wait.kept.lock().replace(sip);
        drop(before);
    }

    /// Lets the SIP go that it has kept.
    pub(crate) fn let_go(&self) {
        let before = self.wait.kept.lock().take();
        drop(before);
    }

    /// Leaves the processor until woken.
    #[inline(always)]
    pub(crate) fn sleep_until_woken(&'static self) -> u32 {
        self.state.store(State::Blocked as u32, Relaxed);
        cpu::this().leave();
        self.wait.phase.store(IDLE, Relaxed);
        self.wait.result.load(Relaxed)
    }

    /// Leaves the processor until woken, at the end of a blocking entry. `None` where the thread has been woken already.
    #[inline(always)]
    pub(crate) fn sleep_after_entry(&'static self) -> Option<Left> {
        self.state.store(State::Blocked as u32, Relaxed);
        cpu::this().leave_entry(self)
    }

    /// The same for a thread that runs at once and is told this.
    #[inline(always)]
    pub(crate) fn sleep_for(&'static self, next: &'static Thread, told: u32) -> Left {
        self.state.store(State::Blocked as u32, Relaxed);
        cpu::this().leave_entry_for(self, next, told)
    }

    /// The same with an end in time (`u64::MAX`: none).
    pub(crate) fn sleep_until(&'static self, deadline: u64) -> u32 {
        if deadline == u64::MAX {
            return self.sleep_until_woken();
        }
        crate::mechanism::timer::add(self, deadline);
        let result = self.sleep_until_woken();
        crate::mechanism::timer::remove(self);
        result
    }

    /// Ends a wait from outside, because the thread is ended: takes it out of everything in which a wait has put it.
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

    /// Looks at the SIP that it keeps, if it keeps one.
    pub(crate) fn with_kept(&self, f: impl FnOnce(&'static Sip)) {
        if let Some(kept) = &*self.wait.kept.lock() {
            f(kept.sip());
        }
    }

    /// Whether anything that it waits for, or for which it waited last, can still name it: a list, the timers.
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

    /// Whether its record says that it receives at an end of a channel.
    pub(crate) fn waits_at(&self, end: &'static Member) -> bool {
        self.wait.place.end.is(end)
    }

    /// Whether its record says that it waits for a set.
    pub(crate) fn waits_in(&self, set: &'static Set) -> bool {
        self.wait.place.set.is(set)
    }
}
