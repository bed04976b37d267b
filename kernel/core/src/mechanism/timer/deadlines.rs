//! Sleeping threads by deadline: a heap in which each thread knows its index.
//!
//! Invariants:
//! - `heap[i]` is due no later than `heap[2 * i + 1]` and `heap[2 * i + 2]`; its `timer_place` is
//!   `i + 1`. A thread that is not in the heap has `timer_place` 0.
//! - There is room for every thread that exists ([`Deadlines::reserve`]), so that going to sleep
//!   needs no memory.

use crate::object::thread::Thread;
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;

/// Threads by deadline.
pub(super) struct Deadlines {
    heap: Vec<&'static Thread>,
}

/// Returns the sort key of a thread: of threads due at once, the one with the older record comes
/// first.
fn key(t: &Thread) -> (u64, u32) {
    (t.wait.deadline.load(Relaxed), t.index.load(Relaxed))
}

impl Deadlines {
    /// Makes an empty heap.
    pub(super) const fn new() -> Self {
        Deadlines { heap: Vec::new() }
    }

    /// Makes room for this many threads. Returns false if memory is short.
    pub(super) fn reserve(&mut self, threads: usize) -> bool {
        let more = threads.saturating_sub(self.heap.len());
        self.heap.try_reserve(more).is_ok()
    }

    /// Returns the thread that is due first.
    pub(super) fn first(&self) -> Option<&'static Thread> {
        self.heap.first().copied()
    }

    /// Calls `f` with each thread.
    pub(super) fn each(&self, f: impl FnMut(&'static Thread)) {
        self.heap.iter().copied().for_each(f);
    }

    /// Adds a thread, whose deadline has been set. There must be room for it.
    pub(super) fn insert(&mut self, t: &'static Thread) {
        if self.heap.len() < self.heap.capacity() {
            #[expect(clippy::disallowed_methods, reason = "there is room")]
            self.heap.push(t);
            self.rise(self.heap.len() - 1);
        }
    }

    /// Removes a thread. Returns false if it is not in the heap.
    pub(super) fn remove(&mut self, t: &'static Thread) -> bool {
        let Some(at) = (t.wait.timer_place.swap(0, Relaxed) as usize).checked_sub(1) else {
            return false;
        };
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            // The thread moved here may be due earlier or later than its new neighbours.
            let at = self.sink(at);
            self.rise(at);
        }
        true
    }

    fn put(&mut self, at: usize, t: &'static Thread) {
        self.heap[at] = t;
        t.wait.timer_place.store(at as u32 + 1, Relaxed);
    }

    /// Moves the thread at an index up to its place.
    fn rise(&mut self, mut at: usize) {
        let t = self.heap[at];
        while at > 0 {
            let above = (at - 1) / 2;
            if key(self.heap[above]) <= key(t) {
                break;
            }
            self.put(at, self.heap[above]);
            at = above;
        }
        self.put(at, t);
    }

    /// Moves the thread at an index down to its place; returns the new index.
    fn sink(&mut self, mut at: usize) -> usize {
        let t = self.heap[at];
        loop {
            let left = 2 * at + 1;
            let least = (left..self.heap.len().min(left + 2)).min_by_key(|&i| key(self.heap[i]));
            let Some(below) = least.filter(|&i| key(self.heap[i]) < key(t)) else {
                break;
            };
            self.put(at, self.heap[below]);
            at = below;
        }
        self.put(at, t);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::collections::BTreeSet;

    #[test]
    fn threads_come_in_the_order_of_their_deadlines() {
        let threads: Vec<&'static Thread> = (0..200)
            .map(|i| {
                let t: &'static Thread = Box::leak(Box::default());
                t.index.store(i, Relaxed);
                t
            })
            .collect();
        let mut all = Deadlines::new();
        assert!(all.reserve(threads.len()));
        let mut known = BTreeSet::new();
        let mut x = 1u64;
        for _ in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let t = threads[(x >> 33) as usize % threads.len()];
            if known.remove(&key(t)) {
                assert!(all.remove(t) && !all.remove(t));
            } else {
                t.wait.deadline.store((x >> 50) % 100, Relaxed);
                all.insert(t);
                known.insert(key(t));
            }
            assert_eq!(all.first().map(key), known.first().copied());
        }
        while let Some(t) = all.first() {
            assert_eq!(known.pop_first(), Some(key(t)));
            all.remove(t);
        }
        assert!(known.is_empty());
    }
}
