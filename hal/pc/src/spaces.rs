//! Free address space: best fit, with neighbours joined.
//!
//! Invariant: two indexes, by address and by size, hold the same ranges, which neither overlap nor
//! touch. So taking and freeing cost O(log n), whatever the pattern.

#[cfg(target_os = "none")]
use alloc::collections::{BTreeMap, BTreeSet};
#[cfg(not(target_os = "none"))]
use std::collections::{BTreeMap, BTreeSet};

/// Free ranges of addresses.
#[derive(Debug)]
pub struct Spaces {
    by_address: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
}

impl Spaces {
    /// No free ranges.
    pub const fn new() -> Self {
        Spaces {
            by_address: BTreeMap::new(),
            by_size: BTreeSet::new(),
        }
    }

    /// Takes the first `size` bytes of the smallest range that is large enough.
    pub fn take(&mut self, size: u64) -> Option<u64> {
        let &(found, at) = self.by_size.range((size, 0)..).next()?;
        self.remove(at, found);
        if found > size {
            self.insert(at + size, found - size);
        }
        Some(at)
    }

    /// Frees `size` bytes at `at`, and joins them with adjacent free ranges.
    ///
    /// # Panics
    /// If they overlap a free range, so the caller has freed what it did not own.
    pub fn give(&mut self, at: u64, size: u64) {
        let (mut start, mut end) = (at, at + size);
        if let Some((&before, &len)) = self.by_address.range(..=at).next_back() {
            assert!(before + len <= at, "addresses at {at:#x} are free already");
            if before + len == at {
                self.remove(before, len);
                start = before;
            }
        }
        if let Some((&after, &len)) = self.by_address.range(at..).next() {
            assert!(after >= end, "addresses at {after:#x} are free already");
            if after == end {
                self.remove(after, len);
                end += len;
            }
        }
        self.insert(start, end - start);
    }

    fn insert(&mut self, at: u64, size: u64) {
        self.by_address.insert(at, size);
        self.by_size.insert((size, at));
    }

    fn remove(&mut self, at: u64, size: u64) {
        self.by_address.remove(&at);
        self.by_size.remove(&(size, at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_neighbours() {
        let mut s = Spaces::new();
        s.give(0, 100);
        let parts: Vec<u64> = (0..10).map(|_| s.take(10).unwrap()).collect();
        assert_eq!(s.take(1), None);
        for i in [3, 1, 2, 9, 0, 4, 8, 6, 5, 7] {
            s.give(parts[i], 10);
        }
        assert_eq!(s.by_address.len(), 1);
        assert_eq!(s.by_size.len(), 1);
        assert_eq!(s.take(100), Some(0));
    }

    #[test]
    fn prefers_the_smallest_that_fits() {
        let mut s = Spaces::new();
        s.give(0, 1000);
        s.give(5000, 20);
        assert_eq!(s.take(15), Some(5000));
        assert_eq!(s.take(15), Some(0));
    }

    #[test]
    #[should_panic(expected = "free already")]
    fn notices_a_second_release() {
        let mut s = Spaces::new();
        s.give(0, 100);
        let at = s.take(50).unwrap();
        s.give(at, 50);
        s.give(at, 50);
    }
}
