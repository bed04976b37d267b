//! Numbers by which programs name SIPs and threads: each is given once, until all have been.
//!
//! Zero is never given: it stands for none. A machine that has given all of them begins again, with those that nobody has.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use sing_arch::lock::Counter;

/// What gives numbers.
pub(crate) struct Ids {
    next: AtomicU32,
    /// Whether all have been given once.
    again: AtomicBool,
}

impl Ids {
    /// Begins with one.
    pub(crate) const fn new() -> Ids {
        Ids {
            next: AtomicU32::new(1),
            again: AtomicBool::new(false),
        }
    }

    /// A number that is not in use. Only where all have been given is `in_use` asked, which may look at all records; there are
    /// fewer of them than numbers.
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
