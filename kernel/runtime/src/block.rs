//! Bytes of the exchange heap, as allocations refer to them.

use crate::SipMemory;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A range of bytes of the exchange heap.
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
    /// The bytes can be read and written and hold no Rust object, for as long as an allocation that
    /// refers to them exists.
    #[inline]
    #[must_use]
    pub const unsafe fn new(base: u64, len: u32) -> Block {
        Block { base, len }
    }

    /// Returns the address of the first byte.
    #[inline]
    #[must_use]
    pub fn base(self) -> u64 {
        self.base
    }

    /// Returns the number of bytes.
    #[inline]
    #[must_use]
    pub fn len(self) -> u32 {
        self.len
    }

    /// Whether the block has no bytes.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the bytes from `start` to `end`; `None` if not all of them lie in the block.
    #[inline]
    #[must_use]
    pub fn part(self, start: u32, end: u32) -> Option<Block> {
        (start <= end && end <= self.len).then(|| Block {
            base: self.base + u64::from(start),
            len: end - start,
        })
    }

    /// Joins two adjacent blocks; `None` if `next` does not begin at the end of this one.
    #[must_use]
    pub fn joined(self, next: Block) -> Option<Block> {
        let len = self.len.checked_add(next.len)?;
        (self.base + u64::from(self.len) == next.base).then_some(Block {
            base: self.base,
            len,
        })
    }

    /// Returns the fields of a table entry: the address, the readable length, and the writable
    /// length.
    #[inline]
    pub(crate) fn parts(self, writable: bool) -> (u64, u32, u32) {
        (self.base, self.len, if writable { self.len } else { 0 })
    }
}

/// A block in a record, and whether it is read-only. Only one thread of the machine changes it, so
/// no reader sees half a change.
#[derive(Debug, Default)]
pub struct BlockCell {
    base: AtomicU64,
    len: AtomicU32,
    read_only: AtomicBool,
}

impl BlockCell {
    /// Returns the block.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> Block {
        Block {
            base: self.base.load(Relaxed),
            len: self.len.load(Relaxed),
        }
    }

    /// Whether the block is read-only.
    #[inline(always)]
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only.load(Relaxed)
    }

    /// Sets whether the block is read-only.
    #[inline(always)]
    pub fn set_read_only(&self, read_only: bool) {
        self.read_only.store(read_only, Relaxed);
    }

    /// Returns a window on the block, for use as long as the record refers to it.
    #[must_use]
    pub fn window(&self) -> SipMemory {
        let block = self.get();
        // SAFETY: the bytes of a block can be read and written while an allocation refers to it
        // (`Block::new`), as the one does that this is a field of. A window stays with its thread.
        unsafe { SipMemory::new(block.base, u64::from(block.len)) }
    }

    /// Replaces the block.
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
        // SAFETY: the block is never accessed.
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
