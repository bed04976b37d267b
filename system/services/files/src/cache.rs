//! Blocks of the disk in memory, for requests that come again: read here without the driver, and
//! written here until the next sync.
//!
//! What is read or written once passes by uncopied; the second time its blocks are kept, and small
//! reads' the first time. A write to blocks that are all here changes them here alone: they are
//! dirty, and reach the disk before the file system's next sync is answered.
//!
//! Invariants:
//! - A valid block holds what the disk holds, or is dirty and holds what the disk is to hold.
//!   Whoever writes to the disk says so, before and after ([`Cache::forget`]), and has dirty blocks
//!   written first (`Drive::settle`); what was asked of the disk before that, and comes after it,
//!   is not kept.
//! - All caches of this program together have at most [`MOST`] chunks, one at most [`DIRTY`] dirty
//!   blocks. Without memory for a chunk, requests go to the disk.

use alloc::collections::{BTreeMap, VecDeque};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use sing_sdk::prelude::*;
use sing_store::BLOCK;

/// Bytes of a chunk, which lies at a multiple of its size on the disk.
const CHUNK: u64 = 64 << 10;
/// Chunks of all caches: 32 MiB, and a block more for each.
const MOST: usize = 512;
/// What they have in all.
pub const BYTES: usize = MOST * CHUNK as usize;
/// Dirty blocks of one: 24 MiB, which a sync writes in steps.
const DIRTY: usize = 6144;
/// Runs of them, each a request of the disk.
const RUNS: usize = 2048;
/// Chunks of which it is remembered that they were used once.
const REMEMBERED: usize = 4096;
/// Places at which a chunk is looked for first.
const NEAR: usize = 1024;

/// Chunks of all caches now.
static CHUNKS: AtomicUsize = AtomicUsize::new(0);

struct Chunk {
    /// Which of the disk's it is.
    number: u64,
    data: Vec<u8>,
    /// Where its bytes begin: copies between places that lie alike in their pages are faster.
    base: usize,
    /// A bit for each block: it is here; it is to be written to the disk.
    valid: u16,
    dirty: u16,
    /// Used since it was last looked at for its room.
    used: bool,
}

#[derive(Default)]
pub struct Cache {
    /// Chunks, at places that they keep; `None` where one was.
    chunks: Vec<Option<Chunk>>,
    vacant: Vec<u32>,
    /// Their places, by their numbers on the disk.
    places: BTreeMap<u64, u32>,
    /// The place of the chunk that was looked for last, for each remainder of numbers: a way through
    /// the tree is most of what a small read finds no more in the processor's first cache.
    near: Vec<u32>,
    /// In the order in which they are looked at for their room; a number may be of none that is here.
    order: VecDeque<u64>,
    /// Numbers of chunks that were used once, each at its own remainder, plus 1.
    once: Vec<u64>,
    /// How often something was forgotten or changed.
    epoch: u64,
    /// Dirty blocks, and the runs in which they lie in their chunks.
    dirty: usize,
    runs: usize,
}

/// The runs of ones.
const fn runs(dirty: u16) -> usize {
    (dirty & !(dirty << 1)).count_ones() as usize
}

/// The parts of a range by chunk: the chunk's number, where in it, and how many bytes.
fn parts(disk: u64, bytes: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = disk + bytes as u64;
    let mut at = disk;
    core::iter::from_fn(move || {
        let number = at / CHUNK;
        let next = ((number + 1) * CHUNK).min(end);
        let part = (number, (at % CHUNK) as usize, (next - at) as usize);
        at = next;
        (part.2 > 0).then_some(part)
    })
}

/// The bits of the blocks that a part of a chunk touches.
fn mask(from: usize, len: usize) -> u16 {
    let (first, last) = (from / BLOCK as usize, (from + len).div_ceil(BLOCK as usize));
    ((1u32 << last) - (1u32 << first)) as u16
}

impl Cache {
    /// Whether all of these bytes of the disk are here.
    pub fn has(&mut self, disk: u64, bytes: usize) -> bool {
        parts(disk, bytes).all(|(number, from, len)| {
            let mask = mask(from, len);
            self.find(number)
                .is_some_and(|chunk| chunk.valid & mask == mask)
        })
    }

    /// The place of a chunk that is here.
    fn place(&mut self, number: u64) -> Option<usize> {
        let near = number as usize % NEAR;
        if let Some(&place) = self.near.get(near)
            && let Some(Some(chunk)) = self.chunks.get(place as usize)
            && chunk.number == number
        {
            return Some(place as usize);
        }
        let place = *self.places.get(&number)?;
        if self.near.is_empty() && self.near.try_reserve_exact(NEAR).is_ok() {
            self.near.resize(NEAR, 0);
        }
        if let Some(near) = self.near.get_mut(near) {
            *near = place;
        }
        Some(place as usize)
    }

    fn find(&mut self, number: u64) -> Option<&mut Chunk> {
        let place = self.place(number)?;
        self.chunks.get_mut(place)?.as_mut()
    }

    fn get(&self, number: u64) -> Option<&Chunk> {
        let place = *self.places.get(&number)? as usize;
        self.chunks.get(place)?.as_ref()
    }

    /// Fills a part of a block with these bytes of the disk. False, and it is filled in part, if
    /// they are not all here.
    pub fn read(&mut self, disk: u64, block: &mut Block, mut place: usize, bytes: usize) -> bool {
        for (number, from, len) in parts(disk, bytes) {
            let mask = mask(from, len);
            let Some(chunk) = self.find(number).filter(|chunk| chunk.valid & mask == mask) else {
                return false;
            };
            chunk.used = true;
            block.write(
                place,
                &chunk.data[chunk.base + from..chunk.base + from + len],
            );
            place += len;
        }
        true
    }

    /// Whether so many more bytes may wait for the disk.
    pub fn may_wait(&self, bytes: usize) -> bool {
        self.dirty + bytes / BLOCK as usize + 2 <= DIRTY
            && self.runs + bytes / CHUNK as usize + 2 <= RUNS
    }

    /// Whether anything waits for the disk.
    pub const fn is_dirty(&self) -> bool {
        self.dirty > 0
    }

    /// Changes these bytes, which are here all, to what a part of a block has.
    pub fn write(&mut self, disk: u64, block: &Block, mut place: usize, bytes: usize) {
        self.epoch += 1;
        for (number, from, len) in parts(disk, bytes) {
            let Some(chunk_at) = self.place(number) else {
                return;
            };
            let Some(Some(chunk)) = self.chunks.get_mut(chunk_at) else {
                return;
            };
            block.read(
                place,
                &mut chunk.data[chunk.base + from..chunk.base + from + len],
            );
            let mask = mask(from, len);
            self.dirty += (mask & !chunk.dirty).count_ones() as usize;
            self.runs -= runs(chunk.dirty);
            chunk.dirty |= mask;
            self.runs += runs(chunk.dirty);
            chunk.used = true;
            place += len;
        }
    }

    /// To be taken when the disk is asked for what shall be kept.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Keeps whole blocks that have been read or written: a part of a block of this program's or
    /// its client's. `at_once`: also if they are used for the first time. `epoch`: unless something
    /// was written since; it may be these, and the disk may have answered the read with what was
    /// there before.
    pub fn keep(
        &mut self,
        disk: u64,
        (block, mut place, bytes): (&Block, usize, usize),
        at_once: bool,
        epoch: u64,
    ) {
        if epoch != self.epoch {
            return;
        }
        for (number, from, len) in parts(disk, bytes) {
            if (at_once || self.again(number))
                && let Some(chunk) = self.chunk(number)
            {
                block.read(
                    place,
                    &mut chunk.data[chunk.base + from..chunk.base + from + len],
                );
                chunk.valid |= mask(from, len);
                chunk.used = true;
            }
            place += len;
        }
    }

    /// Whether a chunk is here, or was used before.
    fn again(&mut self, number: u64) -> bool {
        if self.place(number).is_some() {
            return true;
        }
        if self.once.is_empty() && self.once.try_reserve_exact(REMEMBERED).is_ok() {
            self.once.resize(REMEMBERED, 0);
        }
        let remembered = self.once.get_mut(number as usize % REMEMBERED);
        remembered.is_some_and(|r| core::mem::replace(r, number + 1) == number + 1)
    }

    /// The chunk with this number, in the place of another if there are enough. `None` if there is
    /// no room.
    fn chunk(&mut self, number: u64) -> Option<&mut Chunk> {
        if self.place(number).is_none() {
            let spare = if CHUNKS.load(Relaxed) < MOST {
                None
            } else {
                Some(self.displace()?)
            };
            let data = match spare {
                Some(data) => data,
                None => {
                    let mut data = Vec::new();
                    data.try_reserve_exact((CHUNK + BLOCK) as usize).ok()?;
                    data.resize((CHUNK + BLOCK) as usize, 0);
                    data
                }
            };
            CHUNKS.fetch_add(1, Relaxed);
            let base = data.as_ptr().addr().wrapping_neg() % BLOCK as usize;
            let chunk = Chunk {
                number,
                data,
                base,
                valid: 0,
                dirty: 0,
                used: false,
            };
            let place = match self.vacant.pop() {
                Some(place) => {
                    self.chunks[place as usize] = Some(chunk);
                    place
                }
                None => {
                    self.chunks.push(Some(chunk));
                    self.chunks.len() as u32 - 1
                }
            };
            self.places.insert(number, place);
            self.order.push_back(number);
        }
        self.find(number)
    }

    /// Gives up a chunk without dirty blocks that was not used since the last look; its memory.
    fn displace(&mut self) -> Option<Vec<u8>> {
        for _ in 0..2 * self.order.len() {
            let number = self.order.pop_front()?;
            match self.find(number) {
                Some(chunk) if chunk.used || chunk.dirty != 0 => {
                    chunk.used = false;
                    self.order.push_back(number);
                }
                Some(_) => return self.remove(number).map(|chunk| chunk.data),
                None => {}
            }
        }
        None
    }

    fn remove(&mut self, number: u64) -> Option<Chunk> {
        let place = self.places.remove(&number)?;
        let chunk = self.chunks.get_mut(place as usize)?.take()?;
        self.vacant.push(place);
        CHUNKS.fetch_sub(1, Relaxed);
        self.dirty -= chunk.dirty.count_ones() as usize;
        self.runs -= runs(chunk.dirty);
        Some(chunk)
    }

    /// These bytes of the disk are being written, or have been.
    pub fn forget(&mut self, disk: u64, bytes: u64) {
        self.leave(disk, bytes, true);
    }

    /// The same of a write with another outcome, which may have been done: what waits for the disk
    /// is newer than that, and stays.
    pub fn doubt(&mut self, disk: u64, bytes: u64) {
        self.leave(disk, bytes, false);
    }

    fn leave(&mut self, disk: u64, bytes: u64, dirty: bool) {
        self.epoch += 1;
        let end = disk + bytes;
        let mut number = disk / CHUNK;
        while let Some((&found, &place)) = self.places.range(number..end.div_ceil(CHUNK)).next() {
            let Some(Some(chunk)) = self.chunks.get_mut(place as usize) else {
                return;
            };
            let from = disk.max(found * CHUNK) - found * CHUNK;
            let to = end.min((found + 1) * CHUNK) - found * CHUNK;
            let mut mask = mask(from as usize, (to - from) as usize);
            if !dirty {
                mask &= !chunk.dirty;
            }
            self.dirty -= (chunk.dirty & mask).count_ones() as usize;
            self.runs -= runs(chunk.dirty);
            chunk.dirty &= !mask;
            self.runs += runs(chunk.dirty);
            chunk.valid &= !mask;
            if chunk.valid == 0 {
                self.remove(found);
                self.order.retain(|n| *n != found);
            }
            number = found + 1;
        }
    }

    /// The first dirty blocks of a range that lie together: where, and how many bytes.
    pub fn first_dirty(&self, disk: u64, end: u64) -> Option<(u64, usize)> {
        if self.dirty == 0 {
            return None;
        }
        let mut places = self.places.range(disk / CHUNK..end.div_ceil(CHUNK));
        places.find_map(|(number, place)| {
            let chunk = self.chunks.get(*place as usize)?.as_ref()?;
            let base = number * CHUNK;
            let from = disk.max(base) - base;
            let to = end.min(base + CHUNK) - base;
            let dirty = chunk.dirty & mask(from as usize, (to - from) as usize);
            let first = dirty.trailing_zeros();
            let blocks = (u32::from(dirty) >> (first % 16)).trailing_ones();
            let place = base + u64::from(first) * BLOCK;
            (dirty != 0).then_some((place, blocks as usize * BLOCK as usize))
        })
    }

    /// The bytes of blocks that [`Cache::first_dirty`] has named.
    pub fn bytes(&self, disk: u64, bytes: usize) -> &[u8] {
        let from = (disk % CHUNK) as usize;
        let chunk = self.get(disk / CHUNK);
        chunk.map_or(&[], |c| &c.data[c.base + from..c.base + from + bytes])
    }

    /// The disk has these blocks now.
    pub fn cleaned(&mut self, disk: u64, bytes: usize) {
        let mask = mask((disk % CHUNK) as usize, bytes);
        let place = self.place(disk / CHUNK);
        if let Some(Some(chunk)) = place.and_then(|p| self.chunks.get_mut(p)) {
            self.dirty -= (chunk.dirty & mask).count_ones() as usize;
            self.runs -= runs(chunk.dirty);
            chunk.dirty &= !mask;
            self.runs += runs(chunk.dirty);
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        CHUNKS.fetch_sub(self.places.len(), Relaxed);
    }
}
