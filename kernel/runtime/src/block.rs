//! Bytes of the exchange heap, as an allocation has them.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bytes of the exchange heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    base: u64,
    len: u32,
}

impl Block {
    /// No bytes.
    pub const EMPTY: Block = Block { base: 0, len: 0 };

    /// `len` bytes at `base`.
    ///
    /// # Safety
    /// They can be read and written, no Rust object lies there, and they stay so for as long as an allocation that refers
    /// to them exists.
    #[inline]
    #[must_use]
    pub const unsafe fn new(base: u64, len: u32) -> Block {
        Block { base, len }
    }

    /// Address of the first byte.
    #[inline]
    #[must_use]
    pub fn base(self) -> u64 {
        self.base
    }

    /// Number of bytes.
    #[inline]
    #[must_use]
    pub fn len(self) -> u32 {
        self.len
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The bytes from `start` to `end`; `None` where they do not all lie in it.
    #[inline]
    #[must_use]
    pub fn part(self, start: u32, end: u32) -> Option<Block> {
        (start <= end && end <= self.len).then(|| Block {
            base: self.base + u64::from(start),
            len: end - start,
        })
    }

    /// These bytes and those of `next`; `None` where that does not begin where these end.
    #[must_use]
    pub fn joined(self, next: Block) -> Option<Block> {
        let len = self.len.checked_add(next.len)?;
        (self.base + u64::from(self.len) == next.base).then_some(Block {
            base: self.base,
            len,
        })
    }

    /// What an entry of a table holds: the address, what may be read, and what may be written.
    #[inline]
    pub(crate) fn parts(self, writable: bool) -> (u64, u32, u32) {
        (self.base, self.len, if writable { self.len } else { 0 })
    }
}

/// Where a record keeps a block, and whether it may only be read. One thread of the machine changes it: it is not read
/// halfway through.
#[derive(Debug, Default)]
pub struct BlockCell {
    base: AtomicU64,
    len: AtomicU32,
    read_only: AtomicBool,
}

impl BlockCell {
    /// The block.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> Block {
        Block {
            base: self.base.load(Relaxed),
            len: self.len.load(Relaxed),
        }
    }

    /// Whether nothing can be written through it.
    #[inline(always)]
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only.load(Relaxed)
    }

    /// Says so, or the contrary.
    #[inline(always)]
    pub fn set_read_only(&self, read_only: bool) {
        self.read_only.store(read_only, Relaxed);
    }

    /// Keeps another one.
    #[inline(always)]
    pub fn set(&self, block: Block) {
        self.base.store(block.base, Relaxed);
        self.len.store(block.len, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_inside_and_join_again() {
        // SAFETY: nothing is done with it.
        let whole = unsafe { Block::new(0x1000, 100) };
        let (a, b) = (whole.part(0, 40).unwrap(), whole.part(40, 100).unwrap());
        assert_eq!((b.base(), b.len()), (0x1028, 60));
        assert_eq!(a.joined(b), Some(whole));
        assert_eq!(b.joined(a), None);
        assert_eq!(a.joined(a), None);
        assert_eq!(whole.part(40, 101), None);
        assert_eq!(whole.part(41, 40), None);
        assert_eq!(whole.part(u32::MAX, u32::MAX), None);
        assert!(whole.part(100, 100).unwrap().is_empty());
        let cell = BlockCell::default();
        assert_eq!(cell.get(), Block::EMPTY);
        cell.set(b);
        assert_eq!(cell.get(), b);
    }
}
