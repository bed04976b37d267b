//! Where small regions lie: in chunks of equal pieces, one size to a chunk.
//!
//! Invariants:
//! - A chunk is in its class's list where it has a free piece.
//! - At most one chunk of a class is wholly free: what is given back goes back to the machine, and is there for every
//!   other use.

use super::class_of;
use crate::machine::hal;
use crate::trusted;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_arch::link::{Linked, List, Node};
use sing_arch::lock::SpinLock;
use sing_arch::slab::Slab;

/// The smallest class, as a power of two.
pub(super) const MIN_CLASS: u32 = 6;
/// The largest class, as a power of two; larger regions are mapped one by one.
pub(super) const MAX_CLASS: u32 = 17;
/// Bytes of a chunk.
const CHUNK: u64 = 256 << 10;

/// A chunk.
#[derive(Default)]
struct Chunk {
    node: Node<Chunk>,
    index: AtomicU32,
    at: AtomicU64,
    free: SpinLock<Free>,
}

/// Which pieces of a chunk are free.
struct Free {
    count: u64,
    /// The words of `map` that are not 0.
    words: u64,
    map: [u64; WORDS],
}

const WORDS: usize = (CHUNK >> MIN_CLASS) as usize / 64;
const _: () = assert!(WORDS <= 64);

impl Default for Free {
    fn default() -> Self {
        Free {
            count: 0,
            words: 0,
            map: [0; WORDS],
        }
    }
}

impl Free {
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
}

impl Linked for Chunk {
    fn node(&self) -> &Node<Chunk> {
        &self.node
    }
}

static CHUNKS: Slab<Chunk> = Slab::new();
static CLASSES: [SpinLock<List<Chunk>>; (MAX_CLASS + 1) as usize] =
    [const { SpinLock::new(List::new()) }; (MAX_CLASS + 1) as usize];

/// A zeroed piece of a class, and its chunk's index. `None` where memory is short.
pub(super) fn take(class: u32) -> Option<(u64, u32)> {
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
    let piece = free.take()?;
    if free.count == 0 {
        list.remove(chunk);
    }
    let at = chunk.at.load(Relaxed) + piece * size;
    if !fresh {
        trusted::clear(at, size);
    }
    Some((at, chunk.index.load(Relaxed)))
}

/// A chunk, all of whose pieces of `size` are free.
fn new(size: u64) -> Option<&'static Chunk> {
    let (index, chunk) = CHUNKS.take()?;
    let Some(at) = hal().reserve(CHUNK) else {
        CHUNKS.give(index);
        return None;
    };
    if !hal().commit(at, CHUNK) {
        hal().release(at, CHUNK);
        CHUNKS.give(index);
        return None;
    }
    chunk.index.store(index, Relaxed);
    chunk.at.store(at, Relaxed);
    let mut free = chunk.free.lock();
    *free = Free::default();
    (0..CHUNK / size).for_each(|piece| free.give(piece));
    Some(chunk)
}

/// Gives a piece of `size` bytes back to its chunk.
pub(super) fn give(at: u64, size: u64, chunk: u32) {
    let Some(chunk) = CHUNKS.get(chunk) else {
        return;
    };
    let list = CLASSES[class_of(size as u32) as usize].lock();
    let base = chunk.at.load(Relaxed);
    let mut free = chunk.free.lock();
    free.give((at - base) / size);
    if !chunk.node.is_linked() {
        list.push(chunk);
    }
    let spare = list.first().is_some_and(|c| !core::ptr::eq(c, chunk));
    if spare && free.count == CHUNK / size {
        list.remove(chunk);
        drop((free, list));
        hal().release(base, CHUNK);
        CHUNKS.give(chunk.index.load(Relaxed));
    }
}
