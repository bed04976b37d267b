//! Trees of allocations, and giving them back.
//!
//! A tree can have as many allocations as a budget pays for, and a region as many pages; so giving back is done in
//! steps of bounded cost ([`dig`]), between which others can run. What waits for it are an account's *graves*: still charged
//! to it, in nobody's table, linked through the records themselves, so that it costs no memory to give back memory.

use super::{ALLOCATIONS, Allocation, Memory, Region, free_one, get};
use crate::ground::work::{PIECE, Work};
use crate::object::account::Account;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_arch::lock::Counter;

/// No further grave.
const NONE: u32 = u32::MAX;

/// What has been given up and is still paid for.
#[derive(Default)]
pub(crate) struct Graves {
    /// The first one.
    top: Option<u32>,
}

impl Graves {
    /// Whether there is none.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.top.is_none()
    }

    fn push(&mut self, index: u32, a: &Allocation) {
        let next = self.top.replace(index).unwrap_or(NONE);
        a.next_grave.store(next, Relaxed);
    }
}

impl Allocation {
    /// Whether it has parts.
    pub(crate) fn has_parts(&self) -> bool {
        self.below.load(Relaxed) != 0
    }

    /// Whether there is a part at this offset, or one could be.
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

    /// Makes the allocation of this index a part, which is in nobody's table any more. One account pays for both.
    pub(crate) fn attach(&'static self, offset: u32, index: u32) {
        let Some(part) = get(index) else {
            return;
        };
        debug_assert!(self.payer.get().is_some_and(|p| part.payer.is(p)));
        part.payer.set(None);
        self.insert_part(offset, index, part);
        let (count, paid) = part.size();
        self.below.add(count as u32);
        self.paid_below.add(paid);
    }

    /// Takes the part at an offset out, which whoever pays for the tree goes on to pay for; its index.
    pub(crate) fn detach(&'static self, offset: u32) -> Option<u32> {
        let index = self.remove_part(offset)?;
        let part = get(index)?;
        part.payer.set(self.payer.get());
        self.has_no_more(part);
        Some(index)
    }

    /// A part of it is none any more.
    fn has_no_more(&self, part: &Allocation) {
        let (count, paid) = part.size();
        self.below.sub(count as u32);
        self.paid_below.sub(paid);
    }
}

impl Region {
    /// Gives a piece of a large region back that one allocation alone views: its bytes. `None` where the rest is small.
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

/// Gives an allocation back, with all its parts; nobody has it in a table any more. Of what is large, only a part is
/// given back here: [`dig`] does the rest.
pub(crate) fn free(index: u32) {
    let mut work = Work::little();
    if let Some(account) = put_into_grave(index, &mut work)
        && dig(account, &mut work)
    {
        account.leave();
    }
}

/// Gives an allocation back, or puts it into the graves of the account that it is charged to. If that account's SIP does not
/// give it back, the idle context does.
pub(crate) fn bury(index: u32, work: &mut Work) {
    if let Some(account) = put_into_grave(index, work) {
        account.leave();
    }
}

/// Gives an allocation back, or puts it into the graves of the account that it is charged to: which. Nothing is given back
/// that is large, or once the step's allowance is spent: a message brings several.
fn put_into_grave(index: u32, work: &mut Work) -> Option<&'static Account> {
    let a = ALLOCATIONS.get(index)?;
    a.return_held(a.cost().1);
    let slow = |r: &Region| r.size() > PIECE || r.has_left();
    let slow = work.is_spent() || a.has_parts() || a.region().is_some_and(slow);
    let Some(account) = a.payer.get().filter(|_| slow) else {
        work.spend(free_one(index, a));
        return None;
    };
    work.spend(0);
    // It stays on the account until it is gone.
    account.graves.lock().push(index, a);
    Some(account)
}

/// Gives back what has been given up on an account. Whether anything is left.
pub(crate) fn dig(account: &'static Account, work: &mut Work) -> bool {
    // It is needed to the end of this, and could go with the last of what is charged to it.
    account.hold();
    let more = dig_some(account, work);
    account.release();
    more
}

fn dig_some(account: &'static Account, work: &mut Work) -> bool {
    while !work.is_spent() {
        let mut graves = account.graves.lock();
        let Some(index) = graves.top else {
            return false;
        };
        let Some(a) = ALLOCATIONS.get(index) else {
            graves.top = None;
            return false;
        };
        if let Some(part) = a.take_part() {
            if let Some(p) = ALLOCATIONS.get(part) {
                // From now on it is charged for by itself.
                p.payer.set(Some(account));
                a.has_no_more(p);
                graves.push(part, p);
            }
            work.spend(0);
            continue;
        }
        if let Some(region) = a.region() {
            if region.has_left() && region.let_go() {
                work.spend(0);
                continue;
            }
            if let Some(bytes) = region.shrink() {
                work.spend(bytes);
                continue;
            }
        }
        let next = a.next_grave.load(Relaxed);
        graves.top = (next != NONE).then_some(next);
        drop(graves);
        work.spend(free_one(index, a));
    }
    !account.graves.lock().is_empty()
}
