//! A thread's table of exchange-heap allocations, in the form that inlined accesses read
//! ([`sing_abi::xheap`]).
//!
//! Invariants:
//! - The number of entries is a power of two; an entry that holds nothing has key, `len` and `wlen` 0, so
//!   that no access through it can succeed, not even with the handle 0.
//! - A handle is the slot's index below its generation, which goes up each time the slot is emptied. It is
//!   never 0 nor negative as an `i32`. A stale handle is refused until its slot has been used 32,767 times
//!   more; and even then it selects only what its own thread owns.
//! - Growing keeps every handle; [`XTable::base`] and [`XTable::mask`] change, and whoever inserts has to
//!   put them into the thread's context record ([`crate::CtxRef::set_xtab`]).

use alloc::vec::Vec;
use core::mem::offset_of;
use sing_abi::xheap::{
    ENTRY_ALLOC, ENTRY_BASE, ENTRY_KEY, ENTRY_LEN, ENTRY_SIZE, ENTRY_WLEN, INDEX_BITS, INDEX_MASK,
    MAX_ENTRIES,
};

/// One entry as compiled code reads it, and behind that what the table itself keeps.
#[repr(C, align(32))]
struct Slot {
    base: u64,
    len: u32,
    wlen: u32,
    key: u32,
    alloc: u32,
    /// The handle that the next allocation in this slot gets.
    next_handle: u32,
    /// The next free slot, where this one is free.
    next_free: u32,
}

const _: () = {
    assert!(size_of::<Slot>() == ENTRY_SIZE as usize);
    assert!(offset_of!(Slot, base) == ENTRY_BASE as usize);
    assert!(offset_of!(Slot, len) == ENTRY_LEN as usize);
    assert!(offset_of!(Slot, wlen) == ENTRY_WLEN as usize);
    assert!(offset_of!(Slot, key) == ENTRY_KEY as usize);
    assert!(offset_of!(Slot, alloc) == ENTRY_ALLOC as usize);
};

/// What threads without allocations have for a table. Never written: nothing can be stored through it.
static EMPTY: Slot = Slot::free(0, NONE);

/// No slot.
const NONE: u32 = u32::MAX;
/// Entries of a table that has its first allocation.
const FIRST: usize = 16;
/// What a generation adds to a handle.
const GENERATION: u32 = 1 << INDEX_BITS;

impl Slot {
    const fn free(index: u32, next_free: u32) -> Slot {
        Slot {
            base: 0,
            len: 0,
            wlen: 0,
            key: 0,
            alloc: 0,
            next_handle: GENERATION | index,
            next_free,
        }
    }

    #[inline]
    fn entry(&self) -> Entry {
        let Slot {
            base,
            len,
            wlen,
            key,
            alloc,
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

/// What a handle selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The handle.
    pub handle: u32,
    /// The kernel's index of the allocation record.
    pub alloc: u32,
    /// Address of the first byte.
    pub base: u64,
    /// Bytes that may be read.
    pub len: u32,
    /// Bytes that may be written.
    pub wlen: u32,
}

/// A thread's table of the allocations it owns.
pub struct XTable {
    slots: Vec<Slot>,
    /// Address of the first slot, or of [`EMPTY`].
    base: u64,
    mask: u32,
    /// First free slot, or [`NONE`].
    free: u32,
    live: u32,
}

impl Default for XTable {
    fn default() -> Self {
        XTable::new()
    }
}

impl XTable {
    /// A table without entries. Allocates nothing.
    #[inline]
    #[must_use]
    pub fn new() -> XTable {
        let base = (&raw const EMPTY) as u64;
        XTable {
            slots: Vec::new(),
            base,
            mask: 0,
            free: NONE,
            live: 0,
        }
    }

    /// Address of the first entry, for the context record.
    #[inline]
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Number of entries less one, for the context record.
    #[inline]
    #[must_use]
    pub fn mask(&self) -> u32 {
        self.mask
    }

    /// Number of allocations in the table.
    #[inline]
    #[must_use]
    pub fn live(&self) -> u32 {
        self.live
    }

    /// Bytes of kernel memory that the table takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.slots.capacity() as u64 * ENTRY_SIZE
    }

    /// Enters an allocation; its handle. `None` where the table has `MAX_ENTRIES` or the kernel no room.
    ///
    /// [`XTable::base`] and [`XTable::mask`] may have changed afterwards.
    #[inline]
    pub fn insert(&mut self, alloc: u32, base: u64, len: u32, wlen: u32) -> Option<u32> {
        if self.free == NONE && !self.grow() {
            return None;
        }
        let slot = self.slots.get_mut(self.free as usize)?;
        self.free = slot.next_free;
        let handle = slot.next_handle;
        slot.base = base;
        slot.len = len;
        slot.wlen = wlen;
        slot.alloc = alloc;
        slot.key = handle;
        self.live += 1;
        Some(handle)
    }

    /// What the handle selects; `None` where it is forged, stale or another thread's.
    #[inline]
    #[must_use]
    pub fn get(&self, handle: u32) -> Option<Entry> {
        let slot = self.slots.get((handle & self.mask & INDEX_MASK) as usize)?;
        (slot.key == handle && handle != 0).then(|| slot.entry())
    }

    /// Changes what may be reached through a handle; false where it selects nothing.
    #[inline]
    pub fn set(&mut self, handle: u32, base: u64, len: u32, wlen: u32) -> bool {
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

    /// Takes an allocation out; `None` where the handle is forged, stale or another thread's.
    #[inline]
    pub fn remove(&mut self, handle: u32) -> Option<Entry> {
        let index = handle & self.mask & INDEX_MASK;
        let slot = self.slots.get_mut(index as usize)?;
        if slot.key != handle || handle == 0 {
            return None;
        }
        let entry = slot.entry();
        // A handle is positive as an `i32`, for kernel calls return it where a status could stand.
        let next = handle.wrapping_add(GENERATION) & i32::MAX as u32;
        // Generation 0 is left out: with it, the handle of slot 0 would be 0.
        let next = if next < GENERATION {
            next + GENERATION
        } else {
            next
        };
        *slot = Slot {
            next_handle: next,
            ..Slot::free(index, self.free)
        };
        self.free = index;
        self.live -= 1;
        Some(entry)
    }

    /// Takes some allocation out of a table that nobody uses any more, and forgets its slot; its record's index.
    pub fn pop(&mut self) -> Option<u32> {
        self.free = NONE;
        while let Some(slot) = self.slots.pop() {
            if slot.key != 0 {
                self.live -= 1;
                return Some(slot.alloc);
            }
        }
        None
    }

    /// Every allocation in the table.
    pub fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        self.slots.iter().filter(|s| s.key != 0).map(Slot::entry)
    }

    /// Doubles the table; false where it must not or cannot.
    #[cold]
    fn grow(&mut self) -> bool {
        let old = self.slots.len();
        let new = (old * 2).max(FIRST);
        if new > MAX_ENTRIES || self.slots.try_reserve_exact(new - old).is_err() {
            return false;
        }
        for index in old..new {
            let next = if index + 1 < new {
                (index + 1) as u32
            } else {
                self.free
            };
            self.slots.push(Slot::free(index as u32, next));
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
    use alloc::collections::BTreeSet;

    #[test]
    fn an_empty_table_gives_nothing_to_any_handle() {
        let mut t = XTable::new();
        assert_eq!(t.mask(), 0);
        for h in [0, 1, GENERATION, u32::MAX] {
            assert_eq!(t.get(h), None);
            assert_eq!(t.remove(h), None);
            assert!(!t.set(h, 1, 1, 1));
        }
        // What compiled code would read through the handle 0.
        // SAFETY: the base of an empty table is the static entry.
        let e = unsafe { &*(t.base() as *const Slot) };
        assert_eq!((e.key, e.len, e.wlen), (0, 0, 0));
    }

    #[test]
    fn handles_are_never_zero_and_never_come_back_soon() {
        let mut t = XTable::new();
        let mut seen = BTreeSet::new();
        for i in 0..32_767 {
            let h = t.insert(i, 0x1000, 8, 8).unwrap();
            assert!(h != 0 && seen.insert(h), "handle {h:#x} twice");
            assert_eq!(t.remove(h).map(|e| e.alloc), Some(i));
            assert_eq!(t.get(h), None, "stale");
            assert_eq!(t.remove(h), None, "removed twice");
        }
        assert_eq!(t.live(), 0);
        assert_ne!(t.insert(0, 0, 0, 0), Some(0));
    }

    #[test]
    fn growing_keeps_handles_and_their_places() {
        let mut t = XTable::new();
        let handles: Vec<u32> = (0..1000)
            .map(|i| t.insert(i, u64::from(i), i, 0).unwrap())
            .collect();
        assert_eq!(t.mask(), 1023);
        for (i, h) in handles.iter().enumerate() {
            let i = i as u32;
            let e = Entry {
                handle: *h,
                alloc: i,
                base: u64::from(i),
                len: i,
                wlen: 0,
            };
            assert_eq!(t.get(*h), Some(e));
            let at = t.base() + u64::from(h & t.mask() & INDEX_MASK) * ENTRY_SIZE;
            // SAFETY: this is the address that compiled code computes; the table has that many entries.
            let key = unsafe { ((at + ENTRY_KEY as u64) as *const u32).read() };
            assert_eq!(key, *h);
        }
        assert_eq!(t.iter().count(), 1000);
        assert!(t.set(handles[7], 1, 2, 3));
        assert_eq!(
            t.get(handles[7]).map(|e| (e.base, e.len, e.wlen)),
            Some((1, 2, 3))
        );
    }

    #[test]
    fn forged_handles_miss() {
        let mut t = XTable::new();
        let h = t.insert(5, 0x1000, 8, 8).unwrap();
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
            .map(|i| t.insert(i as u32, 0, 1, 1).unwrap())
            .collect();
        assert_eq!(t.insert(0, 0, 1, 1), None);
        assert_eq!(t.remove(handles[3]).map(|e| e.alloc), Some(3));
        let again = t.insert(9, 0, 1, 1).unwrap();
        assert_ne!(again, handles[3]);
        assert_eq!(again & INDEX_MASK, handles[3] & INDEX_MASK);
        assert_eq!(t.insert(0, 0, 1, 1), None);
        assert_eq!(t.live() as usize, MAX_ENTRIES);
    }
}
