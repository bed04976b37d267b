//! Tables of references, for the `table.*` instructions.
//!
//! Invariants:
//! - The record that compiled code reads stands first; its `base` points to at least `len` elements
//!   at all times, and a base that was published once stays readable while the table lives. Code
//!   that loads `len` before `base` therefore never reads outside, even while another processor
//!   grows the table.
//! - Elements are 64-bit cells that are read and written whole.

use crate::{Charged, NoRoom, Payer, Trap};
use core::cell::UnsafeCell;
use core::mem::offset_of;
use core::slice;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use sing_abi::ctx::{TABLE_DEF_BASE, TABLE_DEF_LEN};
use sing_image::meta::{Limits, TableType};

/// A table of references.
#[repr(C)]
pub struct Table {
    base: AtomicU64,
    len: AtomicU32,
    locked: AtomicBool,
    ty: TableType,
    /// The most elements that the table can have, by its type and its instance.
    cap: u32,
    /// The payer of the elements.
    payer: &'static dyn Payer,
    /// Guarded by `locked`.
    storage: UnsafeCell<Storage>,
}

/// The memory of a table's elements: the newest, and older ones, kept for concurrent readers.
struct Storage {
    newest: Charged<AtomicU64>,
    retired: Charged<Charged<AtomicU64>>,
}

const _: () = {
    assert!(offset_of!(Table, base) == TABLE_DEF_BASE as usize);
    assert!(offset_of!(Table, len) == TABLE_DEF_LEN as usize);
};

// SAFETY: all fields are atomic or never change, but `storage`, which only the holder of `locked`
// touches.
unsafe impl Sync for Table {}
// SAFETY: a table owns what it points to and is bound to no thread.
unsafe impl Send for Table {}

impl Table {
    /// Makes a table with these elements, for which `payer` pays. It never has more than `cap` of
    /// them, whatever its type allows.
    ///
    /// # Errors
    /// Where the payer or the heap has no room for them.
    #[cfg(any(test, feature = "open"))]
    pub(crate) fn new(
        ty: TableType,
        cap: u32,
        elements: &[u64],
        payer: &'static dyn Payer,
    ) -> Result<Table, NoRoom> {
        let mut table = Table::empty(ty, cap, payer);
        table.begin(elements)?;
        Ok(table)
    }

    /// The same without elements: [`Table::begin`] follows, when it has its place.
    #[inline]
    pub(crate) fn empty(ty: TableType, cap: u32, payer: &'static dyn Payer) -> Table {
        let newest = Charged::new();
        Table {
            base: AtomicU64::new(newest.as_ptr() as u64),
            len: AtomicU32::new(0),
            locked: AtomicBool::new(false),
            cap: ty.limits.max.unwrap_or(u64::MAX).min(cap.into()) as u32,
            ty,
            payer,
            storage: UnsafeCell::new(Storage {
                newest,
                retired: Charged::new(),
            }),
        }
    }

    /// Gives it its first elements, before anybody reaches it.
    ///
    /// # Errors
    /// Where the payer or the heap has no room for them.
    pub(crate) fn begin(&mut self, elements: &[u64]) -> Result<(), NoRoom> {
        let cell = |i: usize| AtomicU64::new(elements[i]);
        let newest = Charged::from_fn(elements.len(), self.payer, cell)?;
        *self.base.get_mut() = newest.as_ptr() as u64;
        *self.len.get_mut() = elements.len() as u32;
        self.storage.get_mut().newest = newest;
        Ok(())
    }

    /// Returns the address of the record, for a context record.
    #[inline]
    #[must_use]
    pub fn address(&self) -> u64 {
        (&raw const *self) as u64
    }

    /// Returns the table's type, with the present size as the minimum.
    #[must_use]
    pub fn ty(&self) -> TableType {
        let limits = Limits {
            min: self.len().into(),
            max: self.ty.limits.max,
        };
        TableType { limits, ..self.ty }
    }

    /// Returns the number of elements.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len.load(Acquire)
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn elements(&self) -> &[AtomicU64] {
        let len = self.len();
        let base = self.base.load(Acquire) as *const AtomicU64;
        // SAFETY: `len` was loaded first, so `base` points to at least as many elements, which live
        // as long as the table does.
        unsafe { slice::from_raw_parts(base, len as usize) }
    }

    fn range(&self, start: u32, len: u32) -> Result<&[AtomicU64], Trap> {
        let start = start as usize;
        self.elements()
            .get(start..start + len as usize)
            .ok_or(Trap::TableOutOfBounds)
    }

    /// `table.get`: returns an element.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<u64> {
        Some(self.elements().get(index as usize)?.load(Relaxed))
    }

    /// `table.grow`: returns the old size, or -1 if there is no room.
    pub(crate) fn grow(&self, init: u64, delta: u32) -> i32 {
        self.locked(|storage| {
            let old = self.len();
            let Some(new) = old.checked_add(delta).filter(|n| *n <= self.cap) else {
                return -1;
            };
            if new as usize > storage.newest.len() && !self.make_room(storage, old, new) {
                return -1;
            }
            for e in &storage.newest[old as usize..new as usize] {
                e.store(init, Relaxed);
            }
            self.len.store(new, Release);
            old as i32
        })
    }

    /// Moves the elements to memory with room for `new` of them. Returns false if memory or the
    /// payer's budget is short.
    fn make_room(&self, storage: &mut Storage, old: u32, new: u32) -> bool {
        if storage.retired.reserve_one(self.payer).is_err() {
            return false;
        }
        let newest = &storage.newest[..old as usize];
        let cell = |i: usize| AtomicU64::new(newest.get(i).map_or(0, |e| e.load(Relaxed)));
        // Doubling keeps all retired memory together below twice the newest.
        let room = old.saturating_mul(2).min(self.cap).max(new);
        let made = Charged::from_fn(room as usize, self.payer, cell)
            .or_else(|NoRoom| Charged::from_fn(new as usize, self.payer, cell));
        let Ok(cells) = made else {
            return false;
        };
        self.base.store(cells.as_ptr() as u64, Release);
        let old = core::mem::replace(&mut storage.newest, cells);
        storage.retired.push(old, self.payer).is_ok()
    }

    /// Returns the bytes of kernel memory that hold the elements.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.locked(|s| {
            s.newest.bytes() + s.retired.bytes() + s.retired.iter().map(Charged::bytes).sum::<u64>()
        })
    }

    /// `table.fill`.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`]; nothing is written then.
    pub(crate) fn fill(&self, start: u32, value: u64, len: u32) -> Result<(), Trap> {
        for e in self.range(start, len)? {
            e.store(value, Relaxed);
        }
        Ok(())
    }

    /// `table.copy`, within one table or from another; the ranges may overlap.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`]; nothing is written then.
    pub(crate) fn copy(
        &self,
        from: &Table,
        destination: u32,
        source: u32,
        len: u32,
    ) -> Result<(), Trap> {
        let from = from.range(source, len)?;
        let to = self.range(destination, len)?;
        let pairs = to.iter().zip(from);
        let copy = |(to, from): (&AtomicU64, &AtomicU64)| to.store(from.load(Relaxed), Relaxed);
        if destination <= source {
            pairs.for_each(copy)
        } else {
            pairs.rev().for_each(copy)
        }
        Ok(())
    }

    /// `table.init`, from the elements of a segment.
    ///
    /// # Errors
    /// [`Trap::TableOutOfBounds`], for the segment as for the table; nothing is written then.
    pub(crate) fn init(
        &self,
        segment: &[u64],
        destination: u32,
        source: u32,
        len: u32,
    ) -> Result<(), Trap> {
        let from = source as usize;
        let items = segment
            .get(from..from + len as usize)
            .ok_or(Trap::TableOutOfBounds)?;
        for (to, item) in self.range(destination, len)?.iter().zip(items) {
            to.store(*item, Relaxed);
        }
        Ok(())
    }

    /// Runs `f` with exclusive access to the storage. The kernel does not pre-empt itself, so a
    /// wait is for a few steps of another processor.
    fn locked<R>(&self, f: impl FnOnce(&mut Storage) -> R) -> R {
        while self
            .locked
            .compare_exchange_weak(false, true, Acquire, Relaxed)
            .is_err()
        {
            core::hint::spin_loop();
        }
        // SAFETY: `locked` was false and is now true by this call alone, until the store below.
        let result = f(unsafe { &mut *self.storage.get() });
        self.locked.store(false, Release);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use sing_image::meta::ValType;

    fn table(max: Option<u64>, elements: &[u64]) -> Table {
        let limits = Limits {
            min: elements.len() as u64,
            max,
        };
        Table::new(
            TableType {
                element: ValType::FuncRef,
                limits,
                index64: false,
            },
            1000,
            elements,
            &crate::Kernel,
        )
        .unwrap()
    }

    fn all(t: &Table) -> Vec<u64> {
        (0..t.len()).map(|i| t.get(i).unwrap()).collect()
    }

    #[test]
    fn grows_to_its_limit_and_keeps_what_it_had() {
        let t = table(Some(10), &[1, 2, 3]);
        assert_eq!(t.grow(7, 0), 3);
        assert_eq!(t.grow(7, 2), 3);
        assert_eq!(all(&t), [1, 2, 3, 7, 7]);
        assert_eq!(t.grow(8, 5), 5);
        assert_eq!(t.grow(8, 1), -1);
        assert_eq!(t.grow(8, u32::MAX), -1);
        assert_eq!(t.grow(8, 0), 10);
        assert_eq!(all(&t), [1, 2, 3, 7, 7, 8, 8, 8, 8, 8]);
        assert_eq!(
            t.ty().limits,
            Limits {
                min: 10,
                max: Some(10)
            }
        );
    }

    #[test]
    fn grows_from_nothing_and_never_over_the_cap() {
        let t = table(None, &[]);
        assert_eq!(t.get(0), None);
        assert_eq!(t.grow(5, 1000), 0);
        assert_eq!(t.grow(5, 1), -1);
        assert_eq!(t.get(999), Some(5));
        assert_eq!(t.get(1000), None);
    }

    #[test]
    fn an_old_base_stays_readable() {
        let t = table(None, &[1, 2]);
        let old = t.base.load(Relaxed) as *const u64;
        for _ in 0..6 {
            t.grow(9, 60);
        }
        assert_ne!(t.base.load(Relaxed), old as u64);
        // SAFETY: the test is about this: a published base stays readable while the table lives.
        assert_eq!(unsafe { (old.read(), old.add(1).read()) }, (1, 2));
        assert!(t.bytes() <= 8 * 3 * 362 + 1000, "{}", t.bytes());
    }

    #[test]
    fn bulk_operations_test_both_ends_before_they_write() {
        let t = table(None, &[1, 2, 3, 4, 5]);
        assert_eq!(t.copy(&t, 1, 0, 4), Ok(()));
        assert_eq!(all(&t), [1, 1, 2, 3, 4]);
        assert_eq!(t.copy(&t, 0, 1, 4), Ok(()));
        assert_eq!(all(&t), [1, 2, 3, 4, 4]);
        for (d, s, n) in [
            (2, 0, 4),
            (0, 2, 4),
            (6, 0, 0),
            (0, 6, 0),
            (u32::MAX, 0, 1),
            (0, u32::MAX, u32::MAX),
        ] {
            assert_eq!(
                t.copy(&t, d, s, n),
                Err(Trap::TableOutOfBounds),
                "{d} {s} {n}"
            );
            assert_eq!(
                t.init(&[0; 5], d, s, n),
                Err(Trap::TableOutOfBounds),
                "{d} {s} {n}"
            );
        }
        assert_eq!(t.copy(&t, 5, 5, 0), Ok(()));
        assert_eq!(t.fill(5, 9, 0), Ok(()));
        assert_eq!(t.fill(4, 9, 2), Err(Trap::TableOutOfBounds));
        assert_eq!(all(&t), [1, 2, 3, 4, 4]);
        assert_eq!(t.init(&[6, 7, 8], 3, 1, 2), Ok(()));
        assert_eq!(all(&t), [1, 2, 3, 7, 8]);
        assert_eq!(t.init(&[], 0, 0, 1), Err(Trap::TableOutOfBounds));
        let other = table(None, &[9, 9]);
        assert_eq!(other.copy(&t, 0, 3, 2), Ok(()));
        assert_eq!(all(&other), [7, 8]);
    }
}
