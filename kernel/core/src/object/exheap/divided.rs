//! Divided regions: several allocations of one, made by cutting or sharing.
//!
//! The SIP that divides a region pays for all its bytes from then on, and its allocations cost
//! their owners their records alone. No other rule is fair to both sides. If a receiver paid, its
//! sender could keep a view, and what the receiver has freed would stay on the receiver's account;
//! if the last one to keep a view paid, the receiver of a small piece would pay for what its sender
//! gave up. A copy in a block of its own avoids the charge.
//!
//! A region stops being divided when its only allocation, if that is as large as the region, moves
//! on from the SIP that divided it. Nobody else has a view then, so the receiver pays, as for any
//! block.

use super::{ALLOCATED, Allocation, OVERHEAD, region_size, view};
use crate::object::account::Account;
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::lock::Counter;
use sing_runtime::Block;

impl Allocation {
    /// A second, read-only view of `start..end`; this one becomes read-only, too. `account`, which
    /// pays for this one, pays for the record. `None` if the account has no room, or memory is
    /// short.
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

    /// A second allocation of its region, which is divided from now on.
    fn second(
        &self,
        block: Block,
        account: &'static Account,
    ) -> Option<(u32, &'static Allocation)> {
        debug_assert!(self.payer.is(account));
        if !account.charge(OVERHEAD) {
            return None;
        }
        let r = self.region.load(Relaxed);
        let Some(second) = view(r, block, self.ty.load(Relaxed), account) else {
            account.discharge(OVERHEAD);
            return None;
        };
        if self.portion.swap(0, Relaxed) != 0
            && let Some(region) = self.region()
        {
            region.divider.set(Some(account));
        }
        Some(second)
    }

    /// Has its payer pay for its region through it again, if that SIP has divided the region and
    /// no other allocation is left. What is charged to each account stays the same.
    #[cold]
    #[inline(never)]
    pub(super) fn rejoin_charge(&self) {
        // What a SIP borrows is counted by the cost, which is not to change meanwhile.
        let (Some(region), Some(payer), None) =
            (self.region(), self.payer.get(), self.holder.get())
        else {
            return;
        };
        let size = region.size();
        let alone = region.references.load(Relaxed) == 1 && region.divider.is(payer);
        if alone && region_size(self.len()) == size {
            region.divider.set(None);
            self.portion.store(size, Relaxed);
        }
    }

    /// Whether others may have what is beside it in its region, or had it: somebody else pays for that.
    pub(crate) fn is_part(&self) -> bool {
        if self.portion.load(Relaxed) == 0 {
            self.rejoin_charge();
        }
        self.portion.load(Relaxed) == 0
    }

    /// Whether nothing can be written through it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.block.is_read_only()
    }

    /// Undoes a `share` whose second view nobody got.
    pub(crate) fn restore_writable(&self) {
        self.block.set_read_only(false);
    }

    /// Cuts it at `offset`; the second half. `None` if its payer has no room for another record, or
    /// memory is short.
    pub(crate) fn split(&self, offset: u32) -> Option<(u32, &'static Allocation)> {
        let (block, len) = (self.block.get(), self.len());
        let (first, rest) = (block.part(0, offset)?, block.part(offset, len)?);
        let second = self.second(rest, self.payer.get()?)?;
        second.1.block.set_read_only(self.is_read_only());
        self.block.set(first);
        ALLOCATED.sub(u64::from(len - offset));
        Some(second)
    }

    /// Undoes a `split` whose second half nobody got.
    pub(crate) fn rejoin(&self, second: &Allocation) {
        let Some(whole) = self.block.get().joined(second.block.get()) else {
            return;
        };
        self.block.set(whole);
        ALLOCATED.add(u64::from(second.len()));
    }

    /// Makes it writable if it is its region's only allocation; whether it was.
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
