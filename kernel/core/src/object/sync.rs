//! Events and mutexes: synchronisation between the threads of a SIP ([O] 3.2.1). Waiting for them
//! is [`crate::mechanism::wait`]'s; disposing of one wakes all waiters, which then find their
//! handle gone.

pub(crate) mod layout;
mod sweep;

pub(crate) use sweep::sweep;

use crate::ground::trusted::Store;
use crate::ground::trusted::variables;
use crate::mechanism::wait::{self, WaitList, Waitable};
use crate::object::thread::Thread;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use sing_arch::slab::Slab;

/// An event, which threads wait for until it is set. A wait resets an automatic one; a manual one
/// stays set until it is reset.
#[derive(Default)]
pub(crate) struct Event {
    pub(crate) index: AtomicU32,
    pub(crate) inner: SpinLock<EventInner>,
}

/// An event's state.
#[derive(Default)]
pub(crate) struct EventInner {
    set: bool,
    manual: bool,
    pub(crate) waiters: WaitList,
}

/// A mutex with one owner; not recursive.
#[derive(Default)]
pub(crate) struct Mutex {
    pub(crate) index: AtomicU32,
    pub(crate) inner: SpinLock<MutexInner>,
}

/// A mutex's state.
#[derive(Default)]
pub(crate) struct MutexInner {
    /// The id of the thread that owns it, or 0. An id, because the record of a thread that has
    /// ended is reused.
    owner: u32,
    pub(crate) waiters: WaitList,
}

variables! { forget:
    static EVENTS: Slab<Event> = Slab::new();
    static MUTEXES: Slab<Mutex> = Slab::new();
}

/// The stores of events' and mutexes' records.
pub(crate) fn stores() -> [&'static dyn Store; 2] {
    [&EVENTS, &MUTEXES]
}

impl Event {
    /// Bytes that one costs its SIP, beside its handle.
    pub(crate) const COST: u64 = Slab::<Event>::RECORD;

    /// A new event, manual or automatic, set or not. `None` if memory is short.
    pub(crate) fn create(manual: bool, set: bool) -> Option<&'static Event> {
        let (index, event) = EVENTS.take()?;
        event.index.store(index, Relaxed);
        let mut e = event.inner.lock();
        e.manual = manual;
        e.set = set;
        Some(event)
    }

    /// Sets it, and wakes one waiter (automatic) or all (manual).
    pub(crate) fn set(&self) {
        let mut e = self.inner.lock();
        e.set = true;
        if e.manual {
            wait::wake_all(&e.waiters);
        } else {
            wait::wake_one(&e.waiters);
        }
    }

    /// Resets it.
    pub(crate) fn reset(&self) {
        self.inner.lock().set = false;
    }

    /// Wakes all waiters and frees the record: its SIP has given it up.
    pub(crate) fn dispose(&self) {
        let e = self.inner.lock();
        wait::wake_all(&e.waiters);
        drop(e);
        EVENTS.give(self.index.load(Relaxed));
    }
}

impl Waitable for Event {
    fn acquire(&'static self, _: &'static Thread) -> bool {
        let mut e = self.inner.lock();
        let set = e.set;
        if set && !e.manual {
            e.set = false;
        }
        set
    }

    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList)) {
        f(&self.inner.lock().waiters);
    }
}

impl Mutex {
    /// Bytes that one costs its SIP, beside its handle.
    pub(crate) const COST: u64 = Slab::<Mutex>::RECORD;

    /// A new mutex, owned by `owner` if given. `None` if memory is short.
    pub(crate) fn create(owner: Option<&'static Thread>) -> Option<&'static Mutex> {
        let (index, mutex) = MUTEXES.take()?;
        mutex.index.store(index, Relaxed);
        mutex.inner.lock().owner = owner.map_or(0, |t| t.id.load(Relaxed));
        Some(mutex)
    }

    /// Releases it and wakes one waiter. False if `thread` does not own it.
    pub(crate) fn release(&self, thread: &'static Thread) -> bool {
        let mut m = self.inner.lock();
        if m.owner != thread.id.load(Relaxed) {
            return false;
        }
        m.owner = 0;
        wait::wake_one(&m.waiters);
        true
    }

    /// Wakes all waiters and frees the record: its SIP has given it up.
    pub(crate) fn dispose(&self) {
        let mut m = self.inner.lock();
        m.owner = 0;
        wait::wake_all(&m.waiters);
        drop(m);
        MUTEXES.give(self.index.load(Relaxed));
    }
}

impl Waitable for Mutex {
    /// Takes it if it is free. Not recursive: an owner that acquires it again waits forever.
    fn acquire(&'static self, thread: &'static Thread) -> bool {
        let mut m = self.inner.lock();
        if m.owner == 0 {
            m.owner = thread.id.load(Relaxed);
            return true;
        }
        false
    }

    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList)) {
        f(&self.inner.lock().waiters);
    }
}
