//! Ids of SIPs and threads: each is given once, until all have been.
//!
//! Zero is never given: it means none. After all ids have been given, those not in use are given again. Which these are is
//! looked up for many ids at a time, so that an id costs no search however many are in use.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use sing_arch::lock::{Counter, SpinLock};

/// Ids of a window: a power of two, and more than there can be records in use with little memory.
const WINDOW: u32 = 1 << 16;
const BITS: u32 = u64::BITS;

/// A source of ids.
pub(crate) struct Ids {
    next: AtomicU32,
    /// Whether all ids have been given once.
    again: AtomicBool,
    /// A bit for each id of the window in which `next` lies: whether it was in use when the window was begun. Used only after
    /// all ids have been given.
    used: SpinLock<[u64; (WINDOW / BITS) as usize]>,
}

impl Ids {
    /// Makes a source that begins with one.
    pub(crate) const fn new() -> Ids {
        Ids {
            next: AtomicU32::new(1),
            again: AtomicBool::new(false),
            used: SpinLock::new([0; (WINDOW / BITS) as usize]),
        }
    }

    /// Returns an id that is not in use. Asks for those in use, a visit to all records, only after all ids have been given,
    /// and then once for each window.
    #[inline(always)]
    pub(crate) fn take<I: Iterator<Item = u32>>(&self, in_use: impl Fn() -> I) -> u32 {
        let id = self.next.add(1);
        if id != 0 && !self.again.load(Relaxed) {
            return id;
        }
        self.take_again(id, in_use)
    }

    #[cold]
    fn take_again<I: Iterator<Item = u32>>(&self, first: u32, in_use: impl Fn() -> I) -> u32 {
        self.again.store(true, Relaxed);
        let mut id = first;
        loop {
            let mut used = self.used.lock();
            if id.is_multiple_of(WINDOW) {
                used.fill(0);
                for other in in_use().filter(|other| other / WINDOW == id / WINDOW) {
                    let (word, bit) = place(other);
                    used[word] |= 1 << bit;
                }
            }
            let (word, bit) = place(id);
            if id != 0 && used[word] & 1 << bit == 0 {
                return id;
            }
            drop(used);
            id = self.next.add(1);
        }
    }
}

/// The word and the bit of an id in its window.
fn place(id: u32) -> (usize, u32) {
    let n = id % WINDOW;
    ((n / BITS) as usize, n % BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn begins_again_without_zero_and_without_those_in_use() {
        let ids = Ids::new();
        let none = || panic!("nothing can be in use");
        let nothing = || core::iter::from_fn(none);
        assert_eq!(ids.take(nothing), 1);
        ids.next.store(u32::MAX, Relaxed);
        assert_eq!(ids.take(nothing), u32::MAX);
        let in_use = || [1, 2, 4, u32::MAX, WINDOW + 7].into_iter();
        assert_eq!(ids.take(in_use), 3);
        assert_eq!(ids.take(in_use), 5);
    }

    #[test]
    fn looks_once_for_a_window() {
        let (ids, looks) = (Ids::new(), Cell::new(0));
        ids.next.store(0, Relaxed);
        // A row of ids that are in use, over two windows.
        let in_use = || {
            looks.set(looks.get() + 1);
            10..2 * WINDOW + 10
        };
        for id in 1..10 {
            assert_eq!(ids.take(in_use), id);
        }
        assert_eq!(looks.get(), 1);
        assert_eq!(ids.take(in_use), 2 * WINDOW + 10);
        assert_eq!(looks.get(), 3);
        for id in 2 * WINDOW + 11..3 * WINDOW {
            assert_eq!(ids.take(in_use), id);
        }
        assert_eq!(looks.get(), 3);
    }
}
