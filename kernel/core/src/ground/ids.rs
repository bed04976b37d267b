//! Ids of SIPs and threads: each is given once, until all have been.
//!
//! Zero is never given: it means none. After all ids have been given, those not in use are given
//! again.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use sing_arch::lock::Counter;

/// A source of ids.
pub(crate) struct Ids {
    next: AtomicU32,
    /// Whether all ids have been given once.
    again: AtomicBool,
}

impl Ids {
    /// Makes a source that begins with one.
    pub(crate) const fn new() -> Ids {
        Ids {
            next: AtomicU32::new(1),
            again: AtomicBool::new(false),
        }
    }

    /// Returns an id that is not in use. Asks `in_use`, which may search all records, only after
    /// all ids have been given; there are fewer records than ids.
    pub(crate) fn take(&self, mut in_use: impl FnMut(u32) -> bool) -> u32 {
        loop {
            let id = self.next.add(1);
            if id == 0 {
                self.again.store(true, Relaxed);
            } else if !self.again.load(Relaxed) || !in_use(id) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_again_without_zero_and_without_those_in_use() {
        let ids = Ids::new();
        assert_eq!(ids.take(|_| panic!("nothing can be in use")), 1);
        ids.next.store(u32::MAX, Relaxed);
        assert_eq!(ids.take(|_| panic!("nothing can be in use")), u32::MAX);
        assert_eq!(ids.take(|id| id < 3), 3);
        assert_eq!(ids.take(|_| false), 4);
    }
}
