//! Waiting and waking.
//!
//! A thread waits by putting nodes of its own into the wait lists of what it waits for, each list under
//! its owner's lock, and then leaving the processor. Who wakes it claims it first ([`claim`]): of several
//! wakers one wins. The woken thread takes its nodes out itself, but for the one that the waker has taken.
//!
//! Who is woken has not got anything yet: it looks again, and waits again where somebody was faster. Of those who
//! wait for the same thing one is woken, so that one must look for it: a thread that waits for several things leaves
//! with the one that it was woken for, where that is still there, even if others have come meanwhile.
//!
//! Invariant: while a thread waits, nothing on its stack needs to be given back. So it can be ended where it
//! waits, by taking its nodes out.

use crate::channel::Channel;
use crate::cpu;
use crate::selection::Selection;
use crate::set::Set;
use crate::sip::Sip;
use crate::sync::{Event, Mutex};
use crate::thread::{State, Thread};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock;
use sing_image::manifest::Side;

/// A thread's place in one wait list.
#[derive(Default)]
pub(crate) struct WaitNode {
    node: Node<WaitNode>,
    pub(crate) thread: Link<Thread>,
    index: AtomicU32,
}

impl Linked for WaitNode {
    fn node(&self) -> &Node<WaitNode> {
        &self.node
    }
}

/// Threads that wait for one thing.
pub(crate) type WaitList = List<WaitNode>;

/// What a thread can wait for.
#[derive(Clone, Copy)]
pub(crate) enum Waitable {
    /// A message at this end of a channel, or its closing.
    Channel(&'static Channel, Side),
    /// A message at an endpoint of a set, or its closing.
    Set(&'static Set),
    /// An event.
    Event(&'static Event),
    /// A mutex.
    Mutex(&'static Mutex),
    /// The end of a thread.
    Thread(&'static Thread),
    /// The end of a SIP.
    Sip(&'static Sip),
    /// An interrupt.
    Interrupt(u32),
}

/// The wait is not over, or was not one.
const IDLE: u32 = 0;
const WAITING: u32 = 1;
const WOKEN: u32 = 2;

/// What a wait ended with: its time was over.
pub(crate) const TIMED_OUT: u32 = u32::MAX;
/// What a wait ended with: another thread gave up, or sent away, something that was waited for.
pub(crate) const LOST: u32 = u32::MAX - 1;

/// A thread's side of waiting.
#[derive(Default)]
pub(crate) struct Wait {
    phase: AtomicU32,
    result: AtomicU32,
    pub(crate) deadline: core::sync::atomic::AtomicU64,
    pub(crate) own: WaitNode,
    /// Which of several things came last.
    turn: AtomicU32,
    /// Further nodes of a wait for several things, and what each waits for. The nodes are kept.
    many: lock::SpinLock<Many>,
    /// What it selected from last.
    pub(crate) selection: lock::SpinLock<Selection>,
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
            .get_or_insert_with(|| crate::timer::deadline(self.timeout))
    }
}

impl Wait {
    /// With which of `n` things to begin looking.
    pub(crate) fn next_turn(&self, n: usize) -> usize {
        (self.turn.load(Relaxed) as usize + 1) % n.max(1)
    }

    /// The `i`th thing has come.
    pub(crate) fn set_turn(&self, i: u32) {
        self.turn.store(i, Relaxed);
    }
}

#[derive(Default)]
struct Many {
    nodes: Vec<&'static WaitNode>,
    on: Vec<Waitable>,
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

/// Wakes a thread that waits for one thing alone ([`Thread::wait_alone`]).
#[inline(always)]
pub(crate) fn wake(t: &'static Thread) {
    if claim(t, 0) {
        t.unblocked();
    }
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

/// Wakes a thread whose time-out has come.
pub(crate) fn time_out(t: &'static Thread) {
    if claim(t, TIMED_OUT) {
        t.unblocked();
    }
}

impl Thread {
    /// Begins a wait for one thing: puts the thread's own node into `list`, whose lock the caller holds and
    /// whose owner belongs to the thread's SIP.
    #[inline(always)]
    pub(crate) fn wait_in(&'static self, list: &WaitList) {
        self.wait.phase.store(WAITING, Relaxed);
        self.wait.own.index.store(0, Relaxed);
        list.push(&self.wait.own);
    }

    /// Takes the thread's own node out of `list` after a wait that ended otherwise.
    pub(crate) fn stop_waiting_in(&'static self, list: &WaitList) {
        list.remove(&self.wait.own);
    }

    /// Begins a wait whose end the caller has noted where the waker will look.
    #[inline(always)]
    pub(crate) fn wait_alone(&self) {
        self.wait.phase.store(WAITING, Relaxed);
    }

    /// Leaves the processor until woken.
    #[inline(always)]
    pub(crate) fn sleep_until_woken(&'static self) -> u32 {
        self.state.store(State::Blocked as u32, Relaxed);
        cpu::this().leave();
        self.wait.phase.store(IDLE, Relaxed);
        self.wait.result.load(Relaxed)
    }

    /// The same with an end in time (`u64::MAX`: none).
    pub(crate) fn sleep_until(&'static self, deadline: u64) -> u32 {
        if deadline == u64::MAX {
            return self.sleep_until_woken();
        }
        crate::timer::add(self, deadline);
        let result = self.sleep_until_woken();
        crate::timer::remove(self);
        result
    }

    /// Waits for the first of several things; `ready` is asked, under no lock, before it sleeps and each time
    /// it wakes, and returns the index of one that is. It is told which one has woken the thread, and returns that where
    /// it is: nobody else was woken for it. `TIMED_OUT` where the deadline passes first. `held` is asked each
    /// time it wakes, before `ready`: whether the SIP still has all of them. What it has not may stand for something of
    /// another SIP by now, so that a look at it would already be too much: `LOST`.
    pub(crate) fn wait_any(
        &'static self,
        on: &[Waitable],
        deadline: u64,
        held: impl Fn() -> bool,
        mut ready: impl FnMut(Option<u32>) -> Option<u32>,
    ) -> u32 {
        let mut woken_for = None;
        loop {
            if let Some(i) = ready(woken_for) {
                return i;
            }
            if deadline != u64::MAX && crate::machine::hal().now() >= deadline {
                return TIMED_OUT;
            }
            self.wait.phase.store(WAITING, Relaxed);
            {
                let mut many = self.wait.many.lock();
                while many.nodes.len() < on.len() {
                    let node: &'static WaitNode =
                        alloc::boxed::Box::leak(alloc::boxed::Box::default());
                    node.thread.set(Some(self));
                    many.nodes.push(node);
                }
                many.on.clear();
                many.on.extend_from_slice(on);
                for (i, (w, node)) in on.iter().zip(&many.nodes).enumerate() {
                    node.index.store(i as u32, Relaxed);
                    w.with_list(|list| list.push(node));
                }
            }
            let woken = self.sleep_until(deadline);
            woken_for = (woken != TIMED_OUT).then_some(woken);
            self.unlink();
            if !held() {
                return LOST;
            }
        }
    }

    /// Takes the thread's nodes out of all wait lists.
    pub(crate) fn unlink(&'static self) {
        let mut many = self.wait.many.lock();
        for (w, node) in many.on.iter().zip(&many.nodes) {
            w.with_list(|list| list.remove(node));
        }
        many.on.clear();
    }

    /// Ends a wait from outside, because the thread's SIP is ended. The thread's own node stays where it is:
    /// it stands only in lists of things that the same SIP owns, which are emptied when those are closed.
    pub(crate) fn cancel_wait(&'static self) {
        self.unlink();
        crate::timer::remove(self);
        self.wait.phase.store(IDLE, Relaxed);
    }
}

impl Waitable {
    /// Whether both are the same thing.
    pub(crate) fn is(&self, other: &Waitable) -> bool {
        use core::ptr::eq;
        match (*self, *other) {
            (Waitable::Channel(a, left), Waitable::Channel(b, right)) => eq(a, b) && left == right,
            (Waitable::Set(a), Waitable::Set(b)) => eq(a, b),
            (Waitable::Event(a), Waitable::Event(b)) => eq(a, b),
            (Waitable::Mutex(a), Waitable::Mutex(b)) => eq(a, b),
            (Waitable::Thread(a), Waitable::Thread(b)) => eq(a, b),
            (Waitable::Sip(a), Waitable::Sip(b)) => eq(a, b),
            (Waitable::Interrupt(a), Waitable::Interrupt(b)) => a == b,
            _ => false,
        }
    }

    /// Gives access to the list of threads that wait for it, under its lock.
    fn with_list<R>(&self, f: impl FnOnce(&WaitList) -> R) -> R {
        match *self {
            Waitable::Channel(c, side) => f(&c.lock().ends[side.index()].waiters),
            Waitable::Set(s) => s.with_waiters(f),
            Waitable::Event(e) => f(&e.inner.lock().waiters),
            Waitable::Mutex(m) => f(&m.inner.lock().waiters),
            Waitable::Thread(t) => f(&t.joiners.lock()),
            Waitable::Sip(s) => f(&s.joiners.lock()),
            Waitable::Interrupt(line) => crate::interrupt::with_waiters(line, f),
        }
    }
}
