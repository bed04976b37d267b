//! Ranges of physical memory: what the loader reports, less what is used.
//!
//! Invariant: the ranges are disjoint, in ascending order, and do not touch.

use core::ops::Range;

/// Bytes of a page and a frame.
pub const PAGE: u64 = 4096;

/// Physical addresses that the kernel has room for among its own: memory and devices beyond are not
/// used.
pub const REACH: u64 = 8 << 40;

/// The most ranges that are kept. A PC reports about ten, a large server with UEFI a few hundred,
/// most of them neighbours, which are joined.
const MAX: usize = 512;

/// The pages that contain `len` bytes at `at`. `None` if those end beyond `limit`, which is
/// page-aligned.
pub fn pages_within(at: u64, len: u64, limit: u64) -> Option<Range<u64>> {
    let end = at.checked_add(len).filter(|&end| end <= limit)?;
    Some(at / PAGE * PAGE..end.checked_next_multiple_of(PAGE)?)
}

/// Disjoint ranges in ascending order.
#[derive(Clone, Debug)]
pub struct Regions {
    ranges: [(u64, u64); MAX],
    count: usize,
    /// Bytes of ranges that there was no room for.
    lost: u64,
}

impl Regions {
    /// No ranges.
    pub const fn new() -> Self {
        Regions {
            ranges: [(0, 0); MAX],
            count: 0,
            lost: 0,
        }
    }

    /// The ranges, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges[..self.count]
            .iter()
            .map(|&(start, end)| start..end)
    }

    /// Bytes that were left out because the ranges were too many.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Adds a range, which may overlap others. If there are too many, memory is left out
    /// ([`Regions::lost`]).
    pub fn add(&mut self, range: Range<u64>) {
        self.subtract(range.clone());
        self.insert(range);
    }

    /// Removes a range.
    pub fn subtract(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        // The ranges that it overlaps are neighbours in the list; parts of the first and the last
        // may remain.
        let first = self.ranges[..self.count].partition_point(|r| r.1 <= range.start);
        let end = self.ranges[..self.count].partition_point(|r| r.0 < range.end);
        if first >= end {
            return;
        }
        let (left, right) = (
            self.ranges[first].0..range.start,
            range.end..self.ranges[end - 1].1,
        );
        self.ranges.copy_within(end..self.count, first);
        self.count -= end - first;
        self.insert(left);
        self.insert(right);
    }

    /// Takes out what lies at this address and above: so many bytes.
    pub fn cut(&mut self, from: u64) -> u64 {
        let before = self.bytes();
        self.subtract(from..u64::MAX);
        before - self.bytes()
    }

    /// Shrinks every range to whole pages of this size.
    pub fn align_to(&mut self, page: u64) {
        let mut kept = 0;
        for i in 0..self.count {
            let (start, end) = self.ranges[i];
            // A range whose first whole page would begin beyond the last address has no page.
            let first = start.checked_next_multiple_of(page).unwrap_or(u64::MAX);
            let range = (first, end / page * page);
            if range.0 < range.1 {
                self.ranges[kept] = range;
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Bytes in all ranges.
    pub fn bytes(&self) -> u64 {
        self.iter().map(|r| r.end - r.start).sum()
    }

    /// Inserts a range that overlaps none, and joins it with adjacent ones.
    fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let at = self.ranges[..self.count].partition_point(|r| r.0 < range.start);
        let joins_next = at < self.count && self.ranges[at].0 == range.end;
        let joins_last = at > 0 && self.ranges[at - 1].1 == range.start;
        match (joins_last, joins_next) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.copy_within(at + 1..self.count, at);
                self.count -= 1;
            }
            (true, false) => self.ranges[at - 1].1 = range.end,
            (false, true) => self.ranges[at].0 = range.start,
            (false, false) if self.count == MAX => self.lost += range.end - range.start,
            (false, false) => {
                self.ranges.copy_within(at..self.count, at + 1);
                self.ranges[at] = (range.start, range.end);
                self.count += 1;
            }
        }
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
    fn a_range_at_the_end_of_all_addresses_has_no_page_beyond() {
        let mut r = Regions::new();
        r.add(5000..20_000);
        r.add(u64::MAX - 100..u64::MAX);
        r.align_to(4096);
        let only = Range {
            start: 8192,
            end: 16_384,
        };
        assert_eq!(list(&r), core::slice::from_ref(&only));
        r.add(u64::MAX - 5000..u64::MAX);
        r.align_to(4096);
        assert_eq!(list(&r), core::slice::from_ref(&only));
        r.add(u64::MAX - 8191..u64::MAX);
        r.align_to(4096);
        assert_eq!(list(&r), [8192..16_384, u64::MAX - 8191..u64::MAX - 4095]);
    }

    #[test]
    fn registers_that_firmware_puts_where_none_can_be_have_no_pages() {
        let reach = 8 << 40;
        assert_eq!(
            pages_within(0xfee0_0000, 4096, reach),
            Some(0xfee0_0000..0xfee0_1000)
        );
        assert_eq!(
            pages_within(0xfed0_0ffe, 4, reach),
            Some(0xfed0_0000..0xfed0_2000)
        );
        assert_eq!(pages_within(reach - 4, 4, reach), Some(reach - 4096..reach));
        for (at, len) in [
            (reach - 3, 4),
            (reach, 1),
            (u64::MAX, 1),
            (u64::MAX, u64::MAX),
            (1 << 52, 4),
        ] {
            assert_eq!(pages_within(at, len, reach), None, "{at:#x} {len:#x}");
        }
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
    fn neighbours_become_one() {
        let mut r = Regions::new();
        for i in [0, 2, 4, 6, 5, 1, 3] {
            r.add(i * 10..i * 10 + 10);
        }
        assert!(r.iter().eq(core::iter::once(0..70)));
        r.subtract(30..40);
        r.add(30..40);
        assert!(r.iter().eq(core::iter::once(0..70)));
    }

    #[test]
    fn hundreds_of_ranges_are_kept_and_what_is_lost_is_counted() {
        let mut r = Regions::new();
        for i in 0..400 {
            r.add(i * 10..i * 10 + 5);
        }
        assert_eq!((r.bytes(), r.lost()), (2000, 0));
        for i in 400..1000 {
            r.add(i * 10..i * 10 + 5);
        }
        assert_eq!(r.iter().count(), MAX);
        assert_eq!(r.bytes() + r.lost(), 5000);
        assert!(r.iter().all(|range| range.end - range.start == 5));
    }

    #[test]
    fn random_changes_agree_with_a_list() {
        let (mut r, mut model) = (Regions::new(), vec![false; 200]);
        let mut seed = 1u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % n
        };
        for _ in 0..5_000 {
            let start = random(200);
            let range = start..(start + random(30)).min(200);
            let usable = random(2) == 0;
            if usable {
                r.add(range.clone());
            } else {
                r.subtract(range.clone());
            }
            range.for_each(|at| model[at as usize] = usable);
            let all: Vec<Range<u64>> = list(&r);
            assert!(all.windows(2).all(|w| w[0].end < w[1].start), "{all:?}");
            let there: Vec<u64> = all.into_iter().flatten().collect();
            assert!(
                there
                    .into_iter()
                    .eq((0..200).filter(|at| model[*at as usize]))
            );
        }
    }
}
