//! The exchange heap ([O] 3.3.2): regions, and allocations through which they are accessed.
//!
//! A *region* is a block of memory with a count of the allocations that refer to it; an *allocation* is a
//! record of base, bounds, type and owner. Allocations move between SIPs, by their index; what an owner holds
//! is an entry of its thread's table (`sing_runtime::XTable`), made when it receives the allocation and taken
//! away when it sends or frees it. So moving one costs the same for any size, and a SIP that ends gives back
//! what its tables hold, without a walk over anybody else's.
//!
//! Small regions come from size classes, each with its own lock and free list; larger ones from pages of
//! their own. A region is zeroed when it is allocated.

use crate::machine::hal;
use crate::memory;
use crate::sip::Sip;
use crate::trusted;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::PAGE;
use sing_abi::status;
use sing_arch::link::Link;
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;

/// The smallest class, as a power of two.
const MIN_CLASS: u32 = 6;
/// The largest class, as a power of two; larger regions are mapped one by one.
const MAX_CLASS: u32 = 17;
/// What a class asks the machine for at a time, in bytes.
const CHUNK: u64 = 256 << 10;
/// The largest allocation, in bytes.
pub(crate) const MAX_ALLOCATION: u32 = 1 << 30;

/// What an allocation costs its owner beside its bytes: records, table entry, the rounding of small regions. So a
/// budget also bounds how many allocations there are.
pub(crate) const OVERHEAD: u64 = 160;

/// A block of memory.
#[derive(Default)]
struct Region {
    at: AtomicU64,
    size: AtomicU64,
    references: AtomicU32,
}

/// A view of a region, owned by one SIP or message at a time.
#[derive(Default)]
pub(crate) struct Allocation {
    region: AtomicU32,
    /// Address of its first byte.
    pub(crate) base: AtomicU64,
    /// Its bytes.
    pub(crate) len: AtomicU32,
    /// Its type, as the SIP that made it said.
    pub(crate) ty: AtomicU32,
    read_only: AtomicBool,
    /// The SIP that it is charged to, and that SIP's id then: whoever has it or, while it is in a message, whoever sent
    /// it. None where it is a part of another.
    owner: Link<Sip>,
    owner_id: AtomicU32,
    /// Its parts: their offsets in it, ascending, and indices. A part has no owner and is in no table, so what has
    /// parts is a tree: it moves, and is given back, as one.
    parts: SpinLock<Vec<(u32, u32)>>,
    /// How many allocations there are below it, and their bytes.
    below: AtomicU32,
    bytes_below: AtomicU64,
}

static REGIONS: Slab<Region> = Slab::new();
static ALLOCATIONS: Slab<Allocation> = Slab::new();
static CLASSES: [SpinLock<Vec<u64>>; (MAX_CLASS + 1) as usize] =
    [const { SpinLock::new(Vec::new()) }; (MAX_CLASS + 1) as usize];
static ALLOCATED: AtomicU64 = AtomicU64::new(0);

/// Live allocations, and the bytes in them.
pub(crate) fn counts() -> (u64, u64) {
    (u64::from(ALLOCATIONS.live()), ALLOCATED.load(Relaxed))
}

fn class_of(len: u32) -> u32 {
    (64 - u64::from(len - 1).leading_zeros()).max(MIN_CLASS)
}

/// Memory for a region of this class, zeroed.
fn take_class(class: u32) -> Option<u64> {
    let size = 1u64 << class;
    let mut free = CLASSES[class as usize].lock();
    let at = match free.pop() {
        Some(at) => {
            trusted::clear(at, size);
            at
        }
        None => {
            let at = hal().reserve(CHUNK)?;
            if !hal().commit(at, CHUNK) {
                hal().release(at, CHUNK);
                return None;
            }
            free.extend((1..CHUNK / size).rev().map(|i| at + i * size));
            at
        }
    };
    Some(at)
}

fn take_memory(len: u32) -> Option<(u64, u64)> {
    let class = class_of(len);
    if class <= MAX_CLASS {
        return Some((take_class(class)?, 1 << class));
    }
    let size = u64::from(len).next_multiple_of(PAGE);
    let at = hal().reserve(size)?;
    if !hal().commit(at, size) {
        hal().release(at, size);
        return None;
    }
    Some((at, size))
}

fn give_memory(at: u64, size: u64) {
    if size <= 1 << MAX_CLASS {
        CLASSES[size.trailing_zeros() as usize].lock().push(at);
    } else {
        hal().release(at, size);
    }
}

/// Makes an allocation of `len` bytes, owned by nobody yet. `None` where memory is short.
pub(crate) fn allocate(len: u32, ty: u32) -> Option<(u32, &'static Allocation)> {
    debug_assert!((1..=MAX_ALLOCATION).contains(&len));
    let (at, size) = take_memory(len)?;
    let Some((r, region)) = REGIONS.take() else {
        give_memory(at, size);
        return None;
    };
    region.at.store(at, Relaxed);
    region.size.store(size, Relaxed);
    region.references.store(1, Relaxed);
    match view(r, at, len, ty, false) {
        Some(a) => {
            memory::count_pages(size.div_ceil(PAGE) as i64);
            Some(a)
        }
        None => {
            give_memory(at, size);
            REGIONS.give(r);
            None
        }
    }
}

fn view(
    region: u32,
    base: u64,
    len: u32,
    ty: u32,
    read_only: bool,
) -> Option<(u32, &'static Allocation)> {
    let (index, a) = ALLOCATIONS.take()?;
    a.region.store(region, Relaxed);
    a.base.store(base, Relaxed);
    a.len.store(len, Relaxed);
    a.ty.store(ty, Relaxed);
    a.read_only.store(read_only, Relaxed);
    a.owner.set(None);
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

    /// Charges it, with all its parts, to `sip` instead of who was charged before. A SIP that receives more than its
    /// budget has room for keeps it, and cannot allocate until it has given back.
    #[inline]
    pub(crate) fn charge(&self, sip: &'static Sip) {
        self.discharge();
        self.owner.set(Some(sip));
        self.owner_id.store(sip.id(), Relaxed);
        let (count, bytes) = self.size();
        sip.charged.add(bytes + count * OVERHEAD);
        sip.exchange.add(bytes);
    }

    /// Takes it off its owner's account.
    #[inline]
    pub(crate) fn discharge(&self) {
        // Who sent it may have ended since, and the object stand for another SIP.
        if let Some(sip) = self.owner.take()
            && sip.id() == self.owner_id.load(Relaxed)
        {
            let (count, bytes) = self.size();
            sip.charged.sub(bytes + count * OVERHEAD);
            sip.exchange.sub(bytes);
        }
    }

    /// Allocations in the tree that it is the root of, and their bytes.
    #[inline]
    fn size(&self) -> (u64, u64) {
        let bytes = u64::from(self.len.load(Relaxed)) + self.bytes_below.load(Relaxed);
        (u64::from(self.below.load(Relaxed)) + 1, bytes)
    }

    /// Whether it has parts.
    pub(crate) fn has_parts(&self) -> bool {
        self.below.load(Relaxed) != 0
    }

    /// Whether there is a part at this offset, or one could be.
    pub(crate) fn takes_part_at(&self, offset: u32) -> Result<(), i32> {
        let inside =
            offset.is_multiple_of(4) && u64::from(offset) + 4 <= u64::from(self.len.load(Relaxed));
        let parts = self.parts.lock();
        if !inside {
            Err(status::BAD_ARGUMENT)
        } else if self.read_only.load(Relaxed)
            || parts.binary_search_by_key(&offset, |p| p.0).is_ok()
        {
            Err(status::BAD_STATE)
        } else {
            Ok(())
        }
    }

    /// Makes the allocation of this index, which is in nobody's table any more, a part.
    pub(crate) fn attach(&self, offset: u32, index: u32) {
        let Some(part) = get(index) else {
            return;
        };
        part.discharge();
        let owner = self.owner.get();
        self.discharge();
        let mut parts = self.parts.lock();
        let at = parts.partition_point(|p| p.0 < offset);
        parts.insert(at, (offset, index));
        drop(parts);
        let (count, bytes) = part.size();
        self.below.add(count as u32);
        self.bytes_below.add(bytes);
        if let Some(sip) = owner {
            self.charge(sip);
        }
    }

    /// Takes the part at an offset out; its index.
    pub(crate) fn detach(&self, offset: u32) -> Option<u32> {
        let mut parts = self.parts.lock();
        let at = parts.binary_search_by_key(&offset, |p| p.0).ok()?;
        let (_, index) = parts.remove(at);
        drop(parts);
        let part = get(index)?;
        let owner = self.owner.get();
        self.discharge();
        let (count, bytes) = part.size();
        self.below.sub(count as u32);
        self.bytes_below.sub(bytes);
        if let Some(sip) = owner {
            self.charge(sip);
        }
        Some(index)
    }

    fn region(&self) -> Option<&'static Region> {
        REGIONS.get(self.region.load(Relaxed))
    }

    /// A second, read-only view of `start..end`; this one becomes read-only, too.
    pub(crate) fn share(&self, start: u32, end: u32) -> Option<(u32, &'static Allocation)> {
        let base = self.base.load(Relaxed) + u64::from(start);
        let a = view(
            self.region.load(Relaxed),
            base,
            end - start,
            self.ty.load(Relaxed),
            true,
        )?;
        self.region()?.references.add(1);
        self.read_only.store(true, Relaxed);
        Some(a)
    }

    /// Cuts it at `offset`; the second part.
    pub(crate) fn split(&self, offset: u32) -> Option<(u32, &'static Allocation)> {
        let len = self.len.load(Relaxed);
        let base = self.base.load(Relaxed) + u64::from(offset);
        let read_only = self.read_only.load(Relaxed);
        let ty = self.ty.load(Relaxed);
        let a = view(self.region.load(Relaxed), base, len - offset, ty, read_only)?;
        self.region()?.references.add(1);
        let owner = self.owner.get();
        self.discharge();
        self.len.store(offset, Relaxed);
        ALLOCATED.sub(u64::from(len - offset));
        if let Some(o) = owner {
            self.charge(o);
        }
        Some(a)
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

/// Gives an allocation back, with all its parts; nobody has it in a table any more.
pub(crate) fn free(index: u32) {
    let Some(a) = ALLOCATIONS.get(index) else {
        return;
    };
    a.discharge();
    if !a.has_parts() {
        free_one(index, a);
        return;
    }
    let mut todo = alloc::vec![index];
    while let Some(index) = todo.pop() {
        if let Some(a) = ALLOCATIONS.get(index) {
            let parts = core::mem::take(&mut *a.parts.lock());
            todo.extend(parts.iter().map(|p| p.1));
            a.below.store(0, Relaxed);
            a.bytes_below.store(0, Relaxed);
            free_one(index, a);
        }
    }
}

fn free_one(index: u32, a: &Allocation) {
    ALLOCATED.sub(u64::from(a.len.load(Relaxed)));
    let r = a.region.load(Relaxed);
    if let Some(region) = REGIONS.get(r)
        && region.references.sub(1) == 1
    {
        let (at, size) = (region.at.load(Relaxed), region.size.load(Relaxed));
        memory::count_pages(-(size.div_ceil(PAGE) as i64));
        give_memory(at, size);
        REGIONS.give(r);
    }
    ALLOCATIONS.give(index);
}
