//! Ranges of physical memory: what the loader reports, less what is taken.

use core::ops::Range;

/// The most ranges that are kept; a PC reports about ten.
const MAX: usize = 64;

/// Disjoint ranges in ascending order.
#[derive(Clone, Debug)]
pub struct Regions {
    ranges: [(u64, u64); MAX],
    count: usize,
}

impl Regions {
    /// No ranges.
    pub const fn new() -> Self {
        Regions {
            ranges: [(0, 0); MAX],
            count: 0,
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges[..self.count]
            .iter()
            .map(|&(start, end)| start..end)
    }

    /// The range with this number.
    pub fn get(&self, index: usize) -> Option<Range<u64>> {
        self.ranges[..self.count]
            .get(index)
            .map(|&(start, end)| start..end)
    }

    /// Adds a range; what is there already stays once. One too many is left out: memory is lost, not found.
    pub fn add(&mut self, range: Range<u64>) {
        self.subtract(range.clone());
        self.insert(range);
    }

    /// Takes a range out.
    pub fn subtract(&mut self, range: Range<u64>) {
        let old = core::mem::replace(self, Regions::new());
        for r in old.iter() {
            self.insert(r.start..r.end.min(range.start));
            self.insert(r.start.max(range.end)..r.end);
        }
    }

    /// Shrinks every range to whole pages of this size.
    pub fn align_to(&mut self, page: u64) {
        let old = core::mem::replace(self, Regions::new());
        for r in old.iter() {
            self.insert(r.start.next_multiple_of(page)..r.end / page * page);
        }
    }

    /// Bytes in all ranges.
    pub fn bytes(&self) -> u64 {
        self.iter().map(|r| r.end - r.start).sum()
    }

    fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() || self.count == MAX {
            return;
        }
        let at = self.ranges[..self.count].partition_point(|r| r.0 < range.start);
        self.ranges.copy_within(at..self.count, at + 1);
        self.ranges[at] = (range.start, range.end);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(r: &Regions) -> Vec<Range<u64>> {
        r.iter().collect()
    }

    #[test]
    fn adds_in_order_and_once() {
        let mut r = Regions::new();
        r.add(100..200);
        r.add(0..50);
        r.add(150..250);
        assert_eq!(r.bytes(), 50 + 150);
        assert_eq!(list(&r)[0], 0..50);
        r.add(0..300);
        assert_eq!(r.bytes(), 300);
    }

    #[test]
    fn subtracts_from_the_middle_the_edges_and_across() {
        let mut r = Regions::new();
        r.add(0..100);
        r.add(200..300);
        r.subtract(40..60);
        assert_eq!(list(&r), [0..40, 60..100, 200..300]);
        r.subtract(90..210);
        assert_eq!(list(&r), [0..40, 60..90, 210..300]);
        r.subtract(0..1000);
        assert_eq!(r.bytes(), 0);
    }

    #[test]
    fn aligns_inwards() {
        let mut r = Regions::new();
        r.add(1..8191);
        r.add(0x9000..0x9fff);
        r.align_to(4096);
        assert_eq!(list(&r), []);
        r.add(1..0x3001);
        r.align_to(4096);
        assert!(r.iter().eq(core::iter::once(0x1000..0x3000)));
    }

    #[test]
    fn too_many_ranges_lose_memory_only() {
        let mut r = Regions::new();
        for i in 0..1000 {
            r.add(i * 10..i * 10 + 5);
        }
        assert_eq!(r.iter().count(), MAX);
        assert!(r.get(MAX).is_none());
    }
}
