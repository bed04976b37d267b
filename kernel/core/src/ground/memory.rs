//! The page manager: slots for linear memories, stacks, and the accounting of pages ([O] 3.3).
//!
//! A *slot* is a range of addresses with a committed mark: memory below it is accessible, and zero
//! or written by the SIP; memory above is inaccessible. The mark moves up when code first touches
//! memory above it ([`Slot::raise`], from a fault), or when it has used all of its memory and asks
//! for more, so a SIP occupies only memory that it has touched or just asked for. Slots and stacks
//! that are given back are cleared, kept in a pool and reused; each slot keeps its mark up to
//! [`KEEP`] or a little less, and where the machine can hide memory some of what was above, for a SIP of an image
//! that comes to need it again. A new owner has access to no more than its memory.
//!
//! Budgets: a SIP is charged for the memory that it asks for (its linear memory's length, stacks,
//! allocations, queues), before it gets it, so that the request fails and not a later access.

pub(crate) use crate::ground::trusted::{LinearMemory, Stack};

use crate::ground::machine;
use crate::ground::trusted::Committed;
use crate::ground::trusted::variables;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_abi::{GUARD, PAGE};
use sing_arch::lock::{Counter, SpinLock};
use sing_image::meta::MemoryMode;

/// The most bytes of memory that one step makes accessible.
pub(crate) const PIECE: u64 = 256 << 10;
/// So many committed bytes of a slot stay committed in the pool: to clear them is quicker than to
/// have the machine take them and give them again, page by page.
const KEEP: u64 = 64 << 10;
/// So many stay committed of a slot whose memory has grown, if few SIPs of its image need more of the
/// first [`KEEP`] bytes: what stays is cleared behind each SIP.
pub(crate) const KEEP_LITTLE: u64 = 40 << 10;
/// So many bytes of a slot that were committed keep their memory in the pool: what is above
/// [`KEEP`], or [`KEEP_LITTLE`], is cleared and hidden.
const KEEP_HIDDEN: u64 = 1 << 20;
/// A slot of up to this many is small. Programs that need no more get no other from the pool: what
/// stays committed is cleared after each.
const SMALL: u64 = 32 << 10;
/// The most slots and the most stacks of a kind that are kept for reuse.
const POOL: usize = 256;
/// The most memory that is kept for reuse: the machine's memory divided by this.
const POOL_PART: u64 = 64;
/// The most slots and stacks that are taken from the pools for one refused request: the idle
/// context frees the rest.
const EMPTIED: usize = 16;

variables! { forget:
    /// Pages that SIPs occupy: committed memories, stacks, exchange-heap blocks.
    static SIP_PAGES: AtomicU64 = AtomicU64::new(0);
    /// Pages of slots and stacks in pools.
    static POOL_PAGES: AtomicU64 = AtomicU64::new(0);
    /// Pages that slots in use keep hidden.
    static HIDDEN_PAGES: AtomicU64 = AtomicU64::new(0);
    /// Pages of loaded code.
    static CODE_PAGES: AtomicU64 = AtomicU64::new(0);
    static SLOTS: SpinLock<Pool> = SpinLock::new(Pool {
        guarded: Kept::NONE,
        sized: [Kept::NONE; 34],
        stacks: [const { Vec::new() }; 28],
    });
}

/// Adds `pages` (which may be negative) to the pages that SIPs occupy.
pub(crate) fn count_pages(pages: i64) {
    SIP_PAGES.add(pages as u64);
}

/// Adds loaded code.
pub(crate) fn count_code(bytes: u64) {
    CODE_PAGES.add(bytes.div_ceil(PAGE));
}

/// Subtracts unloaded code: whole pages, except at its end.
pub(crate) fn uncount_code(bytes: u64) {
    CODE_PAGES.sub(bytes.div_ceil(PAGE));
}

/// Returns the pages that SIPs occupy, that are kept for them (in pools, and hidden), and that hold
/// code.
pub(crate) fn page_counts() -> (u64, u64, u64) {
    (
        SIP_PAGES.load(Relaxed),
        POOL_PAGES.load(Relaxed) + HIDDEN_PAGES.load(Relaxed),
        CODE_PAGES.load(Relaxed),
    )
}

/// A range of addresses for one linear memory, from byte 0.
pub(crate) type Slot = Committed;

/// Slots of one size: those that are small, and the others.
struct Kept([Vec<Slot>; 2]);

impl Kept {
    const NONE: Kept = Kept([const { Vec::new() }; 2]);

    /// Takes a slot for a memory that may come to have so many bytes.
    fn pop(&mut self, bytes: u64) -> Option<Slot> {
        let [small, others] = &mut self.0;
        match bytes <= SMALL {
            true => small.pop().or_else(|| others.pop()),
            false => others.pop().or_else(|| small.pop()),
        }
    }
}

struct Pool {
    /// Slots of the guard size.
    guarded: Kept,
    /// Other slots, by `log2` of their size.
    sized: [Kept; 34],
    /// Stacks by `log2` of their size.
    stacks: [Vec<Stack>; 28],
}

fn log2_ceil(n: u64) -> usize {
    n.max(1).next_power_of_two().trailing_zeros() as usize
}

/// Whether the pools may keep this many bytes more.
fn pools_have_room(bytes: u64) -> bool {
    POOL_PAGES.load(Relaxed) + bytes / PAGE <= machine::hal().total_pages() / POOL_PART
}

/// Whether the pages that nobody has asked for, in pools and hidden in slots in use, are no more than
/// half of what the pools may keep, and the machine has not refused memory.
fn are_kept_few() -> bool {
    let kept = POOL_PAGES.load(Relaxed) + HIDDEN_PAGES.load(Relaxed);
    kept <= machine::hal().total_pages() / (2 * POOL_PART) && !machine::wants_memory()
}

/// Frees one slot or stack of the pools. Returns false if they are empty.
pub(crate) fn empty_pools() -> bool {
    let mut pool = SLOTS.lock();
    let Pool {
        guarded,
        sized,
        stacks,
    } = &mut *pool;
    let slot = sized.iter_mut().find_map(|kept| kept.pop(u64::MAX));
    let slot = slot.or_else(|| guarded.pop(u64::MAX));
    let stack = match &slot {
        None => stacks.iter_mut().find_map(Vec::pop),
        Some(_) => None,
    };
    drop(pool);
    let bytes = slot.as_ref().map(Slot::occupied);
    let bytes = bytes.or_else(|| stack.as_ref().map(Stack::bytes));
    if let Some(bytes) = bytes {
        POOL_PAGES.sub(bytes / PAGE);
    }
    bytes.is_some()
}

impl Slot {
    /// Takes a slot for a memory of `max` bytes, of which `len` exist and the first `used`,
    /// [`PIECE`] at the most, will be written at once; one like it came to have `expected` in the
    /// end. Returns `None` if addresses or memory are short.
    pub(crate) fn take(
        mode: MemoryMode,
        max: u64,
        len: u64,
        used: u64,
        expected: u64,
    ) -> Option<Slot> {
        let expected = expected.max(used);
        let (pooled, size) = match mode {
            MemoryMode::Guard => (SLOTS.lock().guarded.pop(expected), (4u64 << 30) + GUARD),
            MemoryMode::Explicit => {
                let class = log2_ceil(max.max(1 << 16));
                (SLOTS.lock().sized[class].pop(expected), 1u64 << class)
            }
        };
        let mut slot = match pooled {
            Some(s) => {
                POOL_PAGES.sub(s.occupied() / PAGE);
                s.recount([0; 2]);
                s
            }
            None => Slot::reserve(size)?,
        };
        let most = if expected <= SMALL { SMALL } else { expected };
        // A slot that has come to have much is not cut down for each SIP that happens to need less: what is
        // hidden costs that one nothing, and the next one that needs it no page faults.
        let is_too_much = slot.occupied() / 2 > most.max(KEEP) && !are_kept_few();
        if expected <= SMALL || is_too_much {
            slot.lower(most.next_multiple_of(PAGE));
        }
        // Where it is accessible it is zero.
        slot.lower_mark(len.next_multiple_of(PAGE));
        while used > slot.committed() {
            if slot.raise(used, len).is_none() {
                slot.give();
                return None;
            }
        }
        Some(slot)
    }

    /// Makes a memory of `len` bytes accessible towards `end`, by [`PIECE`] at the most, or by what
    /// the machine does as quickly. Returns
    /// true when it is accessible up to there; `None` if memory is short.
    pub(crate) fn raise(&mut self, end: u64, len: u64) -> Option<bool> {
        debug_assert!(end <= len);
        let before = self.committed();
        let mut held = self.held();
        // Grow by an eighth at least, so that sequential first touches cause few faults; and by little at
        // first, as what is accessible is cleared behind each SIP.
        let step = (before / 8).clamp(2 * PAGE, PIECE);
        let most = before + machine::hal().commits_at_once().max(PIECE);
        // What is hidden costs one call of the machine's, however much of it there is.
        let want = end
            .max(before + step)
            .max(self.occupied())
            .min(len)
            .min(most)
            .next_multiple_of(PAGE);
        let least = end.min(most).next_multiple_of(PAGE);
        for _ in 0..=EMPTIED {
            for to in [want, least] {
                if to <= before {
                    return Some(true);
                }
                let done = self.commit(to);
                self.recount(held);
                if done {
                    return Some(end <= to);
                }
                held = self.held();
            }
            // Memory in the pools is of more use here.
            if !empty_pools() {
                break;
            }
        }
        None
    }

    /// The pages below the mark, and those that are kept hidden above it.
    fn held(&self) -> [u64; 2] {
        let committed = self.committed();
        [committed, self.occupied() - committed].map(|bytes| bytes / PAGE)
    }

    /// Counts the pages of a slot in use that has held so many. What it keeps hidden is nothing that
    /// its SIP has asked for.
    fn recount(&self, [before, hidden_before]: [u64; 2]) {
        let [now, hidden] = self.held();
        count_pages(now as i64 - before as i64);
        HIDDEN_PAGES.add(hidden.wrapping_sub(hidden_before));
    }

    /// Gives memory above `to` back to the machine.
    fn lower(&mut self, to: u64) {
        let held = self.held();
        self.decommit(to);
        self.recount(held);
    }

    /// Lowers the mark to `to`, above which the memory is zero.
    fn lower_mark(&mut self, to: u64) {
        let held = self.held();
        self.hide(to);
        self.recount(held);
    }

    /// Gives up to `piece` bytes of an unused memory back to the machine, or clears and hides them.
    /// Returns false if clearing the rest is as quick.
    pub(crate) fn shrink(&mut self, piece: u64) -> bool {
        let more = self.committed() > KEEP + piece;
        if more {
            let to = self.committed() - piece;
            if machine::hal().hides() && self.committed() <= KEEP_HIDDEN {
                self.clear_part(to, piece);
                self.lower_mark(to);
            } else {
                self.lower(to);
            }
        }
        more
    }

    /// Gives an unused slot back. Its contents are gone when this returns.
    pub(crate) fn give(self) {
        self.give_keeping(KEEP);
    }

    /// The same after a SIP of an image that needs little, or not ([`KEEP_LITTLE`]).
    pub(crate) fn give_after(self, needs_little: bool) {
        let grown = self.committed() > KEEP;
        // One that has not grown stays as it is: to hide some of it, and to show it again, takes longer
        // than to clear it.
        self.give_keeping(match needs_little && grown && machine::hal().hides() {
            true => KEEP_LITTLE,
            false => KEEP,
        });
    }

    fn give_keeping(mut self, keep: u64) {
        if self.is_nothing() {
            return;
        }
        let kept = match machine::hal().hides() {
            true => KEEP_HIDDEN,
            false => KEEP,
        };
        self.lower(kept);
        self.clear();
        self.lower_mark(keep);
        let mut pool = SLOTS.lock();
        let Kept(lists) = if self.reserved() > 4 << 30 {
            &mut pool.guarded
        } else {
            &mut pool.sized[log2_ceil(self.reserved())]
        };
        let bytes = self.occupied();
        let list = &mut lists[usize::from(bytes > SMALL)];
        if list.len() >= POOL || !pools_have_room(bytes) || list.try_reserve(1).is_err() {
            drop(pool);
            self.lower(0);
            return;
        }
        let [committed, hidden] = self.held();
        count_pages(-(committed as i64));
        HIDDEN_PAGES.sub(hidden);
        POOL_PAGES.add(bytes / PAGE);
        #[expect(clippy::disallowed_methods, reason = "there is room")]
        list.push(self);
    }
}

impl Stack {
    /// Takes a stack of this many bytes (from [`sing_image::manifest::stack_bytes`]). Returns
    /// `None` if memory is short.
    pub(crate) fn take(bytes: u64) -> Option<Stack> {
        if let Some(s) = SLOTS.lock().stacks[log2_ceil(bytes)].pop() {
            POOL_PAGES.sub(bytes / PAGE);
            count_pages((bytes / PAGE) as i64);
            return Some(s);
        }
        let mut made = Stack::new(bytes);
        // Memory of slots and stacks in the pools may suffice.
        for _ in 0..EMPTIED {
            if made.is_some() || !empty_pools() {
                break;
            }
            made = Stack::new(bytes);
        }
        let stack = made?;
        stack.is_used();
        Some(stack)
    }

    /// Counts the stack as occupied by a SIP.
    pub(crate) fn is_used(&self) {
        count_pages((self.bytes() / PAGE) as i64);
    }

    /// Counts the stack as occupied by nobody.
    pub(crate) fn is_unused(&self) {
        count_pages(-((self.bytes() / PAGE) as i64));
    }

    /// Gives the stack back. Its contents are never read as data by a later owner, so it is not
    /// cleared.
    pub(crate) fn give(self) {
        let bytes = self.bytes();
        if bytes == 0 {
            return;
        }
        self.is_unused();
        let mut pool = SLOTS.lock();
        let list = &mut pool.stacks[log2_ceil(bytes)];
        if self.is_whole()
            && list.len() < POOL
            && pools_have_room(bytes)
            && list.try_reserve(1).is_ok()
        {
            #[expect(clippy::disallowed_methods, reason = "there is room")]
            list.push(self);
            POOL_PAGES.add(bytes / PAGE);
        }
    }
}
