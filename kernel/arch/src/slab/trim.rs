//! Returns the memory of free records to the machine.
//!
//! A pass visits all records of a store, chunk by chunk, from the last to the first; other work may
//! come in between. It begins by emptying the free list; for each chunk it either puts the free
//! records back into the list or, if all are free, gives the chunk's memory back. So the list
//! afterwards begins with the lowest records, and new users leave the upper chunks alone. A record
//! that is given back during a pass is put into the list at once only if the pass has visited it
//! already.
//!
//! An absent chunk reads as zero throughout, its marks as [`ABSENT`]. Its first and last page may
//! be shared with its neighbours, and stay.

use super::{ABSENT, COMMITTED, FIRST, FREE, Free, Ground, NONE, PAGE, Slab, Slot};
use crate::lock::Counter;
use core::ops::Range;
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{self, Relaxed};

/// Records of a chunk, as a power of two. Smaller segments are never given back.
const CHUNK: u32 = 10;
/// Records below the first chunk.
const BELOW: u32 = (1 << CHUNK) - (1 << FIRST);
/// The least number of bytes to be gained that is worth a pass.
const WORTH: u64 = 256 << 10;
/// Chunks that a taker of a record visits, if a pass is under way.
const LOOKS: usize = 4;

/// The least spare and the most used records since the last pass began.
pub(super) struct Seen {
    spare: AtomicU32,
    live: AtomicU32,
}

impl Seen {
    pub(super) const fn new() -> Self {
        Seen {
            spare: AtomicU32::new(0),
            live: AtomicU32::new(0),
        }
    }

    pub(super) fn forget(&self) {
        self.spare.store(0, Relaxed);
        self.live.store(0, Relaxed);
    }
}

impl<T: Default + Sync> Slab<T> {
    /// Returns the number of free records with memory.
    fn spare(&self) -> u32 {
        let all = self.end() - self.absent.load(Relaxed);
        all.saturating_sub(self.live.load(Relaxed))
    }

    /// Whether a pass would gain much: since the last one, the number of free records has grown by
    /// a quarter of all records, or that of used ones has shrunk by a quarter. So a program that
    /// takes and gives back a few records all the time keeps its memory. If there is time to be
    /// `thorough`, one given back is enough.
    pub fn has_surplus(&self, thorough: bool) -> bool {
        let (spare, live) = (self.spare(), self.live());
        let seen = &self.seen;
        seen.spare
            .store(seen.spare.load(Relaxed).min(spare), Relaxed);
        seen.live.store(seen.live.load(Relaxed).max(live), Relaxed);
        let new = spare - seen.spare.load(Relaxed);
        let more = u64::from(new) * 4 > u64::from(live) + u64::from(spare)
            || u64::from(live) * 4 < u64::from(seen.live.load(Relaxed)) * 3
            || thorough && live < seen.live.load(Relaxed);
        more && u64::from(spare) * Self::RECORD >= WORTH
            || self.free.try_lock().is_some_and(|f| f.passed > 0)
    }

    /// Gives back some of the memory of free records: visits one chunk. Returns false if there is
    /// nothing to gain.
    ///
    /// # Safety
    /// A holder of a reference to a record that is no longer in use relies on nothing in it that
    /// would be invalid if all its bytes were zero.
    pub unsafe fn trim(&self, thorough: bool) -> bool {
        if !self.has_surplus(thorough) {
            return false;
        }
        let ground = *super::GROUND.lock();
        self.step(&mut self.free.lock(), ground);
        true
    }

    /// Begins or continues a pass: visits one chunk.
    pub(super) fn step(&self, free: &mut Free, ground: Option<&dyn Ground>) {
        let end = self.end();
        if free.passed == 0 {
            free.first = NONE;
            free.passed = end;
            self.seen.spare.store(self.spare(), Relaxed);
            self.seen.live.store(self.live(), Relaxed);
        }
        // The chunk that ends at the pass's position, or the rest of one.
        let last = free.passed - 1;
        let chunk = chunk_of(last);
        let all = chunk.start..free.passed;
        let is_free = |i: u32| self.slot(i).is_some_and(|s| s.mark.load(Relaxed) == FREE);
        let goes = chunk.start >= BELOW && all.clone().all(is_free);
        if let Some(ground) = ground
            && goes
            && all == chunk
        {
            self.leave(all, ground);
            free.whole = free.whole.min(chunk.start);
        } else if goes && all.end == end {
            self.forget(all);
        } else if self.slot(chunk.start).is_some() {
            for i in all.rev().filter(|&i| is_free(i)) {
                self.renew(i);
                if let Some(slot) = self.slot(i) {
                    slot.next.store(free.first, Relaxed);
                    free.first = i;
                }
            }
        }
        free.passed = chunk.start;
    }

    /// Continues a pass until there is a free record, or for some chunks.
    pub(super) fn pass_until_free(&self, free: &mut Free, ground: Option<&dyn Ground>) {
        for _ in 0..LOOKS {
            if free.first != NONE || free.passed == 0 {
                return;
            }
            self.step(free, ground);
        }
    }

    /// Returns the addresses from the first record of a chunk to the last, and the whole pages
    /// among them.
    fn pages_of(&self, chunk: &Range<u32>) -> (Range<u64>, Range<u64>) {
        let start = self.at(chunk.start) as u64;
        let end = start + u64::from(chunk.end - chunk.start) * Self::RECORD;
        let page = PAGE as u64;
        (start..end, start.next_multiple_of(page)..end / page * page)
    }

    /// Drops the value of a free record, which may own memory, and puts a default in its place.
    fn renew(&self, index: u32) {
        if core::mem::needs_drop::<T>() {
            let slot = self.at(index);
            // SAFETY: initialised, free and in no list, so that its value has no user, as in
            // `leave`.
            unsafe { (*slot).value = T::default() };
        }
    }

    /// Drops the last records of the store, all free and in no list, and makes them uninitialised
    /// again.
    fn forget(&self, last: Range<u32>) {
        for i in last.clone() {
            let slot = self.at(i);
            // SAFETY: as in `leave`; records from `fresh` on are not accessed.
            unsafe {
                ptr::drop_in_place(slot);
                ptr::write_bytes(slot, 0, 1);
            }
        }
        self.fresh.store(last.start, Ordering::Release);
    }

    /// Gives the memory of a chunk back, all of whose records are free and in no list.
    fn leave(&self, chunk: Range<u32>, ground: &dyn Ground) {
        let (bytes, pages) = self.pages_of(&chunk);
        if pages.is_empty() {
            return;
        }
        for i in chunk.clone() {
            let slot = self.at(i);
            // SAFETY: initialised, free and without a user, as callers of `trim` promise; it
            // becomes absent below.
            unsafe { ptr::drop_in_place(slot) };
        }
        for rest in [bytes.start..pages.start, pages.end..bytes.end] {
            // SAFETY: parts of records that were dropped above.
            unsafe { ptr::write_bytes(rest.start as *mut u8, 0, (rest.end - rest.start) as usize) };
        }
        ground.blank(pages.start, pages.end - pages.start);
        COMMITTED.sub(pages.end - pages.start);
        self.absent.add(chunk.end - chunk.start);
    }

    /// Commits memory for the first absent chunk, and puts its records into the free list. Does
    /// nothing if there is none, or if memory is short.
    pub(super) fn restore(&self, free: &mut Free, ground: Option<&dyn Ground>) {
        let Some(ground) = ground.filter(|_| self.absent.load(Relaxed) > 0) else {
            return;
        };
        let mut at = free.whole.max(BELOW);
        while at < self.end() && self.slot(at).is_some() {
            at = chunk_of(at).end;
        }
        free.whole = at;
        let chunk = chunk_of(at);
        // Free records that a pass has yet to visit are in no list.
        if chunk.end > self.end() || chunk.start < free.passed {
            return;
        }
        let (_, pages) = self.pages_of(&chunk);
        if !ground.commit(pages.start, pages.end - pages.start) {
            return;
        }
        COMMITTED.add(pages.end - pages.start);
        self.absent.sub(chunk.end - chunk.start);
        for i in chunk.rev() {
            let slot = Slot {
                value: T::default(),
                next: AtomicU32::new(free.first),
                mark: AtomicU32::new(FREE),
            };
            debug_assert!(self.slot(i).is_none(), "a chunk is absent as a whole");
            // SAFETY: there is memory again, and absent records have no references.
            unsafe { self.at(i).write(slot) };
            free.first = i;
        }
    }
}

/// Returns the chunk of a record, or the records below all chunks.
fn chunk_of(index: u32) -> Range<u32> {
    match index.checked_sub(BELOW) {
        None => 0..BELOW,
        Some(above) => {
            let start = BELOW + (above >> CHUNK << CHUNK);
            start..start + (1 << CHUNK)
        }
    }
}

const _: () = assert!(ABSENT == 0, "what has no memory reads as zero");
