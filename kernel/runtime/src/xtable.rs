//! A thread's table of exchange-heap allocations, in the form that inlined accesses read
//! ([`sing_abi::xheap`]).
//!
//! Invariants:
//! - The number of entries is a power of two; a free entry has key, `len` and `wlen` 0, so that no
//!   access through it can succeed, not even with the handle 0.
//! - A handle is the slot's index below its generation, which goes up each time the slot is
//!   emptied. It is never 0 nor negative as an `i32`. A stale handle is refused until its slot has
//!   been used 32,767 times more; and even then it selects only an allocation of its own thread.
//! - Growing keeps every handle; the table's address and mask change. A table belongs to the
//!   context that shows it to compiled code ([`crate::Context`]), and only that changes it.
//! - An entry gives access only to a [`Block`] that was passed in, never to a mere number.

use crate::{Block, Charged, Payer, SipMemory};
use sing_abi::xheap::{ENTRY_SIZE, INDEX_BITS, INDEX_MASK, MAX_ENTRIES};

/// An entry. The kernel knows the allocation by the index of its record.
type Slot = crate::slot::Slot<u64, u32, Own>;

/// What only the table uses of an entry.
struct Own {
    /// The handle of the next allocation in this slot.
    next_handle: u32,
    /// The next free slot, if this one is free.
    next_free: u32,
}

const _: () = assert!(size_of::<Slot>() == ENTRY_SIZE as usize);

/// The table of threads without allocations. Its lengths are 0, so nothing can be stored through
/// it.
static EMPTY: Slot = Slot::free(0, NONE);

/// Index of no slot.
const NONE: u32 = u32::MAX;
/// Entries of the first allocated table.
const FIRST: usize = 16;
/// Increment of a handle's generation.
const GENERATION: u32 = 1 << INDEX_BITS;

impl Slot {
    const fn free(index: u32, next_free: u32) -> Slot {
        Slot {
            base: 0,
            len: 0,
            wlen: 0,
            key: 0,
            record: 0,
            own: Own {
                next_handle: GENERATION | index,
                next_free,
            },
        }
    }

    #[inline]
    fn entry(&self) -> Entry {
        let Slot {
            base,
            len,
            wlen,
            key,
            record: alloc,
            ..
        } = *self;
        Entry {
            handle: key,
            alloc,
            base,
            len,
            wlen,
        }
    }
}

/// The entry that a handle selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    handle: u32,
    alloc: u32,
    base: u64,
    len: u32,
    wlen: u32,
}

impl Entry {
    /// Returns the handle.
    #[inline]
    #[must_use]
    pub fn handle(&self) -> u32 {
        self.handle
    }

    /// Returns the kernel's index of the allocation record.
    #[inline]
    #[must_use]
    pub fn alloc(&self) -> u32 {
        self.alloc
    }

    /// Returns the number of readable bytes.
    #[inline]
    #[must_use]
    pub fn readable_len(&self) -> u32 {
        self.len
    }

    /// Returns the number of writable bytes.
    #[inline]
    #[must_use]
    pub fn writable_len(&self) -> u32 {
        self.wlen
    }

    /// Returns a window on the readable bytes.
    #[inline]
    #[must_use]
    pub fn readable(&self) -> SipMemory {
        self.window(self.len)
    }

    /// Returns a window on the writable bytes.
    #[inline]
    #[must_use]
    pub fn writable(&self) -> SipMemory {
        self.window(self.wlen)
    }

    #[inline]
    fn window(&self, len: u32) -> SipMemory {
        // SAFETY: only the table makes entries, out of blocks that stay accessible while an
        // allocation refers to them; `len` is not more than the block's. A window stays with its
        // thread.
        unsafe { SipMemory::new(self.base, u64::from(len)) }
    }
}

/// A thread's table of the allocations it owns.
pub struct XTable {
    slots: Charged<Slot>,
    /// Address of the first slot, or of [`EMPTY`].
    base: u64,
    mask: u32,
    /// The first free slot, or [`NONE`].
    free: u32,
    live: u32,
}

impl XTable {
    /// Makes a table without entries. Allocates nothing.
    #[inline]
    #[must_use]
    pub(crate) fn new() -> XTable {
        let base = (&raw const EMPTY) as u64;
        XTable {
            slots: Charged::new(),
            base,
            mask: 0,
            free: NONE,
            live: 0,
        }
    }

    /// Returns the address of the first entry, for the context record.
    #[inline]
    #[must_use]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Returns the number of entries less one, for the context record.
    #[inline]
    #[must_use]
    pub(crate) fn mask(&self) -> u32 {
        self.mask
    }

    /// Returns the number of allocations in the table.
    #[inline]
    #[must_use]
    pub fn live(&self) -> u32 {
        self.live
    }

    /// Returns the bytes of kernel memory that the table takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.slots.bytes()
    }

    /// Enters an allocation, readable as a whole, and writable as a whole or not at all; returns
    /// its handle. `None` if the table is full: see [`XTable::grow`].
    #[inline]
    pub(crate) fn insert(&mut self, alloc: u32, block: Block, writable: bool) -> Option<u32> {
        let (base, len, wlen) = block.parts(writable);
        let slot = self.slots.get_mut(self.free as usize)?;
        self.free = slot.own.next_free;
        let handle = slot.own.next_handle;
        slot.base = base;
        slot.len = len;
        slot.wlen = wlen;
        slot.record = alloc;
        slot.key = handle;
        self.live += 1;
        Some(handle)
    }

    /// Returns the entry that the handle selects; `None` if it is forged, stale or another
    /// thread's.
    #[inline]
    #[must_use]
    pub fn get(&self, handle: u32) -> Option<Entry> {
        let slot = self.slots.get((handle & self.mask & INDEX_MASK) as usize)?;
        (slot.key == handle && handle != 0).then(|| slot.entry())
    }

    /// Changes the block that a handle gives access to. Returns false if the handle selects
    /// nothing.
    #[inline]
    pub(crate) fn set(&mut self, handle: u32, block: Block, writable: bool) -> bool {
        let (base, len, wlen) = block.parts(writable);
        let Some(slot) = self
            .slots
            .get_mut((handle & self.mask & INDEX_MASK) as usize)
        else {
            return false;
        };
        if slot.key != handle || handle == 0 {
            return false;
        }
        slot.base = base;
        slot.len = len;
        slot.wlen = wlen;
        true
    }

    /// Removes an allocation; `None` if the handle is forged, stale or another thread's.
    #[inline]
    pub(crate) fn remove(&mut self, handle: u32) -> Option<Entry> {
        let index = handle & self.mask & INDEX_MASK;
        let slot = self.slots.get_mut(index as usize)?;
        if slot.key != handle || handle == 0 {
            return None;
        }
        let entry = slot.entry();
        // Handles must be positive as an `i32`: kernel calls return them in place of a status.
        let next = handle.wrapping_add(GENERATION) & i32::MAX as u32;
        // Generation 0 is skipped: with it, the handle of slot 0 would be 0.
        let next = if next < GENERATION {
            next + GENERATION
        } else {
            next
        };
        *slot = Slot::free(index, self.free);
        slot.own.next_handle = next;
        self.free = index;
        self.live -= 1;
        Some(entry)
    }

    /// Removes some allocation of an abandoned table together with its slot; returns its record's
    /// index.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        self.free = NONE;
        while let Some(slot) = self.slots.pop() {
            if slot.key != 0 {
                self.live -= 1;
                return Some(slot.record);
            }
        }
        None
    }

    /// Returns every allocation in the table.
    pub fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        self.slots.iter().filter(|s| s.key != 0).map(Slot::entry)
    }

    /// Doubles a full table. Returns false if it has `MAX_ENTRIES`, or the kernel or the payer has
    /// no room. The caller must update the record that shows the table.
    pub(crate) fn grow(&mut self, payer: &'static dyn Payer) -> bool {
        let old = self.slots.len();
        let new = (old * 2).max(FIRST);
        if new > MAX_ENTRIES || self.slots.reserve_exact(new - old, payer).is_err() {
            return false;
        }
        for index in old..new {
            let next = if index + 1 < new {
                (index + 1) as u32
            } else {
                self.free
            };
            if self
                .slots
                .push(Slot::free(index as u32, next), payer)
                .is_err()
            {
                return false;
            }
        }
        self.free = old as u32;
        self.base = self.slots.as_ptr() as u64;
        self.mask = (new - 1) as u32;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernel;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use sing_abi::xheap::ENTRY_KEY;

    /// Makes a block that is never accessed.
    fn block(base: u64, len: u32) -> Block {
        // SAFETY: these tests never access the blocks that they enter.
        unsafe { Block::new(base, len) }
    }

    /// Inserts as the kernel does.
    fn insert(t: &mut XTable, alloc: u32, block: Block) -> Option<u32> {
        if let Some(handle) = t.insert(alloc, block, true) {
            return Some(handle);
        }
        t.grow(&Kernel).then(|| t.insert(alloc, block, true))?
    }

    #[test]
    fn an_empty_table_gives_nothing_to_any_handle() {
        let mut t = XTable::new();
        assert_eq!(t.mask(), 0);
        for h in [0, 1, GENERATION, u32::MAX] {
            assert_eq!(t.get(h), None);
            assert_eq!(t.remove(h), None);
            assert!(!t.set(h, block(1, 1), true));
        }
        // The read of compiled code through the handle 0.
        // SAFETY: the base of an empty table is the static entry.
        let e = unsafe { &*(t.base() as *const Slot) };
        assert_eq!((e.key, e.len, e.wlen), (0, 0, 0));
    }

    #[test]
    fn handles_are_never_zero_and_never_come_back_soon() {
        let mut t = XTable::new();
        let mut seen = BTreeSet::new();
        for i in 0..32_767 {
            let h = insert(&mut t, i, block(0x1000, 8)).unwrap();
            assert!(h != 0 && seen.insert(h), "handle {h:#x} twice");
            assert_eq!(t.remove(h).map(|e| e.alloc), Some(i));
            assert_eq!(t.get(h), None, "stale");
            assert_eq!(t.remove(h), None, "removed twice");
        }
        assert_eq!(t.live(), 0);
        assert_ne!(insert(&mut t, 0, block(0, 0)), Some(0));
    }

    #[test]
    fn growing_keeps_handles_and_their_places() {
        let mut t = XTable::new();
        let handles: Vec<u32> = (0..1000)
            .map(|i| insert(&mut t, i, block(u64::from(i), i)).unwrap())
            .collect();
        assert_eq!(t.mask(), 1023);
        for (i, h) in handles.iter().enumerate() {
            let i = i as u32;
            let e = Entry {
                handle: *h,
                alloc: i,
                base: u64::from(i),
                len: i,
                wlen: i,
            };
            assert_eq!(t.get(*h), Some(e));
            let at = t.base() + u64::from(h & t.mask() & INDEX_MASK) * ENTRY_SIZE;
            // SAFETY: this is the address that compiled code computes; the table has that many
            // entries.
            let key = unsafe { ((at + ENTRY_KEY as u64) as *const u32).read() };
            assert_eq!(key, *h);
        }
        assert_eq!(t.iter().count(), 1000);
        assert!(t.set(handles[7], block(1, 2), false));
        assert_eq!(
            t.get(handles[7]).map(|e| (e.base, e.len, e.wlen)),
            Some((1, 2, 0))
        );
    }

    #[test]
    fn forged_handles_miss() {
        let mut t = XTable::new();
        let h = insert(&mut t, 5, block(0x1000, 8)).unwrap();
        for forged in [
            h ^ 1,
            h + GENERATION,
            h | 0x10,
            h | 0x8000,
            h & INDEX_MASK,
            0,
        ] {
            assert_eq!(t.get(forged), None, "{forged:#x}");
        }
        // An index beyond the table selects a slot by its low bits, whose key then differs.
        assert_eq!(t.get(h + FIRST as u32), None);
    }

    #[test]
    fn the_largest_table_is_full_then_usable_again() {
        let mut t = XTable::new();
        let handles: Vec<u32> = (0..MAX_ENTRIES)
            .map(|i| insert(&mut t, i as u32, block(0, 1)).unwrap())
            .collect();
        assert_eq!(insert(&mut t, 0, block(0, 1)), None);
        assert_eq!(t.remove(handles[3]).map(|e| e.alloc), Some(3));
        let again = insert(&mut t, 9, block(0, 1)).unwrap();
        assert_ne!(again, handles[3]);
        assert_eq!(again & INDEX_MASK, handles[3] & INDEX_MASK);
        assert_eq!(insert(&mut t, 0, block(0, 1)), None);
        assert_eq!(t.live() as usize, MAX_ENTRIES);
    }
}
