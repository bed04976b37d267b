//! Type-stable stores of kernel objects: a record is found by its index, and its memory is never
//! used for anything else.
//!
//! A store has no limit of its own. Its records lie in segments, each twice as large as the one
//! before, so that a few additions lead from an index to an address however many records there are.
//! The addresses of a segment are reserved as a whole; memory is committed step by step, so a store
//! that cannot grow reports that, and changes nothing. The free records form a list through the
//! records themselves: giving one back needs no memory.
//!
//! The memory of free records goes back to the machine chunk by chunk ([`Slab::trim`], in
//! [`trim`]), when the kernel has time. Taking and giving a record know only one number of that.
//!
//! Invariants:
//! - A record below `fresh` whose mark is not [`ABSENT`] is a valid `T`. Its addresses are never
//!   used for anything else.
//! - A record's mark is [`USED`] exactly while the record is in use.
//! - Every free record from `passed` on is in the free list, and no other is.

mod trim;

use crate::lock::{Counter, SpinLock};
use alloc::vec::Vec;
use core::mem::{ManuallyDrop, offset_of};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Records of the first segment, as a power of two.
const FIRST: u32 = 8;
/// The most segments of a store: enough for every index.
const SEGMENTS: usize = 32;
/// The most bytes that a store commits at a time, unless a record is larger.
const STEP: usize = 64 << 10;
/// Size of a page: reserved and committed ranges are whole pages.
const PAGE: usize = 4096;
/// Index of no record.
const NONE: u32 = u32::MAX;

/// Mark of a record without memory: all bytes of such a record read as zero.
const ABSENT: u32 = 0;
/// Mark of a record in use.
const USED: u32 = 1;
/// Mark of a record that is free.
const FREE: u32 = 2;

/// Source of the stores' memory.
///
/// # Safety
/// `reserve` returns addresses aligned to a page that have no other owner, ever. If `commit`
/// returns `true`, the addresses can be read and written from then on, until `blank`. Blank and
/// newly committed memory reads as zero.
pub unsafe trait Ground: Sync {
    /// Reserves addresses. Returns `None` if there are none left.
    fn reserve(&self, bytes: u64) -> Option<u64>;
    /// Makes reserved addresses accessible. Returns false, and changes nothing, if memory is short.
    fn commit(&self, at: u64, bytes: u64) -> bool;
    /// Takes memory back: the addresses read as zero until they are committed again.
    fn blank(&self, at: u64, bytes: u64);
}

/// None: the heap, which allocates a segment as a whole (unit tests).
static GROUND: SpinLock<Option<&'static dyn Ground>> = SpinLock::new(None);
/// Bytes that all stores have committed.
static COMMITTED: AtomicU64 = AtomicU64::new(0);

/// Sets the source of the stores' memory. Called before the first record is taken.
pub fn set_ground(ground: &'static dyn Ground) {
    *GROUND.lock() = Some(ground);
}

/// Forgets the source, which has taken all memory back.
pub fn forget_ground() {
    *GROUND.lock() = None;
    COMMITTED.store(0, Ordering::Relaxed);
}

/// Returns the bytes that all stores have committed.
pub fn committed() -> u64 {
    COMMITTED.load(Ordering::Relaxed)
}

/// A record with the store's data about it.
#[repr(C)]
struct Slot<T> {
    value: T,
    /// The next free record, while this one is free.
    next: AtomicU32,
    /// [`ABSENT`], [`USED`] or [`FREE`].
    mark: AtomicU32,
}

/// Objects of one kind.
pub struct Slab<T: 'static> {
    segments: [AtomicPtr<Slot<T>>; SEGMENTS],
    /// Number of initialised records: those below this index have been in use.
    fresh: AtomicU32,
    live: AtomicU32,
    /// Records in chunks whose memory has been given back.
    absent: AtomicU32,
    seen: trim::Seen,
    free: SpinLock<Free>,
}

struct Free {
    /// The first free record, or [`NONE`].
    first: u32,
    /// A pass is under way that has yet to visit the records below; free ones there are in no list.
    /// 0: no pass.
    passed: u32,
    /// No chunk below this record is absent.
    whole: u32,
    /// Number of records that have had memory committed.
    ready: u32,
    /// Bytes accessible in the last segment.
    committed: usize,
}

/// Returns the segment of an index and its place there.
#[inline(always)]
fn place(index: u32) -> (usize, usize) {
    let n = index as usize + (1 << FIRST);
    let log = n.ilog2();
    ((log - FIRST) as usize % SEGMENTS, n - (1 << log))
}

/// Rounds up to whole pages. `None` if that overflows.
fn pages(bytes: Option<usize>) -> Option<usize> {
    bytes?.checked_next_multiple_of(PAGE)
}

impl<T: Default + Sync> Slab<T> {
    /// Bytes that a record takes.
    pub const RECORD: u64 = size_of::<Slot<T>>() as u64;
    /// Records of the first segment; each further one has twice as many as the one before.
    pub const FIRST_RECORDS: u64 = 1 << FIRST;
    /// The mark of a record in use.
    pub const MARK_OF_USED: u32 = USED;
    /// Bytes from a store to the addresses of its segments, for debuggers.
    pub const SEGMENTS_AT: usize = offset_of!(Slab<T>, segments);
    /// Bytes from a store to the number of its records, for debuggers.
    pub const FRESH_AT: usize = offset_of!(Slab<T>, fresh);
    /// Bytes from a record to its mark, for debuggers.
    pub const MARK_AT: usize = offset_of!(Slot<T>, mark);

    /// Makes an empty store.
    #[must_use]
    pub const fn new() -> Self {
        assert!(align_of::<Slot<T>>() <= PAGE);
        Slab {
            segments: [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS],
            fresh: AtomicU32::new(0),
            live: AtomicU32::new(0),
            absent: AtomicU32::new(0),
            seen: trim::Seen::new(),
            free: SpinLock::new(Free {
                first: NONE,
                passed: 0,
                whole: 0,
                ready: 0,
                committed: 0,
            }),
        }
    }

    /// Returns the number of records in use.
    pub fn live(&self) -> u32 {
        self.live.load(Ordering::Relaxed)
    }

    /// Returns the address of a record, initialised or not. Its segment must exist.
    #[inline(always)]
    fn at(&self, index: u32) -> *mut Slot<T> {
        let (segment, place) = place(index);
        let base = self.segments[segment].load(Ordering::Relaxed);
        base.wrapping_add(place)
    }

    #[inline(always)]
    fn slot(&self, index: u32) -> Option<&'static Slot<T>> {
        if index >= self.fresh.load(Ordering::Acquire) {
            return None;
        }
        let slot = self.at(index);
        // SAFETY: the record is below `fresh`, so its addresses can be read, even without memory.
        let mark = unsafe { (*slot).mark.load(Ordering::Relaxed) };
        // SAFETY: below `fresh` and not absent, so it is a valid record, and keeps its address.
        (mark != ABSENT).then(|| unsafe { &*slot })
    }

    /// Returns one more than the highest index of a record that was ever in use.
    pub fn end(&self) -> u32 {
        self.fresh.load(Ordering::Acquire)
    }

    /// Returns the record with this index, in use or not. `None` if it has no memory now.
    #[inline(always)]
    pub fn get(&self, index: u32) -> Option<&'static T> {
        self.slot(index).map(|s| &s.value)
    }

    /// Whether the record with this index is in use.
    pub fn is_live(&self, index: u32) -> bool {
        self.slot(index)
            .is_some_and(|s| s.mark.load(Ordering::Relaxed) == USED)
    }

    /// Whether this record is the one with this index, and in use. A free record may claim any
    /// index of itself.
    pub fn has(&self, index: u32, record: &T) -> bool {
        self.is_live(index) && self.get(index).is_some_and(|r| ptr::eq(r, record))
    }

    /// Takes a record into use, in the state in which its last user left it. Returns `None` if
    /// memory is short.
    #[inline]
    pub fn take(&self) -> Option<(u32, &'static T)> {
        self.take_from(|| *GROUND.lock())
    }

    #[inline(always)]
    fn take_from(
        &self,
        ground: impl FnOnce() -> Option<&'static dyn Ground>,
    ) -> Option<(u32, &'static T)> {
        let mut free = self.free.lock();
        let index = match free.first {
            NONE => self.find(&mut free, ground())?,
            index => index,
        };
        let slot = self.slot(index)?;
        free.first = slot.next.load(Ordering::Relaxed);
        slot.mark.store(USED, Ordering::Relaxed);
        drop(free);
        self.live.add(1);
        Some((index, &slot.value))
    }

    /// Finds a free record: by going on with a pass, by restoring an absent chunk, or by making a
    /// new record.
    #[cold]
    #[inline(never)]
    fn find(&self, free: &mut Free, ground: Option<&dyn Ground>) -> Option<u32> {
        self.pass_until_free(free, ground);
        if free.first == NONE {
            self.restore(free, ground);
        }
        match free.first {
            NONE => self.initialise(free, ground),
            first => Some(first),
        }
    }

    /// Initialises a record that has never been in use; returns its index.
    fn initialise(&self, free: &mut Free, ground: Option<&dyn Ground>) -> Option<u32> {
        let index = self.fresh.load(Ordering::Relaxed);
        if index == free.ready {
            self.extend(free, ground)?;
        }
        let slot = Slot {
            value: T::default(),
            next: AtomicU32::new(NONE),
            mark: AtomicU32::new(FREE),
        };
        // SAFETY: there is memory for the record, and no reference to it yet.
        unsafe { self.at(index).write(slot) };
        self.fresh.store(index + 1, Ordering::Release);
        Some(index)
    }

    /// Makes memory accessible for at least one more record.
    fn extend(&self, free: &mut Free, ground: Option<&dyn Ground>) -> Option<()> {
        let (segment, place) = place(free.ready);
        let count = 1usize << (segment + FIRST as usize);
        // The last index is `NONE`.
        let first = u32::try_from(count - (1 << FIRST)).ok()?;
        let size = pages(size_of::<Slot<T>>().checked_mul(count))?;
        if place == 0 && self.segments[segment].load(Ordering::Relaxed).is_null() {
            let at = match ground {
                Some(ground) => ground.reserve(size as u64)? as *mut Slot<T>,
                None => {
                    let mut records: Vec<Slot<T>> = Vec::new();
                    records.try_reserve_exact(count).ok()?;
                    ManuallyDrop::new(records).as_mut_ptr()
                }
            };
            self.segments[segment].store(at, Ordering::Release);
            free.committed = 0;
        }
        let at = self.segments[segment].load(Ordering::Relaxed) as u64 + free.committed as u64;
        let step = match ground {
            Some(_) => pages(Some(STEP.max(size_of::<Slot<T>>())))?.min(size - free.committed),
            None => size,
        };
        if ground.is_some_and(|g| !g.commit(at, step as u64)) {
            return None;
        }
        COMMITTED.add(step as u64);
        free.committed += step;
        let ready = (free.committed / size_of::<Slot<T>>()).min(count) as u32;
        free.ready = first.checked_add(ready).unwrap_or(NONE);
        Some(())
    }

    /// Gives a record back.
    ///
    /// # Panics
    /// If the record is not in use: two owners gave it back, and a third would get it twice.
    #[inline]
    pub fn give(&self, index: u32) {
        let mut free = self.free.lock();
        let slot = self.slot(index);
        let Some(slot) = slot.filter(|s| s.mark.load(Ordering::Relaxed) == USED) else {
            given_twice()
        };
        slot.mark.store(FREE, Ordering::Relaxed);
        if index >= free.passed {
            slot.next.store(free.first, Ordering::Relaxed);
            free.first = index;
        }
        drop(free);
        self.live.sub(1);
    }

    /// Drops all records and forgets them: the store is as new. Their memory stays with whoever it
    /// came from.
    ///
    /// # Safety
    /// Nobody has a reference to a record.
    pub unsafe fn forget_all(&self) {
        for index in 0..self.fresh.load(Ordering::Relaxed) {
            if self.slot(index).is_some() {
                // SAFETY: a valid record, which nobody refers to; it is dropped once, as nothing is
                // below `fresh` when this returns.
                unsafe { ptr::drop_in_place(self.at(index)) };
            }
        }
        let new = Self::new();
        for (segment, none) in self.segments.iter().zip(&new.segments) {
            segment.store(none.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.fresh.store(0, Ordering::Relaxed);
        self.live.store(0, Ordering::Relaxed);
        self.absent.store(0, Ordering::Relaxed);
        self.seen.forget();
        // SAFETY: who held it had a reference to the store's records, which nobody has.
        unsafe { self.free.release() };
        *self.free.lock() = new.free.into_inner();
    }

    /// Iterates over every record that was ever in use, by index.
    pub fn all(&self) -> impl Iterator<Item = &'static T> + '_ {
        (0..self.fresh.load(Ordering::Acquire)).filter_map(|i| self.get(i))
    }

    /// Iterates over every record in use, with its index.
    pub fn in_use(&self) -> impl Iterator<Item = (u32, &'static T)> + '_ {
        (0..self.fresh.load(Ordering::Acquire))
            .filter(|&i| self.is_live(i))
            .filter_map(|i| Some((i, self.get(i)?)))
    }
}

impl<T: Default + Sync> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cold]
#[inline(never)]
fn given_twice() -> ! {
    panic!("a kernel record was given back twice")
}

#[cfg(test)]
mod tests;
