//! Size classes: small regions are pieces of chunks, each of which has pieces of one size.
//!
//! A piece in use does not keep its whole chunk in memory: pages whose pieces are all free are
//! returned to the machine when the processor is idle or memory is short ([`trim`]), and renewed
//! when the chunk's other free pieces are used up.
//!
//! Invariants:
//! - A chunk is in its class's list exactly if it has a free piece.
//! - One chunk of a class may be wholly free, and [`SPARE`] more of all classes together, so that
//!   who frees a few large pieces and allocates them again has them: further ones are returned to
//!   the machine, for any other use.
//! - A blank page (one without memory) has only free pieces, which are not in the map.

use super::class_of;
use crate::ground::trusted::Committed;
use crate::ground::trusted::variables;
use crate::ground::work::Work;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::PAGE;
use sing_arch::link::{Linked, List, Node};
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;
use sing_runtime::Block;

/// Log2 of the smallest class's size in bytes.
pub(super) const MIN_CLASS: u32 = 6;
/// Log2 of the largest class's size in bytes; larger regions have their own pages.
pub(super) const MAX_CLASS: u32 = 17;
/// Bytes of a chunk.
const CHUNK: u64 = 256 << 10;
/// The most chunks that are spare, and the part of the machine's memory that they may be.
const SPARE: u64 = 32;
const SPARE_PART: u64 = 64;

/// A chunk of [`CHUNK`] bytes.
#[derive(Default)]
struct Chunk {
    node: Node<Chunk>,
    index: AtomicU32,
    free: SpinLock<Free>,
}

/// A chunk's memory, and which pieces of it are free.
struct Free {
    memory: Committed,
    /// Bytes of a piece.
    size: u64,
    /// Free pieces, those in blank pages included.
    count: u64,
    /// Pages that have no memory, one bit each.
    blank: u64,
    /// It is wholly free, and counted among those that are spare.
    spare: bool,
    /// A bit for each word of `map` that is not 0.
    words: u64,
    map: [u64; WORDS],
}

const WORDS: usize = (CHUNK >> MIN_CLASS) as usize / 64;
const _: () = assert!(WORDS <= 64 && CHUNK / PAGE == 64);

impl Default for Free {
    fn default() -> Self {
        Free {
            memory: Committed::default(),
            size: PAGE,
            count: 0,
            blank: 0,
            spare: false,
            words: 0,
            map: [0; WORDS],
        }
    }
}

impl Free {
    /// Takes a free piece that has memory; its number.
    fn take(&mut self) -> Option<u64> {
        let word = self.words.trailing_zeros() as usize;
        let bits = self.map.get_mut(word)?;
        let bit = bits.trailing_zeros();
        *bits &= *bits - 1;
        if *bits == 0 {
            self.words &= !(1 << word);
        }
        self.count -= 1;
        Some(word as u64 * 64 + u64::from(bit))
    }

    fn give(&mut self, piece: u64) {
        self.map[piece as usize / 64] |= 1 << (piece % 64);
        self.words |= 1 << (piece / 64);
        self.count += 1;
    }

    /// The pieces in the page with this number, or the one that begins there: the word of the map,
    /// and their bits. `None` if a piece continues there that begins before.
    fn pieces_of(&self, page: u64) -> Option<(usize, u64)> {
        let offset = page * PAGE;
        let many = PAGE.checked_div(self.size).unwrap_or(0).max(1);
        let first = offset / self.size;
        let bits = (u64::MAX >> (64 - many)) << (first % 64);
        offset
            .is_multiple_of(self.size)
            .then_some((first as usize / 64, bits))
    }

    /// Pages that are blanked and renewed together: those of one piece, or one page.
    fn pages_at_once(&self) -> u64 {
        (self.size / PAGE).max(1)
    }

    /// Returns pages whose pieces are all free to the machine: how many.
    fn shrink(&mut self) -> u64 {
        let (mut gone, at_once) = (0, self.pages_at_once());
        for page in (0..CHUNK / PAGE).step_by(at_once as usize) {
            let Some((word, bits)) = self.pieces_of(page) else {
                continue;
            };
            if self.map[word] & bits != bits {
                continue;
            }
            self.map[word] &= !bits;
            if self.map[word] == 0 {
                self.words &= !(1 << word);
            }
            self.memory.blank_part(page * PAGE, at_once * PAGE);
            self.blank |= (u64::MAX >> (64 - at_once)) << page;
            gone += at_once;
        }
        gone
    }

    /// Gets memory for one blank page, or the blank pages of one piece: how many. `None` if memory
    /// is short.
    fn renew(&mut self) -> Option<u64> {
        let at_once = self.pages_at_once();
        let page = u64::from(self.blank.trailing_zeros());
        let (word, bits) = self.pieces_of(page)?;
        if !self.memory.renew_part(page * PAGE, at_once * PAGE) {
            return None;
        }
        self.blank &= !((u64::MAX >> (64 - at_once)) << page);
        self.map[word] |= bits;
        self.words |= 1 << word;
        Some(at_once)
    }

    /// Pages that have memory.
    fn pages(&self) -> u64 {
        CHUNK / PAGE - u64::from(self.blank.count_ones())
    }
}

impl Linked for Chunk {
    fn node(&self) -> &Node<Chunk> {
        &self.node
    }
}

variables! { forget:
    static CHUNKS: Slab<Chunk> = Slab::new();
    /// Pages of all chunks that have memory.
    static PAGES: AtomicU64 = AtomicU64::new(0);
    static CLASSES: [SpinLock<List<Chunk>>; (MAX_CLASS + 1) as usize] =
        [const { SpinLock::new(List::new()) }; (MAX_CLASS + 1) as usize];
    /// The index of the chunk that [`trim`] visits next.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    /// Chunks that are wholly free beside the first of their class.
    static SPARES: AtomicU64 = AtomicU64::new(0);
}

/// Whether there may be a spare chunk more.
fn may_be_spare() -> bool {
    let most = crate::ground::machine::hal().total_pages() / SPARE_PART / (CHUNK / PAGE);
    SPARES.load(Relaxed) < most.min(SPARE)
}

/// Pages of all chunks.
pub(crate) fn chunk_pages() -> u64 {
    PAGES.load(Relaxed)
}

/// A piece of a class, zeroed up to the end of the page in which its first `used` bytes end, and its
/// chunk's index. `None` if memory is short.
pub(super) fn take(class: u32, used: u32) -> Option<(Block, u32)> {
    let size = 1u64 << class;
    let list = CLASSES[class as usize].lock();
    let (chunk, fresh) = match list.first() {
        Some(chunk) => (chunk, false),
        None => {
            let chunk = new(size)?;
            list.push(chunk);
            (chunk, true)
        }
    };
    let mut free = chunk.free.lock();
    if free.words == 0 {
        PAGES.add(free.renew()?);
    }
    let piece = free.take()?;
    if core::mem::take(&mut free.spare) {
        SPARES.sub(1);
    }
    if free.count == 0 {
        list.remove(chunk);
    }
    if !fresh {
        let used = u64::from(used).next_multiple_of(PAGE).min(size);
        free.memory.clear_part(piece * size, used);
    }
    Some((
        free.memory.block(piece * size, size),
        chunk.index.load(Relaxed),
    ))
}

/// A new chunk with pieces of `size` bytes, all free.
fn new(size: u64) -> Option<&'static Chunk> {
    let (index, chunk) = CHUNKS.take()?;
    let Some(memory) = Committed::with(CHUNK) else {
        CHUNKS.give(index);
        return None;
    };
    chunk.index.store(index, Relaxed);
    let mut free = chunk.free.lock();
    *free = Free {
        memory,
        size,
        ..Free::default()
    };
    PAGES.add(free.pages());
    (0..CHUNK / size).for_each(|piece| free.give(piece));
    Some(chunk)
}

/// Gives a piece back to its chunk.
pub(super) fn give(piece: Block, chunk: u32) {
    let Some(chunk) = CHUNKS.get(chunk) else {
        return;
    };
    let list = CLASSES[class_of(piece.len()) as usize].lock();
    let mut free = chunk.free.lock();
    let size = u64::from(piece.len());
    let offset = piece.base() - free.memory.base();
    free.give(offset / size);
    if !chunk.node.is_linked() {
        list.push(chunk);
    }
    let spare = list.first().is_some_and(|c| !core::ptr::eq(c, chunk));
    if !spare || free.count != CHUNK / size {
        return;
    }
    if may_be_spare() {
        free.spare = true;
        SPARES.add(1);
    } else {
        list.remove(chunk);
        PAGES.sub(free.pages());
        drop(core::mem::take(&mut free.memory));
        drop((free, list));
        CHUNKS.give(chunk.index.load(Relaxed));
    }
}

/// Returns pages of some chunks to the machine. False when all chunks have been visited. The chunk
/// that a class's next piece comes from is left alone, so that repeated allocating and freeing
/// stays fast.
pub(super) fn trim() -> bool {
    let mut work = Work::step();
    let mut index = NEXT.load(Relaxed);
    while !work.is_spent() {
        if index >= CHUNKS.end() {
            NEXT.store(0, Relaxed);
            return false;
        }
        work.spend(0);
        if let Some(chunk) = CHUNKS.get(index).filter(|_| CHUNKS.is_live(index)) {
            // Each page may have been unmapped separately, so each counts as work.
            (0..shrink(chunk)).for_each(|_| work.spend(PAGE));
        }
        index += 1;
    }
    NEXT.store(index, Relaxed);
    true
}

/// Returns pages of a chunk to the machine: how many.
fn shrink(chunk: &'static Chunk) -> u64 {
    let class = class_of(chunk.free.lock().size as u32);
    let list = CLASSES[class as usize].lock();
    if !list.holds(chunk) || list.first().is_some_and(|c| core::ptr::eq(c, chunk)) {
        return 0;
    }
    let mut free = chunk.free.lock();
    let gone = free.shrink();
    PAGES.sub(gone);
    if free.words == 0 {
        // To the end of the list, behind chunks whose free pieces have memory.
        list.remove(chunk);
        list.push(chunk);
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_page_are_those_that_lie_in_it() {
        for class in MIN_CLASS..=MAX_CLASS {
            let mut free = Free {
                size: 1 << class,
                ..Free::default()
            };
            let mut seen = [0; WORDS];
            for page in 0..CHUNK / PAGE {
                if let Some((word, bits)) = free.pieces_of(page) {
                    assert_eq!(seen[word] & bits, 0, "class {class}, page {page}");
                    seen[word] |= bits;
                }
            }
            (0..CHUNK >> class).for_each(|piece| free.give(piece));
            assert_eq!(seen, free.map, "class {class}");
        }
    }
}
