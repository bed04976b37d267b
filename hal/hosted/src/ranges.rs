//! Sets of address ranges: for free, accessible and blank addresses.
//!
//! Ranges that touch are merged. All operations take time logarithmic in the number of ranges. Pure
//! arithmetic: touches no memory, and holds no `unsafe`.

use std::collections::{BTreeMap, BTreeSet};

/// A set of disjoint ranges that do not touch one another.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// End by start.
    by_start: BTreeMap<u64, u64>,
    /// Pairs of length and start.
    by_size: BTreeSet<(u64, u64)>,
    bytes: u64,
}

impl Ranges {
    /// Returns the number of ranges.
    pub(crate) fn count(&self) -> usize {
        self.by_start.len()
    }

    /// Returns the sum of their lengths.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Iterates over the ranges, in order of address.
    #[cfg(test)]
    fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.by_start.iter().map(|(start, end)| (*start, *end))
    }

    fn put(&mut self, start: u64, end: u64) {
        if start < end {
            self.by_start.insert(start, end);
            self.by_size.insert((end - start, start));
            self.bytes += end - start;
        }
    }

    fn drop_range(&mut self, start: u64, end: u64) {
        self.by_start.remove(&start);
        self.by_size.remove(&(end - start, start));
        self.bytes -= end - start;
    }

    /// Returns the first range that ends behind `at`, if it starts before `end`.
    fn meeting(&self, at: u64, end: u64) -> Option<(u64, u64)> {
        let before = self
            .by_start
            .range(..=at)
            .next_back()
            .map(|(s, e)| (*s, *e));
        before
            .filter(|(_, e)| *e > at)
            .or_else(|| self.by_start.range(at..end).next().map(|(s, e)| (*s, *e)))
            .filter(|(s, _)| *s < end)
    }

    /// Returns the range in which an address lies.
    pub(crate) fn around(&self, at: u64) -> Option<(u64, u64)> {
        self.meeting(at, at + 1)
    }

    /// Returns how many bytes of `at..end` are in the set.
    pub(crate) fn overlap(&self, at: u64, end: u64) -> u64 {
        let (mut from, mut sum) = (at, 0);
        while let Some((start, stop)) = self.meeting(from, end) {
            sum += stop.min(end) - start.max(from);
            from = stop;
            if from >= end {
                break;
            }
        }
        sum
    }

    /// Whether anything of `at..end` is in the set.
    pub(crate) fn meets(&self, at: u64, end: u64) -> bool {
        self.meeting(at, end).is_some()
    }

    /// Returns the parts of `at..end` that are in the set.
    pub(crate) fn common(&self, at: u64, end: u64) -> Vec<(u64, u64)> {
        let (mut from, mut all) = (at, Vec::new());
        while let Some((start, stop)) = self.meeting(from, end) {
            all.push((start.max(from), stop.min(end)));
            from = stop;
            if from >= end {
                break;
            }
        }
        all
    }

    /// Adds `at..end`, what is in the set already included.
    pub(crate) fn insert(&mut self, at: u64, end: u64) {
        if at >= end {
            return;
        }
        let (mut start, mut stop) = (at, end);
        // One byte further on each side, so that adjacent ranges are merged.
        while let Some((s, e)) = self.meeting(start.saturating_sub(1), stop.saturating_add(1)) {
            self.drop_range(s, e);
            (start, stop) = (start.min(s), stop.max(e));
        }
        self.put(start, stop);
    }

    /// Removes `at..end`, parts of which may not be in the set.
    pub(crate) fn remove(&mut self, at: u64, end: u64) {
        if at >= end {
            return;
        }
        while let Some((s, e)) = self.meeting(at, end) {
            self.drop_range(s, e);
            self.put(s, s.max(at));
            self.put(e.min(end), e);
        }
    }

    /// Removes `bytes` from the smallest range that is large enough, at the lowest such address;
    /// returns their start.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        let (len, start) = *self.by_size.range((bytes, 0)..).next()?;
        self.drop_range(start, start + len);
        self.put(start + bytes, start + len);
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;

    /// Returns the same set as a bit for each address.
    fn bits(ranges: &Ranges) -> u128 {
        ranges
            .iter()
            .flat_map(|(s, e)| s..e)
            .fold(0, |set, i| set | 1 << i)
    }

    fn mask(at: u64, end: u64) -> u128 {
        (at..end).fold(0, |set, i| set | 1 << i)
    }

    fn check(ranges: &Ranges, model: u128) {
        assert_eq!(bits(ranges), model);
        assert_eq!(ranges.bytes(), u64::from(model.count_ones()));
        assert_eq!(ranges.by_size.len(), ranges.count());
        let all: Vec<_> = ranges.iter().collect();
        assert!(
            all.windows(2).all(|w| w[0].1 < w[1].0),
            "ranges touch: {all:?}"
        );
        assert!(
            all.iter()
                .all(|(s, e)| s < e && ranges.by_size.contains(&(e - s, *s)))
        );
    }

    #[test]
    fn agrees_with_a_bitmap() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        let (mut ranges, mut model) = (Ranges::default(), 0u128);
        for _ in 0..20_000 {
            let at = random(128);
            let end = at + random(129 - at);
            let of = mask(at, end);
            assert_eq!(
                ranges.overlap(at, end),
                u64::from((model & of).count_ones())
            );
            match random(3) {
                0 => {
                    ranges.insert(at, end);
                    model |= of;
                }
                1 => {
                    ranges.remove(at, end);
                    model &= !of;
                }
                _ => {
                    let bytes = 1 + random(16);
                    let best = ranges
                        .iter()
                        .map(|(s, e)| (e - s, s))
                        .filter(|r| r.0 >= bytes)
                        .min();
                    let got = ranges.take(bytes);
                    assert_eq!(got, best.map(|r| r.1));
                    if let Some(at) = got {
                        model &= !mask(at, at + bytes);
                    }
                }
            }
            check(&ranges, model);
        }
    }
}
