//! The exchange heap ([O] 3.3.2): regions, and allocations through which they are accessed.
//!
//! A *region* is a block of memory with a count of the allocations that refer to it; an *allocation* is a
//! record of base, bounds, type and owner. Allocations move between SIPs, by their index; what an owner holds
//! is an entry of its thread's table (`sing_runtime::XTable`), made when it receives the allocation and taken
//! away when it sends or frees it. So moving one costs the same for any size, and a SIP that ends gives back
//! what its tables hold, without a walk over anybody else's.
//!
//! Small regions come from size classes, each with its own lock; larger ones from pages of their own. A region is
//! zeroed when it is allocated.
//!
//! Invariants:
//! - Every byte of a region, rounding included, is on the account of somebody who has an allocation of it: as its
//!   [`Allocation::portion`]. Who frees an allocation of a region that others still view leaves its portion to one of
//!   them: who keeps a byte of a region keeps the region.
//! - What an allocation is charged for follows it: whoever has it, or sent it where it is in a message, pays.

mod classes;
mod tree;

use crate::machine::hal;
use crate::memory;
use crate::sip::Sip;
use alloc::collections::BTreeMap;
use classes::{MAX_CLASS, MIN_CLASS};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::PAGE;
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;

pub(crate) use tree::{Graves, bury, dig, free};

/// The largest allocation, in bytes.
pub(crate) const MAX_ALLOCATION: u32 = 1 << 30;

/// What an allocation costs its owner beside its part of a region: records, table entry, place in a tree. So a budget
/// also bounds how many allocations there are.
pub(crate) const OVERHEAD: u64 = 256;

// A record, that of its region, an entry in a thread's table, the places of both records in the lists of free ones, and
// one in a tree: its share of a node that is half full.
const _: () = assert!(
    size_of::<Allocation>() + size_of::<Region>() + 32 + 2 * 4 + 2 * 8 <= OVERHEAD as usize
);

/// Records that there can be: more than the budgets of many processes can pay for.
const CHUNKS: usize = 32_768;

/// A block of memory.
#[derive(Default)]
struct Region {
    at: AtomicU64,
    size: AtomicU64,
    /// Bytes from `at` that are accessible: what is large is given back piece by piece.
    committed: AtomicU64,
    /// The chunk that it lies in, where it is small.
    chunk: AtomicU32,
    references: AtomicU32,
    /// The sum of its allocations' portions: its size, or more.
    paid: AtomicU64,
    /// Its allocations that are no parts of others.
    viewed: SpinLock<List<Allocation>>,
}

/// A view of a region, owned by one SIP or message at a time.
#[derive(Default)]
pub(crate) struct Allocation {
    node: Node<Allocation>,
    region: AtomicU32,
    /// Address of its first byte.
    pub(crate) base: AtomicU64,
    /// Its bytes.
    pub(crate) len: AtomicU32,
    /// Its type, as the SIP that made it said.
    pub(crate) ty: AtomicU32,
    read_only: AtomicBool,
    /// Bytes of its region that its owner is charged for.
    portion: AtomicU64,
    /// The SIP that it is charged to: whoever has it or, while it is in a message, whoever sent it. None where it is a
    /// part of another.
    owner: Link<Sip>,
    /// Its parts: their offsets in it and indices. A part has no owner and is in no table, so what has parts is a
    /// tree: it moves, and is given back, as one.
    parts: SpinLock<BTreeMap<u32, u32>>,
    /// How many allocations there are below it, and the sum of their portions.
    below: AtomicU32,
    paid_below: AtomicU64,
    /// The next one that waits to be given back.
    next_grave: AtomicU32,
}

impl Linked for Allocation {
    fn node(&self) -> &Node<Allocation> {
        &self.node
    }
}

static REGIONS: Slab<Region, CHUNKS> = Slab::new();
static ALLOCATIONS: Slab<Allocation, CHUNKS> = Slab::new();
static ALLOCATED: AtomicU64 = AtomicU64::new(0);

/// Live allocations, and the bytes in them.
pub(crate) fn counts() -> (u64, u64) {
    (u64::from(ALLOCATIONS.live()), ALLOCATED.load(Relaxed))
}

fn class_of(len: u32) -> u32 {
    (64 - u64::from(len - 1).leading_zeros()).max(MIN_CLASS)
}

/// Bytes of the region for an allocation of `len`.
fn region_size(len: u32) -> u64 {
    match class_of(len) {
        class if class <= MAX_CLASS => 1 << class,
        _ => u64::from(len).next_multiple_of(PAGE),
    }
}

/// What an allocation of `len` bytes is charged for.
pub(crate) fn cost(len: u32) -> u64 {
    region_size(len) + OVERHEAD
}

/// Bytes of a large region that are taken from the machine, or given back, at a time.
const PIECE: u64 = 4 << 20;

/// Makes an allocation of `len` bytes, owned by nobody yet. `None` where memory is short. Of a large one nothing is
/// there until [`Allocation::complete`] says so.
pub(crate) fn allocate(len: u32, ty: u32) -> Option<(u32, &'static Allocation)> {
    debug_assert!((1..=MAX_ALLOCATION).contains(&len));
    let size = region_size(len);
    let (r, region) = REGIONS.take()?;
    let Some((at, committed, chunk)) = take_memory(size) else {
        REGIONS.give(r);
        return None;
    };
    region.at.store(at, Relaxed);
    region.size.store(size, Relaxed);
    region.committed.store(committed, Relaxed);
    region.chunk.store(chunk, Relaxed);
    region.references.store(0, Relaxed);
    region.paid.store(size, Relaxed);
    let there = if committed == size { len } else { 0 };
    match view(r, at, there, ty, false) {
        Some((index, a)) => {
            a.portion.store(size, Relaxed);
            memory::count_pages(size.div_ceil(PAGE) as i64);
            Some((index, a))
        }
        None => {
            give_memory(region);
            REGIONS.give(r);
            None
        }
    }
}

/// Memory of a region's size, how much of it is there, zeroed, and its chunk.
fn take_memory(size: u64) -> Option<(u64, u64, u32)> {
    if size <= 1 << MAX_CLASS {
        return classes::take(size.trailing_zeros()).map(|(at, chunk)| (at, size, chunk));
    }
    let at = hal().reserve(size)?;
    if size > PIECE {
        return Some((at, 0, 0));
    }
    if !hal().commit(at, size) {
        hal().release(at, size);
        return None;
    }
    Some((at, size, 0))
}

fn give_memory(region: &Region) {
    let (at, size) = (region.at.load(Relaxed), region.size.load(Relaxed));
    if size <= 1 << MAX_CLASS {
        classes::give(at, size, region.chunk.load(Relaxed));
    } else {
        hal().release(at, size);
    }
}

/// A further allocation of a region, paying for nothing.
fn view(
    r: u32,
    base: u64,
    len: u32,
    ty: u32,
    read_only: bool,
) -> Option<(u32, &'static Allocation)> {
    let region = REGIONS.get(r)?;
    let (index, a) = ALLOCATIONS.take()?;
    a.region.store(r, Relaxed);
    a.base.store(base, Relaxed);
    a.len.store(len, Relaxed);
    a.ty.store(ty, Relaxed);
    a.read_only.store(read_only, Relaxed);
    a.portion.store(0, Relaxed);
    a.owner.set(None);
    region.references.add(1);
    region.viewed.lock().push(a);
    ALLOCATED.add(u64::from(len));
    Some((index, a))
}

/// The allocation with this index.
#[inline(always)]
pub(crate) fn get(index: u32) -> Option<&'static Allocation> {
    ALLOCATIONS.get(index)
}

impl Allocation {
    /// Bytes of it that may be written.
    #[inline(always)]
    pub(crate) fn writable_len(&self) -> u32 {
        if self.read_only.load(Relaxed) {
            0
        } else {
            self.len.load(Relaxed)
        }
    }

    /// Takes a piece of the memory for a new allocation of `len` bytes. True when all is there; `None` where memory is
    /// short.
    pub(crate) fn complete(&self, len: u32) -> Option<bool> {
        let region = self.region()?;
        let (size, committed) = (region.size.load(Relaxed), region.committed.load(Relaxed));
        let piece = PIECE.min(size - committed);
        if piece > 0 {
            if !hal().commit(region.at.load(Relaxed) + committed, piece) {
                return None;
            }
            region.committed.store(committed + piece, Relaxed);
        }
        let whole = committed + piece == size;
        if whole && self.len.load(Relaxed) == 0 {
            self.len.store(len, Relaxed);
            ALLOCATED.add(u64::from(len));
        }
        Some(whole)
    }

    /// Charges it, with all its parts, to `sip` instead of who was charged before. A SIP that receives more than its
    /// budget has room for keeps it, and cannot allocate until it has given back.
    #[inline]
    pub(crate) fn charge(&self, sip: &'static Sip) {
        self.discharge();
        self.owner.set(Some(sip));
        let (count, paid) = self.size();
        sip.charged.add(paid + count * OVERHEAD);
        sip.exchange.add(paid);
    }

    /// Takes it off its owner's account.
    #[inline]
    pub(crate) fn discharge(&self) {
        if let Some(sip) = self.owner.take() {
            let (count, paid) = self.size();
            sip.exchange.sub(paid);
            sip.discharge(paid + count * OVERHEAD);
        }
    }

    /// Allocations in the tree that it is the root of, and the sum of their portions.
    #[inline]
    fn size(&self) -> (u64, u64) {
        let paid = self.portion.load(Relaxed) + self.paid_below.load(Relaxed);
        (u64::from(self.below.load(Relaxed)) + 1, paid)
    }

    /// It pays for `bytes` more of its region.
    fn pay(&self, bytes: u64) {
        self.portion.add(bytes);
        if let Some(sip) = self.owner.get() {
            sip.charged.add(bytes);
            sip.exchange.add(bytes);
        }
    }

    fn region(&self) -> Option<&'static Region> {
        REGIONS.get(self.region.load(Relaxed))
    }

    /// A second, read-only view of `start..end`; this one becomes read-only, too. It pays for nothing while this one
    /// does.
    pub(crate) fn share(&self, start: u32, end: u32) -> Option<(u32, &'static Allocation)> {
        let base = self.base.load(Relaxed) + u64::from(start);
        let ty = self.ty.load(Relaxed);
        let second = view(self.region.load(Relaxed), base, end - start, ty, true)?;
        self.read_only.store(true, Relaxed);
        Some(second)
    }

    /// Whether nothing can be written through it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.load(Relaxed)
    }

    /// Undoes a `share` whose second view nobody got.
    pub(crate) fn restore_writable(&self) {
        self.read_only.store(false, Relaxed);
    }

    /// Cuts it at `offset`; the second part.
    pub(crate) fn split(&self, offset: u32) -> Option<(u32, &'static Allocation)> {
        let len = self.len.load(Relaxed);
        let base = self.base.load(Relaxed) + u64::from(offset);
        let (ty, read_only) = (self.ty.load(Relaxed), self.is_read_only());
        let second = view(self.region.load(Relaxed), base, len - offset, ty, read_only)?;
        let owner = self.owner.get();
        self.discharge();
        self.len.store(offset, Relaxed);
        ALLOCATED.sub(u64::from(len - offset));
        let portion = self.portion.load(Relaxed).min(u64::from(len - offset));
        self.portion.sub(portion);
        second.1.portion.store(portion, Relaxed);
        if let Some(o) = owner {
            self.charge(o);
        }
        Some(second)
    }

    /// Undoes a `split` whose second part nobody got: it is taken in again.
    pub(crate) fn rejoin(&self, second: &Allocation) {
        let owner = self.owner.get();
        self.discharge();
        let len = second.len.load(Relaxed);
        self.len.add(len);
        ALLOCATED.add(u64::from(len));
        self.portion.add(second.portion.swap(0, Relaxed));
        if let Some(o) = owner {
            self.charge(o);
        }
    }

    /// Makes it writable where it is its region's only allocation.
    pub(crate) fn unshare(&self) -> bool {
        let alone = self
            .region()
            .is_some_and(|r| r.references.load(Relaxed) == 1);
        if alone {
            self.read_only.store(false, Relaxed);
        }
        alone
    }
}

/// Gives one allocation back, and its region where nobody else views that.
fn free_one(index: u32, a: &'static Allocation) {
    ALLOCATED.sub(u64::from(a.len.load(Relaxed)));
    let r = a.region.load(Relaxed);
    if let Some(region) = REGIONS.get(r) {
        let viewed = region.viewed.lock();
        viewed.remove(a);
        let paid = region.paid.sub(a.portion.load(Relaxed)) - a.portion.load(Relaxed);
        if region.references.sub(1) == 1 {
            drop(viewed);
            let size = region.size.load(Relaxed);
            memory::count_pages(-(size.div_ceil(PAGE) as i64));
            give_memory(region);
            REGIONS.give(r);
        } else if let Some(heir) = viewed.first()
            && let Some(rest @ 1..) = region.size.load(Relaxed).checked_sub(paid)
        {
            region.paid.add(rest);
            heir.pay(rest);
        }
    }
    ALLOCATIONS.give(index);
}
