//! Ids of SIPs and threads: each is given once, until all have been.
//!
//! Zero is never given: it means none. After all ids have been given, those not in use are given
//! again. Which these are is looked up for many ids at a time, a few records with each id that is
//! given before, so that an id costs no search however many are in use.

use crate::ground::trusted::parts_restart;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use sing_arch::lock::{Counter, SpinLock};

/// Ids of a window: a power of two, and more than there can be records in use with little memory.
const WINDOW: u32 = 1 << 16;
const BITS: u32 = u64::BITS;
/// The first id of the last window. From there on, the next window's ids are looked up.
const LAST: u32 = 0u32.wrapping_sub(WINDOW);

/// A bit for each id of a window.
type Bits = [u64; (WINDOW / BITS) as usize];

/// A source of ids.
pub(crate) struct Ids {
    next: AtomicU32,
    /// Whether the last window has been reached.
    again: AtomicBool,
    /// Used only from then on.
    used: SpinLock<Used>,
}

/// Which ids were in use when their window was begun, or a little before.
struct Used {
    /// The ids of the window in which `next` lies, and those of the window behind it, as far as
    /// records have been visited; in turns.
    bits: [Bits; 2],
    /// Which of the two is that of `next`.
    now: usize,
    /// Records that have been visited for the window behind.
    visited: u32,
    /// The number of records when this window was begun. Those that come later get ids of it.
    records: u32,
}

parts_restart!(Ids: next again used);

impl Ids {
    /// Makes a source that begins with one.
    pub(crate) const fn new() -> Ids {
        Ids {
            next: AtomicU32::new(1),
            again: AtomicBool::new(false),
            used: SpinLock::new(Used {
                bits: [[0; (WINDOW / BITS) as usize]; 2],
                now: 0,
                visited: 0,
                records: 0,
            }),
        }
    }

    /// Returns an id that is not in use. Asks for the number of records and for the ids of those in
    /// use, a few at a time, only when nearly all ids have been given once. No record may get an id
    /// but from here.
    #[inline(always)]
    pub(crate) fn take(
        &self,
        records: impl Fn() -> u32,
        in_use: impl Fn(u32) -> Option<u32>,
    ) -> u32 {
        let id = self.next.add(1);
        if id.wrapping_sub(1) < LAST - 1 && !self.again.load(Relaxed) {
            return id;
        }
        self.take_again(id, &records, &in_use)
    }

    #[cold]
    fn take_again(
        &self,
        first: u32,
        records: &dyn Fn() -> u32,
        in_use: &dyn Fn(u32) -> Option<u32>,
    ) -> u32 {
        self.again.store(true, Relaxed);
        let mut id = first;
        loop {
            let mut used = self.used.lock();
            if id.is_multiple_of(WINDOW) {
                used.visit(id / WINDOW, u32::MAX, in_use);
                used.begin(records());
            }
            // The pass ends in the middle of the window.
            let few = used.records / (WINDOW / 2) + 1;
            used.visit((id / WINDOW + 1) % WINDOW, few, in_use);
            let (word, bit) = place(id);
            if id != 0 && used.bits[used.now][word] & 1 << bit == 0 {
                return id;
            }
            drop(used);
            id = self.next.add(1);
        }
    }
}

impl Used {
    /// Begins the window whose ids have been looked up.
    fn begin(&mut self, records: u32) {
        self.bits[self.now].fill(0);
        self.now ^= 1;
        (self.visited, self.records) = (0, records);
    }

    /// Visits some records for this window, the one behind that of `next`.
    fn visit(&mut self, window: u32, most: u32, in_use: &dyn Fn(u32) -> Option<u32>) {
        let end = self.records.min(self.visited.saturating_add(most));
        let behind = self.now ^ 1;
        for id in (self.visited..end).filter_map(in_use) {
            if id / WINDOW == window {
                let (word, bit) = place(id);
                self.bits[behind][word] |= 1 << bit;
            }
        }
        self.visited = end;
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
    use alloc::vec::Vec;
    use core::cell::{Cell, RefCell};
    use std::collections::HashSet;

    #[test]
    fn begins_again_without_zero_and_without_those_in_use() {
        let ids = Ids::new();
        let none = |_| panic!("nothing can be in use");
        assert_eq!(ids.take(|| 5, none), 1);
        ids.next.store(LAST - 1, Relaxed);
        assert_eq!(ids.take(|| 5, none), LAST - 1);
        let all = [1, 2, 4, u32::MAX, WINDOW + 7];
        let in_use = |i| Some(all[i as usize]);
        let mut last = 0;
        for id in LAST..=u32::MAX {
            last = ids.take(|| 5, in_use);
            assert_eq!(last, id);
        }
        assert_eq!(last, u32::MAX);
        assert_eq!(ids.take(|| 5, in_use), 3);
        assert_eq!(ids.take(|| 5, in_use), 5);
        let next = (6..WINDOW + 7).chain(WINDOW + 8..WINDOW + 20);
        assert!(next.into_iter().all(|id| ids.take(|| 5, in_use) == id));
    }

    #[test]
    fn visits_few_records_with_each_id() {
        let (ids, visits) = (Ids::new(), Cell::new(0));
        ids.next.store(LAST, Relaxed);
        // Ids that are in use at the begin of the first two windows.
        let in_use = |i: u32| {
            visits.set(visits.get() + 1);
            Some(if i < 20 { i } else { WINDOW + i - 20 })
        };
        let take = || {
            let before = visits.get();
            let id = ids.take(|| 100_000, in_use);
            (id, visits.get() - before)
        };
        let mut given = 0;
        while given != u32::MAX {
            let (id, visited) = take();
            assert!(visited <= 4, "{visited} records at {id}");
            given = id;
        }
        assert_eq!(visits.get(), 100_000);
        assert_eq!(take(), (20, 4 * 21));
        let mut most = 0;
        for id in 21..WINDOW {
            let (given, visited) = take();
            assert_eq!(given, id);
            most = most.max(visited);
        }
        assert_eq!((most, visits.get()), (4, 200_000));
        // All ids of the next window are in use, and the first ones of the window behind that.
        assert_eq!(take().0, WINDOW + 99_980);
    }

    #[test]
    fn no_id_is_given_while_it_is_in_use() {
        let ids = Ids::new();
        ids.next.store(LAST, Relaxed);
        // Records are freed and taken at random; some stay for very long.
        let records = RefCell::new(Vec::from([0; 3000]));
        let mut seed = 1u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((seed >> 33) % below) as usize
        };
        // Most of the first window's ids are in use from the beginning.
        for (i, id) in records.borrow_mut().iter_mut().take(1000).enumerate() {
            *id = 1 + 3 * i as u32;
        }
        let mut all: HashSet<u32> = records.borrow().iter().copied().collect();
        for _ in 0..3 * WINDOW {
            let id = ids.take(
                || records.borrow().len() as u32,
                |i| Some(records.borrow()[i as usize]).filter(|&id| id != 0),
            );
            assert!(id != 0 && all.insert(id), "{id}");
            let at = match random(100) {
                0 => records.borrow().len(),
                1..10 => random(1000),
                _ => 1000 + random(2000),
            };
            let mut records = records.borrow_mut();
            match records.get_mut(at) {
                Some(record) => {
                    all.remove(record);
                    *record = id;
                }
                None => records.push(id),
            }
        }
    }
}
