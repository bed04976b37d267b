//! Invariants of sets' records ([`crate::object::sweep`]).
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use super::{Member, SETS, Set};
use crate::object::sweep::{self, Findings};
use alloc::format;
use core::sync::atomic::Ordering::Relaxed;

impl Set {
    /// Whether its record is in use.
    pub(crate) fn is_there(&self) -> bool {
        SETS.has(self.index.load(Relaxed), self)
    }
}

impl Member {
    /// Whether it is in a ready list, or among endpoints to be emptied.
    pub(crate) fn is_linked(&self) -> bool {
        self.node.is_linked() || self.closing.is_linked()
    }
}

/// Checks all of them.
pub(crate) fn sweep(found: &mut Findings) {
    for set in SETS.all() {
        found.seen();
        let n = set.index.load(Relaxed);
        let inner = set.inner.lock();
        if !set.is_there() {
            let empty =
                inner.ready.is_empty() && inner.waiters.is_empty() && inner.waiter.get().is_none();
            found.check(empty, || {
                format!("set {n}, free, has something in its lists")
            });
            continue;
        }
        let waiter = inner.waiter.get();
        found.check(
            waiter.is_none_or(|t| t.is_there() && t.waits_in(set)),
            || format!("a thread is to be woken at set {n} that does not wait there"),
        );
        found.check(inner.waiters.iter().all(|node| node.is_there()), || {
            format!("a thread waits at set {n} whose record is free")
        });
        let ready = inner.ready.iter().all(|member| {
            let here = member.set().is_some_and(|s| core::ptr::eq(s, set));
            here && member.endpoint().is_some_and(|(c, _)| sweep::is_there(c))
        });
        found.check(ready && sweep::is_whole(&inner.ready), || {
            format!("an endpoint is ready in set {n} that is not its, or is free")
        });
    }
}
