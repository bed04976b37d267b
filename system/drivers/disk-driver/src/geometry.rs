//! What a disk is like, and which requests are about something that is there.

use crate::LARGEST;

/// What a disk is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// How many sectors it has.
    pub sectors: u64,
    /// The base-2 logarithm of the bytes of a sector.
    pub shift: u32,
    /// The most bytes of a request's data: at most [`MOST`](crate::MOST).
    pub most: u32,
    /// Whether it cannot be written.
    pub read_only: bool,
    /// Whether a flush does anything: without a cache, what was written is safe.
    pub flushes: bool,
    /// Whether it can forget sectors.
    pub discards: bool,
}

impl Geometry {
    /// The bytes of a sector.
    #[inline]
    #[must_use]
    pub fn sector(&self) -> u32 {
        1 << self.shift
    }

    /// Whether the block is not too large, and these bytes of a block of `len` bytes, and the
    /// sectors, are there.
    #[must_use]
    pub fn holds(&self, sector: u64, len: usize, start: u32, count: u32) -> bool {
        let size = self.sector();
        let whole = start.is_multiple_of(size) && count.is_multiple_of(size);
        let in_block = len <= LARGEST && u64::from(start) + u64::from(count) <= len as u64;
        whole
            && (size..=self.most).contains(&count)
            && in_block
            && self.has(sector, u64::from(count / size))
    }

    /// Whether these sectors are there.
    #[inline]
    #[must_use]
    pub fn has(&self, sector: u64, sectors: u64) -> bool {
        let end = sector.checked_add(sectors);
        sectors > 0 && end.is_some_and(|e| e <= self.sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 1 << 16;

    fn disk(shift: u32) -> Geometry {
        Geometry {
            sectors: 100,
            shift,
            most: 1 << 15,
            read_only: false,
            flushes: true,
            discards: true,
        }
    }

    #[test]
    fn a_request_lies_on_the_disk() {
        for shift in [9, 12] {
            let disk = disk(shift);
            let size = disk.sector();
            assert!(disk.holds(0, BLOCK, 0, size));
            assert!(disk.holds(99, BLOCK, 0, size));
            assert!(disk.holds(98, BLOCK, 0, 2 * size));
            assert!(!disk.holds(99, BLOCK, 0, 2 * size));
            assert!(!disk.holds(100, BLOCK, 0, size));
            assert!(!disk.holds(u64::MAX, BLOCK, 0, size));
        }
    }

    #[test]
    fn a_request_is_of_whole_sectors_and_not_too_large() {
        let disk = disk(12);
        assert!(disk.holds(0, BLOCK, 4096, 4096));
        for (start, count) in [(512, 4096), (0, 512), (0, 4097), (0, 0)] {
            assert!(!disk.holds(0, BLOCK, start, count), "{start}, {count}");
        }
        assert!(disk.holds(0, BLOCK, 0, 1 << 15));
        assert!(!disk.holds(0, BLOCK, 0, (1 << 15) + 4096));
    }

    #[test]
    fn a_request_lies_in_its_block() {
        let disk = disk(9);
        let end = BLOCK as u32;
        assert!(disk.holds(0, BLOCK, end - 512, 512));
        assert!(!disk.holds(0, BLOCK, end - 512, 1024));
        assert!(!disk.holds(0, BLOCK - 1, end - 512, 512));
        // The sum does not fit 32 bits.
        assert!(!disk.holds(0, BLOCK, u32::MAX - 511, 512));
        assert!(disk.holds(0, LARGEST, 0, 512));
        assert!(!disk.holds(0, LARGEST + 1, 0, 512));
    }

    #[test]
    fn sectors_are_there_only_if_all_are() {
        let disk = disk(9);
        assert!(disk.has(0, 100) && disk.has(99, 1));
        assert!(!disk.has(0, 101) && !disk.has(100, 1) && !disk.has(5, 0));
        assert!(!disk.has(1, u64::MAX) && !disk.has(u64::MAX, 1));
    }
}
