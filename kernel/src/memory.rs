//! The page manager: slots for linear memories, stacks, and who owns how many pages ([O] 3.3).
//!
//! A *slot* is a range of addresses with a committed mark: below it the memory is accessible and zeroed or
//! the SIP's, above it nothing is. The mark moves up when code first touches what lies above
//! ([`Slot::commit`], from a fault), so a SIP occupies what it has touched. Slots and stacks that are given
//! back are cleared, kept in a pool and reused; how much of a slot is accessible is the slot's own state, and
//! a new owner with a smaller memory gets the excess taken away first.
//!
//! Budgets: a SIP is charged for the memory that it asks for (its linear memory's length, stacks, allocations,
//! queues), before it gets it, so that asking fails instead of touching.

use crate::machine::hal;
use crate::trusted;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_abi::{GUARD, PAGE};
use sing_arch::lock::{Counter, SpinLock};
use sing_image::meta::MemoryMode;

/// Slots of up to this many committed bytes stay committed in the pool.
const KEEP: u64 = 64 << 10;
/// Slots and stacks kept for reuse, at most.
const POOL: usize = 256;
/// Part of a stack that code of SIPs never uses: the kernel's entries and an interrupt's frame need it.
pub(crate) const STACK_RESERVE: u64 = 24 << 10;
/// Default size of a stack that SIP code may use, in bytes.
pub(crate) const DEFAULT_STACK: u64 = 40 << 10;
/// The largest stack that a manifest may ask for, in bytes.
pub(crate) const MAX_STACK: u64 = 64 << 20;

/// Pages that SIPs occupy: committed memories, stacks, exchange-heap blocks.
static SIP_PAGES: AtomicU64 = AtomicU64::new(0);
/// Pages in pools.
static POOL_PAGES: AtomicU64 = AtomicU64::new(0);
/// Pages of code.
static CODE_PAGES: AtomicU64 = AtomicU64::new(0);

/// Counts `pages` more (or fewer) that SIPs occupy.
pub(crate) fn count_pages(pages: i64) {
    SIP_PAGES.add(pages as u64);
}

/// Counts pages of code.
pub(crate) fn count_code(bytes: u64) {
    CODE_PAGES.add(bytes.div_ceil(PAGE));
}

/// Pages that SIPs occupy, that wait in pools, and that hold code.
pub(crate) fn page_counts() -> (u64, u64, u64) {
    (
        SIP_PAGES.load(Relaxed),
        POOL_PAGES.load(Relaxed),
        CODE_PAGES.load(Relaxed),
    )
}

/// A range of addresses for one linear memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Address of byte 0.
    pub(crate) base: u64,
    /// Bytes of addresses reserved.
    reserved: u64,
    /// Bytes accessible from byte 0 on; a multiple of a page.
    pub(crate) committed: u64,
}

struct Pool {
    /// Slots of the guard size.
    guarded: Vec<Slot>,
    /// Others, by `log2` of their size.
    sized: [Vec<Slot>; 34],
    /// Stacks by `log2` of their size.
    stacks: [Vec<Stack>; 28],
}

static SLOTS: SpinLock<Pool> = SpinLock::new(Pool {
    guarded: Vec::new(),
    sized: [const { Vec::new() }; 34],
    stacks: [const { Vec::new() }; 28],
});

fn log2_ceil(n: u64) -> usize {
    n.max(1).next_power_of_two().trailing_zeros() as usize
}

impl Slot {
    /// A slot for a memory of `max` bytes, of which `len` exist and the first `used` will be written at once.
    /// `None` where addresses or memory are short.
    pub(crate) fn take(mode: MemoryMode, max: u64, len: u64, used: u64) -> Option<Slot> {
        let (pooled, size) = match mode {
            MemoryMode::Guard => (SLOTS.lock().guarded.pop(), (4u64 << 30) + GUARD),
            MemoryMode::Explicit => {
                let class = log2_ceil(max.max(1 << 16));
                (SLOTS.lock().sized[class].pop(), 1u64 << class)
            }
        };
        let mut slot = match pooled {
            Some(s) => {
                POOL_PAGES.sub(s.committed / PAGE);
                count_pages((s.committed / PAGE) as i64);
                s
            }
            None => Slot {
                base: hal().reserve(size)?,
                reserved: size,
                committed: 0,
            },
        };
        if slot.committed > len {
            slot.decommit_from(len.next_multiple_of(PAGE));
        }
        if used > slot.committed && !slot.commit(used, len) {
            slot.give();
            return None;
        }
        Some(slot)
    }

    /// Makes at least `end` bytes accessible, of a memory of `len`. False where memory is short.
    pub(crate) fn commit(&mut self, end: u64, len: u64) -> bool {
        debug_assert!(end <= len);
        // Grow by an eighth at least, so that a memory that is filled bit by bit costs few faults.
        let step = (self.committed / 8).clamp(4 * PAGE, 4 << 20);
        let want = end
            .max(self.committed + step)
            .min(len)
            .next_multiple_of(PAGE);
        let least = end.next_multiple_of(PAGE);
        for to in [want, least] {
            if to <= self.committed {
                return true;
            }
            if hal().commit(self.base + self.committed, to - self.committed) {
                count_pages(((to - self.committed) / PAGE) as i64);
                self.committed = to;
                return true;
            }
        }
        false
    }

    fn decommit_from(&mut self, at: u64) {
        if at < self.committed {
            hal().decommit(self.base + at, self.committed - at);
            count_pages(-(((self.committed - at) / PAGE) as i64));
            self.committed = at;
        }
    }

    /// Gives up to `piece` bytes of a memory that nobody uses any more back to the machine. False where what is left
    /// is cleared as quickly.
    pub(crate) fn shrink(&mut self, piece: u64) -> bool {
        let more = self.committed > KEEP + piece;
        if more {
            self.decommit_from(self.committed - piece);
        }
        more
    }

    /// Gives the slot back; nobody uses it any more. Its contents are gone when this returns.
    pub(crate) fn give(mut self) {
        if self.reserved == 0 {
            return;
        }
        self.decommit_from(KEEP);
        trusted::clear(self.base, self.committed);
        let mut pool = SLOTS.lock();
        let list = if self.reserved > 4 << 30 {
            &mut pool.guarded
        } else {
            &mut pool.sized[log2_ceil(self.reserved)]
        };
        if list.len() >= POOL {
            drop(pool);
            self.decommit_from(0);
            hal().release(self.base, self.reserved);
            return;
        }
        count_pages(-((self.committed / PAGE) as i64));
        POOL_PAGES.add(self.committed / PAGE);
        list.push(self);
    }
}

/// A stack.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stack {
    /// Its lowest accessible address.
    pub(crate) bottom: u64,
    /// Its bytes.
    pub(crate) size: u64,
}

impl Stack {
    /// Bytes that a stack takes of which SIP code may use `usable`.
    pub(crate) fn bytes_for(usable: u64) -> u64 {
        1 << log2_ceil(usable.min(MAX_STACK) + STACK_RESERVE)
    }

    /// A stack of this many bytes (from [`Stack::bytes_for`]). `None` where memory is short.
    pub(crate) fn take(bytes: u64) -> Option<Stack> {
        if let Some(s) = SLOTS.lock().stacks[log2_ceil(bytes)].pop() {
            POOL_PAGES.sub(bytes / PAGE);
            count_pages((bytes / PAGE) as i64);
            return Some(s);
        }
        // The page below stays inaccessible.
        let at = hal().reserve(bytes + PAGE)?;
        if !hal().commit(at + PAGE, bytes) {
            hal().release(at, bytes + PAGE);
            return None;
        }
        count_pages((bytes / PAGE) as i64);
        Some(Stack {
            bottom: at + PAGE,
            size: bytes,
        })
    }

    /// The address behind its last byte.
    pub(crate) fn top(&self) -> u64 {
        self.bottom + self.size
    }

    /// Gives it back. What stands in it is never read as data by a later owner, so it is not cleared.
    pub(crate) fn give(self) {
        if self.size == 0 {
            return;
        }
        count_pages(-((self.size / PAGE) as i64));
        let mut pool = SLOTS.lock();
        let list = &mut pool.stacks[log2_ceil(self.size)];
        if list.len() >= POOL {
            drop(pool);
            hal().release(self.bottom - PAGE, self.size + PAGE);
            return;
        }
        list.push(self);
        POOL_PAGES.add(self.size / PAGE);
    }
}
