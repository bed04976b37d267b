//! Invariants of events' and mutexes' records ([`crate::object::sweep`]).
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use super::{EVENTS, Event, MUTEXES, Mutex};
use crate::mechanism::wait::WaitList;
use crate::object::sweep::Findings;
use alloc::format;
use core::sync::atomic::Ordering::Relaxed;

impl Event {
    /// Whether its record is in use.
    pub(crate) fn is_there(&self) -> bool {
        EVENTS.has(self.index.load(Relaxed), self)
    }
}

impl Mutex {
    /// Whether its record is in use.
    pub(crate) fn is_there(&self) -> bool {
        MUTEXES.has(self.index.load(Relaxed), self)
    }
}

/// Checks all of them.
pub(crate) fn sweep(found: &mut Findings) {
    let mut look = |what: &str, n: u32, there: bool, waiters: &WaitList| {
        found.seen();
        found.check(there || waiters.is_empty(), || {
            format!("a thread waits for {what} {n}, which is free")
        });
        found.check(waiters.iter().all(|node| node.is_there()), || {
            format!("a thread waits for {what} {n} whose record is free")
        });
    };
    for e in EVENTS.all() {
        look(
            "event",
            e.index.load(Relaxed),
            e.is_there(),
            &e.inner.lock().waiters,
        );
    }
    for m in MUTEXES.all() {
        look(
            "mutex",
            m.index.load(Relaxed),
            m.is_there(),
            &m.inner.lock().waiters,
        );
    }
}
