//! Trees of allocations, and freeing them.
//!
//! A tree can have as many allocations as a budget pays for, and a region as many pages; so they
//! are freed in steps of bounded cost ([`free_deferred`]), between which others can run. Deferred
//! frees are a list of the account that pays: they are still charged to it, are in no table, and
//! are linked through their records, so that freeing memory needs none.

use super::{ALLOCATIONS, Allocation, Memory, Region, free_one, get};
use crate::ground::work::{PIECE, Work};
use crate::object::account::Account;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_arch::lock::Counter;

/// The end of the list.
const NONE: u32 = u32::MAX;

/// Allocations that have been given up and are not freed yet: a stack, linked by
/// [`Allocation::next_deferred`].
#[derive(Default)]
pub(crate) struct DeferredFrees {
    /// The index of the first one.
    top: Option<u32>,
}

impl DeferredFrees {
    /// Whether there is none.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.top.is_none()
    }

    fn push(&mut self, index: u32, a: &Allocation) {
        let next = self.top.replace(index).unwrap_or(NONE);
        a.next_deferred.store(next, Relaxed);
    }
}

impl Allocation {
    /// Whether it has parts.
    pub(crate) fn has_parts(&self) -> bool {
        self.below.load(Relaxed) != 0
    }

    /// Whether a part can be attached at this offset.
    pub(crate) fn takes_part_at(&'static self, offset: u32) -> Result<(), i32> {
        let inside = offset.is_multiple_of(4) && u64::from(offset) + 4 <= u64::from(self.len());
        if !inside {
            Err(status::BAD_ARGUMENT)
        } else if self.is_read_only() || self.has_part_at(offset) {
            Err(status::BAD_STATE)
        } else {
            Ok(())
        }
    }

    /// Attaches the allocation of this index, which is in no table any more, as a part. Both have
    /// the same payer.
    pub(crate) fn attach(&'static self, offset: u32, index: u32) {
        let Some(part) = get(index) else {
            return;
        };
        debug_assert!(self.payer.get().is_some_and(|p| part.payer.is(p)));
        // What is alone in its region moves on with the tree, charge and all.
        part.rejoin_charge();
        part.payer.set(None);
        self.insert_part(offset, index, part);
        let (count, paid) = part.size();
        self.below.add(count as u32);
        self.paid_below.add(paid);
    }

    /// Detaches the part at an offset; its index. The tree's payer goes on paying for it.
    pub(crate) fn detach(&'static self, offset: u32) -> Option<u32> {
        let index = self.remove_part(offset)?;
        let part = get(index)?;
        part.payer.set(self.payer.get());
        self.has_no_more(part);
        Some(index)
    }

    /// Subtracts a detached part from the sums.
    fn has_no_more(&self, part: &Allocation) {
        let (count, paid) = part.size();
        self.below.sub(count as u32);
        self.paid_below.sub(paid);
    }
}

impl Region {
    /// Frees a piece of a large region's memory if only one allocation views it: the bytes freed.
    /// `None` if at most a piece is left.
    fn shrink(&self) -> Option<u64> {
        if self.size() <= PIECE || self.references.load(Relaxed) != 1 {
            return None;
        }
        let mut memory = self.memory.lock();
        let Memory::Own(memory) = &mut *memory else {
            return None;
        };
        let committed = memory.committed();
        if committed <= PIECE {
            return None;
        }
        let rest = (committed - 1) / PIECE * PIECE;
        memory.decommit(rest);
        Some(committed - rest)
    }
}

/// Frees an allocation, which is in no table any more, with all its parts. Of a large one, only
/// some is freed here: [`free_deferred`] does the rest.
pub(crate) fn free(index: u32) {
    let mut work = Work::little();
    if let Some(account) = free_or_defer(index, &mut work)
        && free_deferred(account, &mut work)
    {
        account.queue_deferred();
    }
}

/// Frees an allocation, or adds it to its payer's deferred frees. If the payer's SIP does not do
/// those, the idle context does.
pub(crate) fn free_later(index: u32, work: &mut Work) {
    if let Some(account) = free_or_defer(index, work) {
        account.queue_deferred();
    }
}

/// Frees an allocation, or adds it to its payer's deferred frees: the payer. It is deferred if it
/// is large or the step's allowance is spent, as a message can bring several.
fn free_or_defer(index: u32, work: &mut Work) -> Option<&'static Account> {
    let a = ALLOCATIONS.get(index)?;
    a.return_held(a.cost().1);
    let large = |r: &Region| r.size() > PIECE;
    let slow = work.is_spent() || a.has_parts() || a.region().is_some_and(large);
    let Some(account) = a.payer.get().filter(|_| slow) else {
        work.spend(free_one(index, a));
        return None;
    };
    work.spend(0);
    // It stays charged until it is freed.
    account.deferred.lock().push(index, a);
    Some(account)
}

/// Does some of an account's deferred frees. Whether any are left.
pub(crate) fn free_deferred(account: &'static Account, work: &mut Work) -> bool {
    // The account must outlive this call; freeing the last charge could free its record.
    account.hold();
    let more = free_some_deferred(account, work);
    account.release();
    more
}

fn free_some_deferred(account: &'static Account, work: &mut Work) -> bool {
    while !work.is_spent() {
        let mut deferred = account.deferred.lock();
        let Some(index) = deferred.top else {
            return false;
        };
        let Some(a) = ALLOCATIONS.get(index) else {
            deferred.top = None;
            return false;
        };
        if let Some(part) = a.take_part() {
            if let Some(p) = ALLOCATIONS.get(part) {
                // From now on it is charged for separately.
                p.payer.set(Some(account));
                a.has_no_more(p);
                deferred.push(part, p);
            }
            work.spend(0);
            continue;
        }
        if let Some(bytes) = a.region().and_then(Region::shrink) {
            work.spend(bytes);
            continue;
        }
        let next = a.next_deferred.load(Relaxed);
        deferred.top = (next != NONE).then_some(next);
        drop(deferred);
        work.spend(free_one(index, a));
    }
    !account.deferred.lock().is_empty()
}
