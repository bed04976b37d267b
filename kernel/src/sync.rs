//! Events and mutexes: synchronisation between the threads of a SIP ([O] 3.2.1).

use crate::thread::Thread;
use crate::wait::{self, WaitList};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use sing_arch::slab::Slab;

/// An event.
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

/// A mutex.
#[derive(Default)]
pub(crate) struct Mutex {
    pub(crate) index: AtomicU32,
    pub(crate) inner: SpinLock<MutexInner>,
}

/// A mutex's state.
#[derive(Default)]
pub(crate) struct MutexInner {
    /// The id of the thread that has it, or 0: the object of one that has ended stands for another thread later.
    owner: u32,
    pub(crate) waiters: WaitList,
}

static EVENTS: Slab<Event> = Slab::new();
static MUTEXES: Slab<Mutex> = Slab::new();

impl Event {
    /// A new event.
    pub(crate) fn create(manual: bool, set: bool) -> Option<&'static Event> {
        let (index, event) = EVENTS.take()?;
        event.index.store(index, Relaxed);
        let mut e = event.inner.lock();
        e.manual = manual;
        e.set = set;
        Some(event)
    }

    /// Sets it: wakes one waiter (auto) or all (manual).
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

    /// Whether a wait for it is over; takes the event where it is an auto-reset one.
    pub(crate) fn acquire(&self) -> bool {
        let mut e = self.inner.lock();
        let set = e.set;
        if set && !e.manual {
            e.set = false;
        }
        set
    }

    /// Its owner has given it up.
    pub(crate) fn dispose(&self) {
        let e = self.inner.lock();
        wait::wake_all(&e.waiters);
        drop(e);
        EVENTS.give(self.index.load(Relaxed));
    }
}

impl Mutex {
    /// A new mutex.
    pub(crate) fn create(owner: Option<&'static Thread>) -> Option<&'static Mutex> {
        let (index, mutex) = MUTEXES.take()?;
        mutex.index.store(index, Relaxed);
        mutex.inner.lock().owner = owner.map_or(0, |t| t.id.load(Relaxed));
        Some(mutex)
    }

    /// Takes it where it is free. Not recursive: its owner waits for itself.
    pub(crate) fn acquire(&self, thread: &'static Thread) -> bool {
        let mut m = self.inner.lock();
        if m.owner == 0 {
            m.owner = thread.id.load(Relaxed);
            return true;
        }
        false
    }

    /// Releases it. False where `thread` does not own it.
    pub(crate) fn release(&self, thread: &'static Thread) -> bool {
        let mut m = self.inner.lock();
        if m.owner != thread.id.load(Relaxed) {
            return false;
        }
        m.owner = 0;
        wait::wake_one(&m.waiters);
        true
    }

    /// Its SIP has given it up.
    pub(crate) fn dispose(&self) {
        let mut m = self.inner.lock();
        m.owner = 0;
        wait::wake_all(&m.waiters);
        drop(m);
        MUTEXES.give(self.index.load(Relaxed));
    }
}
