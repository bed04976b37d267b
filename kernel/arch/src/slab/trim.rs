//! Giving the memory of free records back to the machine.
//!
//! A pass goes over all records of a store, chunk by chunk, from the last to the first, with anything else in between. It
//! begins by emptying the list of free records; of each chunk it puts those that are free into the list again or, where all are
//! free, gives the chunk's memory back. So the list afterwards begins with the lowest records, and what is taken next leaves
//! the upper chunks alone. A record that is given back during a pass is put into the list at once only where the pass has come
//! by already.
//!
//! A chunk that is absent reads as zero all through, its marks as [`ABSENT`]. Its first and last page may hold records of its
//! neighbours, too, and stay.

use super::{ABSENT, COMMITTED, FIRST, FREE, Free, Ground, NONE, PAGE, Slab, Slot};
use crate::lock::Counter;
use core::ops::Range;
use core::ptr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{self, Relaxed};

/// Records of a chunk, as a power of two. Segments with fewer stay as they are.
const CHUNK: u32 = 10;
/// Records below the first chunk.
const BELOW: u32 = (1 << CHUNK) - (1 << FIRST);
/// A pass is worth its time where it could give back so many bytes.
const WORTH: u64 = 256 << 10;
/// Chunks that whoever needs a record looks at, where a pass goes on.
const LOOKS: usize = 4;

/// What the last pass began with, or less spare and more in use since.
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
}

impl<T: Default + Sync> Slab<T> {
    /// Records that are free and have memory.
    fn spare(&self) -> u32 {
        let all = self.end() - self.absent.load(Relaxed);
        all.saturating_sub(self.live.load(Relaxed))
    }

    /// Whether much memory could be given back: a quarter more of the records are free than could not be given back, or
    /// a quarter of those that kept them from it have gone. Who takes and gives a few all the time keeps what it has. Where
    /// there is time to be `thorough`, one that has gone is enough.
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

    /// Gives back some of the memory that free records have: looks at one chunk. False where there is nothing to do.
    ///
    /// # Safety
    /// Whoever has a reference to a record that is not in use any more uses nothing of it that would not be valid if all its
    /// bytes were zero.
    pub unsafe fn trim(&self, thorough: bool) -> bool {
        if !self.has_surplus(thorough) {
            return false;
        }
        let ground = *super::GROUND.lock();
        self.step(&mut self.free.lock(), ground);
        true
    }

    /// Begins a pass, or goes on with one, by a chunk.
    pub(super) fn step(&self, free: &mut Free, ground: Option<&dyn Ground>) {
        let end = self.end();
        if free.passed == 0 {
            free.first = NONE;
            free.passed = end;
            self.seen.spare.store(self.spare(), Relaxed);
            self.seen.live.store(self.live(), Relaxed);
        }
        // The chunk that ends where the pass has come to, or the rest of one.
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

    /// Goes on with a pass until there is a free record, or for some chunks.
    pub(super) fn pass_until_free(&self, free: &mut Free, ground: Option<&dyn Ground>) {
        for _ in 0..LOOKS {
            if free.first != NONE || free.passed == 0 {
                return;
            }
            self.step(free, ground);
        }
    }

    /// Bytes from the first record of a chunk to the last, and the whole pages among them.
    fn pages_of(&self, chunk: &Range<u32>) -> (Range<u64>, Range<u64>) {
        let start = self.at(chunk.start) as u64;
        let end = start + u64::from(chunk.end - chunk.start) * Self::RECORD;
        let page = PAGE as u64;
        (start..end, start.next_multiple_of(page)..end / page * page)
    }

    /// Gives back what a free record keeps besides, for the next use of it.
    fn renew(&self, index: u32) {
        if core::mem::needs_drop::<T>() {
            let slot = self.at(index);
            // SAFETY: initialised, free and in no list, so that its value is used by nobody, as in `leave`.
            unsafe { (*slot).value = T::default() };
        }
    }

    /// Makes records that are free and in no list, the last ones that there are, as if they had never been in use: what they
    /// keep besides goes back.
    fn forget(&self, last: Range<u32>) {
        for i in last.clone() {
            let slot = self.at(i);
            // SAFETY: as in `leave`; behind `fresh`, nobody looks at it.
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
            // SAFETY: initialised and free, and used by nobody, as whoever calls `trim` promises; it becomes absent below.
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

    /// Gives memory to the first chunk that is absent, and puts its records into the list. Nothing where there is none, or
    /// memory is short.
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
        // What a pass has yet to come to is in no list.
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
            // SAFETY: there is memory again, and nobody has a reference to what is absent.
            unsafe { self.at(i).write(slot) };
            free.first = i;
        }
    }
}

/// The chunk, or what is below all chunks, that a record lies in.
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
