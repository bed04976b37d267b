//! Trees of allocations, and giving them back.
//!
//! A tree can have as many allocations as a budget pays for, and a region as many pages; so giving back is done in
//! steps of bounded cost ([`dig`]), between which others can run. What waits for it are a SIP's *graves*: still on its
//! account, in nobody's table, linked through the records themselves, so that it costs no memory to give back memory.

use super::{ALLOCATIONS, Allocation, OVERHEAD, PIECE, Region, free_one, get};
use crate::machine::hal;
use crate::sip::Sip;
use alloc::collections::BTreeMap;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_arch::lock::Counter;

/// Steps of a `free` itself; the rest is left to the one whose account it is on.
const AT_ONCE: u32 = 64;
/// No further grave.
const NONE: u32 = u32::MAX;

/// What a SIP has given up and still pays for.
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
    pub(crate) fn takes_part_at(&self, offset: u32) -> Result<(), i32> {
        let inside =
            offset.is_multiple_of(4) && u64::from(offset) + 4 <= u64::from(self.len.load(Relaxed));
        if !inside {
            Err(status::BAD_ARGUMENT)
        } else if self.is_read_only() || self.parts.lock().contains_key(&offset) {
            Err(status::BAD_STATE)
        } else {
            Ok(())
        }
    }

    /// Bytes that it will have to pay for beside what it does, once it is a part: what a part pays for cannot grow, as
    /// all that it is below would have to be found. So it pays for all of a region that others view, too.
    pub(crate) fn dues_as_part(&self) -> u64 {
        self.region()
            .filter(|r| r.references.load(Relaxed) > 1)
            .map_or(0, |r| {
                r.size
                    .load(Relaxed)
                    .saturating_sub(self.portion.load(Relaxed))
            })
    }

    /// Makes the allocation of this index, which is in nobody's table any more, a part.
    pub(crate) fn attach(&self, offset: u32, index: u32) {
        let Some(part) = get(index) else {
            return;
        };
        part.discharge();
        if let Some(region) = part.region() {
            let dues = part.dues_as_part();
            part.portion.add(dues);
            region.paid.add(dues);
            region.viewed.lock().remove(part);
        }
        let owner = self.owner.get();
        self.discharge();
        self.parts.lock().insert(offset, index);
        let (count, paid) = part.size();
        self.below.add(count as u32);
        self.paid_below.add(paid);
        if let Some(sip) = owner {
            self.charge(sip);
        }
    }

    /// Takes the part at an offset out; its index.
    pub(crate) fn detach(&self, offset: u32) -> Option<u32> {
        let mut parts = self.parts.lock();
        let index = parts.remove(&offset)?;
        if parts.is_empty() {
            // An empty map can still have a node.
            *parts = BTreeMap::new();
        }
        drop(parts);
        let part = get(index)?;
        let owner = self.owner.get();
        self.discharge();
        let (count, paid) = part.size();
        self.below.sub(count as u32);
        self.paid_below.sub(paid);
        if let Some(sip) = owner {
            self.charge(sip);
        }
        if let Some(region) = part.region() {
            let (paid, size) = (region.paid.load(Relaxed), region.size.load(Relaxed));
            let excess = paid.saturating_sub(size).min(part.portion.load(Relaxed));
            part.portion.sub(excess);
            region.paid.sub(excess);
            region.viewed.lock().push(part);
        }
        Some(index)
    }
}

impl Region {
    /// Gives a piece of a large region back that one allocation alone views. False where the rest is small.
    fn shrink(&self) -> bool {
        let committed = self.committed.load(Relaxed);
        if committed <= PIECE || self.references.load(Relaxed) != 1 {
            return false;
        }
        let rest = (committed - 1) / PIECE * PIECE;
        hal().decommit(self.at.load(Relaxed) + rest, committed - rest);
        self.committed.store(rest, Relaxed);
        true
    }
}

/// Gives an allocation back, with all its parts; nobody has it in a table any more. Of what is large, only a part is
/// given back here: [`dig`] does the rest.
pub(crate) fn free(index: u32) {
    if let Some(sip) = bury(index) {
        // Where all who could go on with it have ended, it is done here.
        let steps = if sip.has_ended() { u32::MAX } else { AT_ONCE };
        dig(sip, steps);
    }
}

/// Gives an allocation back, or puts it into the graves of the SIP whose account it is on: which.
pub(crate) fn bury(index: u32) -> Option<&'static Sip> {
    let a = ALLOCATIONS.get(index)?;
    let large = a
        .region()
        .is_some_and(|r| r.committed.load(Relaxed) > PIECE);
    let owner = a.owner.get();
    let Some(sip) = owner.filter(|_| large || a.has_parts()) else {
        a.discharge();
        free_one(index, a);
        return None;
    };
    // It stays on the account until it is gone. Nobody leaves it a portion, as it is going.
    if let Some(region) = a.region() {
        region.viewed.lock().remove(a);
    }
    let sip = sip.payer();
    a.charge(sip);
    a.owner.set(None);
    sip.graves.lock().push(index, a);
    Some(sip)
}

/// Gives back what a SIP has given up, in so many steps of bounded cost. Whether anything is left.
pub(crate) fn dig(sip: &'static Sip, steps: u32) -> bool {
    for _ in 0..steps {
        let mut graves = sip.graves.lock();
        let Some(index) = graves.top else {
            return false;
        };
        let Some(a) = ALLOCATIONS.get(index) else {
            graves.top = None;
            return false;
        };
        let part = a.parts.lock().pop_first();
        if let Some((_, part)) = part {
            if let Some(a) = ALLOCATIONS.get(part) {
                graves.push(part, a);
            }
            continue;
        }
        if a.region().is_some_and(Region::shrink) {
            continue;
        }
        let next = a.next_grave.load(Relaxed);
        graves.top = (next != NONE).then_some(next);
        drop(graves);
        *a.parts.lock() = BTreeMap::new();
        a.below.store(0, Relaxed);
        a.paid_below.store(0, Relaxed);
        let paid = a.portion.load(Relaxed);
        free_one(index, a);
        sip.exchange.sub(paid);
        sip.discharge(paid + OVERHEAD);
    }
    !sip.graves.lock().is_empty()
}
