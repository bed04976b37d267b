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
//! - The portions of a region's allocations ([`Allocation::portion`]) add up to all its bytes, rounding included, and each is
//!   on the account of somebody who has had them: nobody is charged for what others do. An allocation that is given
//!   up while others view its region leaves its record behind, which pays for its portion until the region is gone: who cuts
//!   or shares a region pays for what of it he has not given away.
//! - What an allocation is charged for follows it: whoever has it, or sent it where it is in a message, pays. Where the
//!   one who receives it has no room, whoever paid before goes on to, and the other is noted as its holder.

mod classes;
mod parts;
mod sweep;
mod tree;

use crate::ground::memory;
use crate::ground::trusted::{Committed, Store};
use crate::ground::work::PIECE;
use crate::object::account::Account;
use classes::{MAX_CLASS, MIN_CLASS};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use parts::AsPart;
use sing_abi::PAGE;
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;
use sing_runtime::{Block, BlockCell};

pub(crate) use classes::chunk_pages;
pub(crate) use sweep::sweep;
pub(crate) use tree::{Graves, bury, dig, free};

/// The largest allocation, in bytes.
pub(crate) const MAX_ALLOCATION: u32 = 1 << 30;

/// What an allocation costs its owner beside its part of a region: records, table entry, place in a tree. So a budget
/// also bounds how many allocations there are.
pub(crate) const OVERHEAD: u64 = 256;

// A record, that of its region, and two entries in a thread's table, which is half full at worst.
const _: () = assert!(Slab::<Allocation>::RECORD + Slab::<Region>::RECORD + 2 * 32 <= OVERHEAD);

/// A block of memory.
#[derive(Default)]
struct Region {
    memory: SpinLock<Memory>,
    size: AtomicU32,
    references: AtomicU32,
    /// Allocations of it that have been given up, and still pay for their portions.
    left: SpinLock<List<Allocation>>,
}

/// What a region's bytes are.
enum Memory {
    /// A piece of the chunk with this index.
    Piece(Block, u32),
    /// Memory of its own, where it is large: given back piece by piece.
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

    /// Those of them that are there.
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
    node: Node<Allocation>,
    region: AtomicU32,
    /// Its bytes.
    pub(crate) block: BlockCell,
    /// Its type, as the SIP that made it said.
    pub(crate) ty: AtomicU32,
    /// Bytes of its region that its payer is charged for.
    portion: AtomicU64,
    /// The account that it is charged to: of the SIP that has it or, while it is in a message, that sent it; or of one that
    /// sent it to a SIP that had no room. None where it is a part of another.
    payer: Link<Account>,
    /// The account of the SIP that has it, or sent it, without paying for it.
    holder: Link<Account>,
    /// The first of its parts ([`parts`]). A part has no owner and is in no table, so what has parts is a
    /// tree: it moves, and is given back, as one.
    parts: AtomicU32,
    /// Its place in what it is a part of.
    as_part: AsPart,
    /// How many allocations there are below it, and the sum of their portions.
    below: AtomicU32,
    paid_below: AtomicU64,
    /// The next one that waits to be given back; of one that a region keeps, its own index.
    next_grave: AtomicU32,
}

impl Linked for Allocation {
    fn node(&self) -> &Node<Allocation> {
        &self.node
    }
}

static REGIONS: Slab<Region> = Slab::new();
static ALLOCATIONS: Slab<Allocation> = Slab::new();
static ALLOCATED: AtomicU64 = AtomicU64::new(0);

/// Records of allocations that have been given up and still pay for a part of a region.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// Live allocations, and the bytes in them.
pub(crate) fn counts() -> (u64, u64) {
    let live = u64::from(ALLOCATIONS.live()) - LEFT.load(Relaxed);
    (live, ALLOCATED.load(Relaxed))
}

/// The stores of the exchange heap.
pub(crate) fn stores() -> [&'static dyn Store; 2] {
    [&REGIONS, &ALLOCATIONS]
}

/// Gives memory of free pieces back. False where that was the last of it.
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

/// What an allocation of `len` bytes is charged for.
pub(crate) fn cost(len: u32) -> u64 {
    region_size(len) + OVERHEAD
}

/// Makes an allocation of `len` bytes, which `payer` has been charged for ([`cost`]). `None` where memory is short. Of a
/// large one nothing is there until [`Allocation::complete`] says so.
pub(crate) fn allocate(
    len: u32,
    ty: u32,
    payer: &'static Account,
) -> Option<(u32, &'static Allocation)> {
    debug_assert!((1..=MAX_ALLOCATION).contains(&len));
    let size = region_size(len);
    let (r, region) = REGIONS.take()?;
    let Some(whole) = take_memory(region, size) else {
        REGIONS.give(r);
        return None;
    };
    region.references.store(0, Relaxed);
    // Of a large region, nothing is there yet, or less than asked for.
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

/// Gives a region memory of this size, zeroed; all of it, where that is there at once.
fn take_memory(region: &Region, size: u64) -> Option<Block> {
    let (memory, whole) = if size <= 1 << MAX_CLASS {
        let (piece, chunk) = classes::take(size.trailing_zeros())?;
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

/// Gives a region's memory back. Nothing refers to it any more.
fn give_memory(region: &Region) {
    let memory = core::mem::take(&mut *region.memory.lock());
    if let Memory::Piece(piece, chunk) = memory {
        classes::give(piece, chunk);
    }
}

/// A further allocation of a region, whose `payer` has been charged for the record alone.
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

    /// Takes a piece of the memory for a new allocation of `len` bytes. True when all is there; `None` where memory is
    /// short.
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

    /// Charges it, with all its parts, to `account`, whose SIP has received it. Where that has no room, whoever paid goes on
    /// to, and the other holds it so.
    #[inline]
    pub(crate) fn charge(&self, account: &'static Account) {
        if !self.take_over(account) {
            let (paid, bytes) = self.cost();
            debug_assert!(paid <= bytes);
            account.borrow(bytes);
            self.holder.set(Some(account));
        }
    }

    /// Charges it, with all its parts, to `account` instead of the one that was charged before. False where that has no room.
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

    /// Whether `account` pays for it, or could: what it holds at the cost of others it does not cut.
    pub(crate) fn is_paid_by(&self, account: &'static Account) -> bool {
        let was_held = self.holder.get();
        let paid = was_held.is_none() || self.take_over(account);
        if !paid && let Some(holder) = was_held {
            holder.borrow(self.cost().1);
            self.holder.set(Some(holder));
        }
        paid
    }

    /// Whoever holds it without paying has it no more.
    #[inline]
    fn return_held(&self, bytes: u64) {
        if let Some(holder) = self.holder.take() {
            holder.no_longer_borrow(bytes);
        }
    }

    /// What `account` would be charged for where its SIP receives it.
    pub(crate) fn due_from(&self, account: &'static Account) -> u64 {
        if self.payer.is(account) {
            0
        } else {
            self.cost().1
        }
    }

    /// Takes what it is charged for off its payer's account.
    fn discharge(&self) {
        if let Some(account) = self.payer.take() {
            let (paid, bytes) = self.cost();
            account.exchange.sub(paid);
            account.discharge(bytes);
        }
    }

    /// The sum of the portions in the tree that it is the root of, and what is charged for all of that.
    #[inline]
    fn cost(&self) -> (u64, u64) {
        let (count, paid) = self.size();
        (paid, paid + count * OVERHEAD)
    }

    /// Allocations in the tree that it is the root of, and the sum of their portions.
    #[inline]
    fn size(&self) -> (u64, u64) {
        let paid = self.portion.load(Relaxed) + self.paid_below.load(Relaxed);
        (u64::from(self.below.load(Relaxed)) + 1, paid)
    }

    fn region(&self) -> Option<&'static Region> {
        REGIONS.get(self.region.load(Relaxed))
    }

    /// A second, read-only view of `start..end`; this one becomes read-only, too. It pays for nothing of the region, and
    /// `account` for its record. `None` where that has no room, or memory is short.
    pub(crate) fn share(
        &self,
        start: u32,
        end: u32,
        account: &'static Account,
    ) -> Option<(u32, &'static Allocation)> {
        let block = self.block.get().part(start, end)?;
        let second = self.second(block, account)?;
        second.1.block.set_read_only(true);
        self.block.set_read_only(true);
        Some(second)
    }

    /// A second allocation of its region, which pays for nothing of that.
    fn second(
        &self,
        block: Block,
        account: &'static Account,
    ) -> Option<(u32, &'static Allocation)> {
        if !account.charge(OVERHEAD) {
            return None;
        }
        let second = view(
            self.region.load(Relaxed),
            block,
            self.ty.load(Relaxed),
            account,
        );
        if second.is_none() {
            account.discharge(OVERHEAD);
        }
        second
    }

    /// Whether nothing can be written through it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.block.is_read_only()
    }

    /// Undoes a `share` whose second view nobody got.
    pub(crate) fn restore_writable(&self) {
        self.block.set_read_only(false);
    }

    /// Cuts it at `offset`; the second part. `None` where its payer has no room for a further record, or memory is short.
    pub(crate) fn split(&self, offset: u32) -> Option<(u32, &'static Allocation)> {
        let (block, len) = (self.block.get(), self.len());
        let (first, rest) = (block.part(0, offset)?, block.part(offset, len)?);
        let second = self.second(rest, self.payer.get()?)?;
        second.1.block.set_read_only(self.is_read_only());
        self.block.set(first);
        ALLOCATED.sub(u64::from(len - offset));
        let portion = self.portion.load(Relaxed).min(u64::from(len - offset));
        self.portion.sub(portion);
        second.1.portion.store(portion, Relaxed);
        Some(second)
    }

    /// Undoes a `split` whose second part nobody got: it is taken in again.
    pub(crate) fn rejoin(&self, second: &Allocation) {
        let Some(whole) = self.block.get().joined(second.block.get()) else {
            return;
        };
        self.block.set(whole);
        ALLOCATED.add(u64::from(second.len()));
        self.portion.add(second.portion.swap(0, Relaxed));
    }

    /// Makes it writable where it is its region's only allocation.
    pub(crate) fn unshare(&self) -> bool {
        let alone = self
            .region()
            .is_some_and(|r| r.references.load(Relaxed) == 1);
        if alone {
            self.block.set_read_only(false);
        }
        alone
    }
}

/// Gives one allocation back, which has no parts, and its region where nobody else views that: bytes that are free then.
fn free_one(index: u32, a: &'static Allocation) -> u64 {
    let mut bytes = 0;
    ALLOCATED.sub(u64::from(a.len()));
    let r = a.region.load(Relaxed);
    if let Some(region) = REGIONS.get(r) {
        if region.references.sub(1) == 1 {
            let size = region.size();
            memory::count_pages(-(size.div_ceil(PAGE) as i64));
            bytes = region.committed();
            give_memory(region);
            REGIONS.give(r);
        } else if region.keep(index, a) {
            return 0;
        }
    }
    a.discharge();
    ALLOCATIONS.give(index);
    bytes
}

impl Region {
    /// An allocation of it has been given up, and others are left: keeps what that paid for on its payer's account. Whether
    /// the record is needed for that.
    fn keep(&self, index: u32, a: &'static Allocation) -> bool {
        let portion = a.portion.load(Relaxed);
        if portion == 0 {
            return false;
        }
        let left = self.left.lock();
        // Most often all are of one account.
        if let (Some(same), Some(payer)) = (left.first(), a.payer.get())
            && same.payer.is(payer)
        {
            same.portion.add(portion);
            a.portion.store(0, Relaxed);
            return false;
        }
        a.next_grave.store(index, Relaxed);
        a.block.set(Block::EMPTY);
        left.push(a);
        LEFT.add(1);
        true
    }

    /// Lets one of those go that have been given up. False where there is none.
    fn let_go(&self) -> bool {
        let left = self.left.lock().pop();
        if let Some(a) = left {
            LEFT.sub(1);
            a.discharge();
            ALLOCATIONS.give(a.next_grave.load(Relaxed));
        }
        left.is_some()
    }

    /// Whether the next allocation of it that is given back is the last, and others have left something to pay for.
    fn has_left(&self) -> bool {
        self.references.load(Relaxed) == 1 && !self.left.lock().is_empty()
    }
}
