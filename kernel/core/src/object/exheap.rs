//! The exchange heap ([O] 3.3.2): regions, and allocations through which they are accessed.
//!
//! A *region* is a block of memory with a count of the allocations that refer to it; an
//! *allocation* is a record of base, bounds, type and owner. Allocations move between SIPs by their
//! index. An owner holds an entry of its thread's table (`sing_runtime::XTable`), made when it
//! receives the allocation and removed when it sends or frees it. So moving an allocation costs the
//! same for any size, and a SIP that ends frees what its tables hold, without a search of anybody
//! else's.
//!
//! Small regions come from size classes, each with its own lock; larger ones have their own pages.
//! A region is zeroed when it is allocated, up to the end of the page in which its first allocation ends: nobody
//! ever gets further, neither a SIP nor, by whole pages, a device.
//!
//! Invariants:
//! - A region's bytes, rounding included, are charged once: to the payer of its only allocation
//!   ([`Allocation::portion`]) or, from the first cut or shared view on, to the SIP that made that
//!   one ([`Region::divider`]), wherever its allocations move, until one of them is left that
//!   this SIP sends away. So nobody is charged for what others do: a SIP that receives a view owes
//!   nothing once it has freed it, and one that keeps a view can charge the rest to no receiver.
//! - The charge follows the allocation: its owner pays or, while it is in a message, the sender. If
//!   the receiver has no room, the previous payer goes on paying, and the receiver is noted as its
//!   holder.

mod classes;
mod divided;
mod pages;
mod parts;
mod sweep;
mod tree;

use crate::ground::memory;
use crate::ground::trusted::{Committed, Store};
use crate::ground::trusted::{Ended, variables};
use crate::ground::work::PIECE;
use crate::object::account::Account;
use classes::{MAX_CLASS, MIN_CLASS};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use parts::AsPart;
use sing_abi::PAGE;
use sing_arch::link::Link;
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;
use sing_runtime::{Block, BlockCell};

pub(crate) use classes::chunk_pages;
pub(crate) use sweep::sweep;
pub(crate) use tree::{DeferredFrees, free, free_deferred, free_later};

/// The largest allocation, in bytes.
pub(crate) const MAX_ALLOCATION: u32 = 1 << 30;

/// Bytes that an allocation costs beside its portion: records, table entry, place in a tree. So a
/// budget also bounds the number of allocations.
pub(crate) const OVERHEAD: u64 = 256;

// Its record, its region's record, and two table entries of 32 bytes, as a table is half full at
// worst.
const _: () = assert!(Slab::<Allocation>::RECORD + Slab::<Region>::RECORD + 2 * 32 <= OVERHEAD);

/// A block of memory that allocations view.
#[derive(Default)]
struct Region {
    memory: SpinLock<Memory>,
    size: AtomicU32,
    /// The length of its first allocation; the rest is rounding, which nobody has accessed.
    len: AtomicU32,
    references: AtomicU32,
    /// The account that pays for its bytes since its SIP has divided it ([`divided`]).
    divider: Link<Account>,
}

/// Where a region's bytes come from.
enum Memory {
    /// A piece of the chunk with this index.
    Piece(Block, u32),
    /// Its own pages, if it is large: freed piece by piece.
    Own(Committed),
}

impl Default for Memory {
    fn default() -> Self {
        Memory::Own(Committed::default())
    }
}

impl Region {
    /// Its bytes, rounding included.
    fn size(&self) -> u64 {
        u64::from(self.size.load(Relaxed))
    }

    /// The bytes that are backed by memory.
    fn committed(&self) -> u64 {
        match &*self.memory.lock() {
            Memory::Piece(piece, _) => u64::from(piece.len()),
            Memory::Own(memory) => memory.committed(),
        }
    }
}

/// A view of a region, owned by one SIP or message at a time.
#[derive(Default)]
pub(crate) struct Allocation {
    region: AtomicU32,
    /// The bytes that it gives access to.
    pub(crate) block: BlockCell,
    /// Its type, as given by the SIP that made it.
    pub(crate) ty: AtomicU32,
    /// Bytes of its region that its payer is charged for: all, or none if the region is divided.
    portion: AtomicU64,
    /// The account that it is charged to: its owner's or, while it is in a message, the sender's;
    /// the sender's too if the receiver had no room. None if it is a part of another allocation.
    payer: Link<Account>,
    /// The account of the SIP that owns it, or has sent it, without paying for it.
    holder: Link<Account>,
    /// The root of its parts ([`parts`]). A part has no owner and is in no table, so an allocation
    /// with parts is a tree: it moves, and is freed, as one.
    parts: AtomicU32,
    /// Its place in the allocation that it is a part of.
    as_part: AsPart,
    /// The number of allocations below it, and the sum of their portions.
    below: AtomicU32,
    paid_below: AtomicU64,
    /// The next deferred free of the same account.
    next_deferred: AtomicU32,
}

variables! { restart:
    static REGIONS: Slab<Region> = Slab::new();
    static ALLOCATIONS: Slab<Allocation> = Slab::new();
    static ALLOCATED: AtomicU64 = AtomicU64::new(0);
}

/// Forgets all: the system has ended.
pub(crate) fn forget(ended: &Ended) {
    restart(ended);
    classes::forget(ended);
}

/// Live allocations, and the bytes in them.
pub(crate) fn counts() -> (u64, u64) {
    (u64::from(ALLOCATIONS.live()), ALLOCATED.load(Relaxed))
}

/// The stores of regions' and allocations' records.
pub(crate) fn stores() -> [&'static dyn Store; 2] {
    [&REGIONS, &ALLOCATIONS]
}

/// Returns memory of free pieces to the machine. False if that was the last of it.
pub(crate) fn trim() -> bool {
    classes::trim()
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

/// Bytes that an allocation of `len` bytes is charged for.
pub(crate) fn cost(len: u32) -> u64 {
    region_size(len) + OVERHEAD
}

/// Makes an allocation of `len` bytes, for which `payer` has been charged ([`cost`]). `None` if
/// memory is short. A large one has no memory until [`Allocation::complete`] has returned true.
pub(crate) fn allocate(
    len: u32,
    ty: u32,
    payer: &'static Account,
) -> Option<(u32, &'static Allocation)> {
    debug_assert!((1..=MAX_ALLOCATION).contains(&len));
    let size = region_size(len);
    let (r, region) = REGIONS.take()?;
    let Some(whole) = take_memory(region, size, len) else {
        REGIONS.give(r);
        return None;
    };
    region.references.store(0, Relaxed);
    region.divider.set(None);
    region.len.store(len, Relaxed);
    // A large region has less memory than asked for, or none yet.
    let block = whole.part(0, len).unwrap_or(Block::EMPTY);
    match view(r, block, ty, payer) {
        Some((index, a)) => {
            a.portion.store(size, Relaxed);
            payer.exchange.add(size);
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

/// Gives a region memory of `size` bytes, zeroed for an allocation of `len`; a block of all of it, unless it
/// is still to be completed.
fn take_memory(region: &Region, size: u64, len: u32) -> Option<Block> {
    let (memory, whole) = if size <= 1 << MAX_CLASS {
        let (piece, chunk) = classes::take(size.trailing_zeros(), len)?;
        (Memory::Piece(piece, chunk), piece)
    } else if size <= PIECE {
        let own = Committed::with(size)?;
        let whole = own.block(0, size);
        (Memory::Own(own), whole)
    } else {
        (Memory::Own(Committed::reserve(size)?), Block::EMPTY)
    };
    *region.memory.lock() = memory;
    region.size.store(size as u32, Relaxed);
    Some(whole)
}

/// Frees a region's memory. Nothing refers to it any more.
fn give_memory(region: &Region) {
    let memory = core::mem::take(&mut *region.memory.lock());
    if let Memory::Piece(piece, chunk) = memory {
        classes::give(piece, chunk);
    }
}

/// A further allocation of a region. `payer` has been charged for the record alone.
fn view(
    r: u32,
    block: Block,
    ty: u32,
    payer: &'static Account,
) -> Option<(u32, &'static Allocation)> {
    let region = REGIONS.get(r)?;
    let (index, a) = ALLOCATIONS.take()?;
    a.region.store(r, Relaxed);
    a.block.set(block);
    a.ty.store(ty, Relaxed);
    a.block.set_read_only(false);
    a.portion.store(0, Relaxed);
    a.payer.set(Some(payer));
    region.references.add(1);
    ALLOCATED.add(u64::from(block.len()));
    Some((index, a))
}

/// The allocation with this index.
#[inline(always)]
pub(crate) fn get(index: u32) -> Option<&'static Allocation> {
    ALLOCATIONS.get(index)
}

/// Whether there is an allocation with this index.
pub(crate) fn is_there(index: u32) -> bool {
    ALLOCATIONS.is_live(index)
}

impl Allocation {
    /// Its length in bytes.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.block.get().len()
    }

    /// Adds a piece of memory to a new allocation of `len` bytes. True when it is complete; `None`
    /// if memory is short.
    pub(crate) fn complete(&self, len: u32) -> Option<bool> {
        let region = self.region()?;
        let size = region.size();
        let mut memory = region.memory.lock();
        let Memory::Own(memory) = &mut *memory else {
            return Some(true);
        };
        if !memory.commit(size.min(memory.committed() + PIECE)) {
            return None;
        }
        let whole = memory.committed() == size;
        if whole && self.len() == 0 {
            self.block.set(memory.block(0, u64::from(len)));
            ALLOCATED.add(u64::from(len));
        }
        Some(whole)
    }

    /// Charges it, with all its parts, to `account`, whose SIP has received it. If that account has
    /// no room, the previous payer goes on paying, and `account` is noted as the holder.
    #[inline]
    pub(crate) fn charge(&self, account: &'static Account) {
        if self.portion.load(Relaxed) == 0 {
            self.rejoin_charge();
        }
        if !self.take_over(account) {
            let (paid, bytes) = self.cost();
            debug_assert!(paid <= bytes);
            account.borrow(bytes);
            self.holder.set(Some(account));
        }
    }

    /// Charges it, with all its parts, to `account` instead of its payer. False if `account` has no
    /// room.
    #[inline]
    pub(crate) fn take_over(&self, account: &'static Account) -> bool {
        let (paid, bytes) = self.cost();
        self.return_held(bytes);
        let Some(payer) = self.payer.get() else {
            return false;
        };
        let moved = payer.move_to(account, bytes);
        if moved {
            payer.exchange.sub(paid);
            account.exchange.add(paid);
            self.payer.set(Some(account));
        }
        moved
    }

    /// Whether `account` is what it is charged to.
    pub(crate) fn is_charged_to(&self, account: &'static Account) -> bool {
        self.payer.is(account)
    }

    /// Whether `account` pays for it, charging it now if it can: a SIP may not split what it holds
    /// at the cost of others.
    pub(crate) fn is_paid_by(&self, account: &'static Account) -> bool {
        let was_held = self.holder.get();
        let paid = was_held.is_none() || self.take_over(account);
        if !paid && let Some(holder) = was_held {
            holder.borrow(self.cost().1);
            self.holder.set(Some(holder));
        }
        paid
    }

    /// Removes its holder, if it has one.
    #[inline]
    fn return_held(&self, bytes: u64) {
        if let Some(holder) = self.holder.take() {
            holder.no_longer_borrow(bytes);
        }
    }

    /// Bytes that `account` would be charged for if its SIP received it.
    pub(crate) fn due_from(&self, account: &'static Account) -> u64 {
        if self.payer.is(account) {
            return 0;
        }
        if self.portion.load(Relaxed) == 0 {
            self.rejoin_charge();
        }
        self.cost().1
    }

    /// Removes its charge from its payer's account.
    fn discharge(&self) {
        if let Some(account) = self.payer.take() {
            let (paid, bytes) = self.cost();
            account.exchange.sub(paid);
            account.discharge(bytes);
        }
    }

    /// The sum of the portions in the tree below and including it, and the whole charge for that
    /// tree.
    #[inline]
    fn cost(&self) -> (u64, u64) {
        let (count, paid) = self.size();
        (paid, paid + count * OVERHEAD)
    }

    /// The number of allocations in the tree below and including it, and the sum of their portions.
    #[inline]
    fn size(&self) -> (u64, u64) {
        let paid = self.portion.load(Relaxed) + self.paid_below.load(Relaxed);
        (u64::from(self.below.load(Relaxed)) + 1, paid)
    }

    fn region(&self) -> Option<&'static Region> {
        REGIONS.get(self.region.load(Relaxed))
    }
}

/// Frees one allocation without parts, and its region if no other allocation views that: the bytes
/// that this frees.
fn free_one(index: u32, a: &'static Allocation) -> u64 {
    let mut bytes = 0;
    ALLOCATED.sub(u64::from(a.len()));
    let r = a.region.load(Relaxed);
    if let Some(region) = REGIONS.get(r)
        && region.references.sub(1) == 1
    {
        let size = region.size();
        memory::count_pages(-(size.div_ceil(PAGE) as i64));
        bytes = region.committed();
        give_memory(region);
        if let Some(divider) = region.divider.take() {
            divider.exchange.sub(size);
            divider.discharge(size);
        }
        REGIONS.give(r);
    }
    a.discharge();
    ALLOCATIONS.give(index);
    bytes
}

#[cfg(test)]
mod tests;
