//! Stock: bytes that an account has taken from its parent and that are not charged to anything.
//!
//! It is fetched in chunks, so that most charges involve one account only; a surplus is returned.

use super::{ACCOUNTS, Account, CHUNK, COST, KEPT_MOST};
use crate::ground::machine;
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::lock::Counter;

/// The stock that an account keeps because it has needed as much at once is at most one part in so
/// many of its limit.
pub(super) const KEPT_PART: u64 = 16;
/// An account returns stock beyond an eighth of what it has taken, but not less than `HIGH` nor
/// more than `HIGHEST` bytes.
const HIGH: u64 = 2 * CHUNK;
const HIGHEST: u64 = 256 << 10;
/// The most children of one account whose stock is collected at a time, and the most of all
/// accounts on the way up.
const COLLECTED: u32 = 64;
const COLLECTED_IN_ALL: u32 = 1024;

impl Account {
    /// Raises the stock to at least `bytes`. False if the limits or shares do not allow it.
    #[cold]
    #[inline(never)]
    pub(super) fn take_stock(&'static self, bytes: u64) -> bool {
        if machine::is_short() {
            machine::is_scarce_now();
            return machine::noted(false);
        }
        // In most cases there is so much that shares need not be computed.
        if self.has_ample_room(bytes) {
            return self.walk(bytes, CHUNK, true);
        }
        self.survey();
        for slack in [CHUNK, 0] {
            if self.walk(bytes, slack, false) {
                return self.walk(bytes, slack, true);
            }
        }
        self.collect();
        self.survey();
        let done = self.walk(bytes, 0, false) && self.walk(bytes, 0, true);
        if !done {
            self.refused.store(true, Relaxed);
        }
        if !done && self.limit.load(Relaxed).saturating_sub(self.charged()) >= bytes {
            machine::is_scarce_now();
        }
        done
    }

    /// Walks up to the first account whose stock covers the requests of those below it. False if
    /// there is none. With `apply`, moves the stock down; without, changes nothing.
    pub(super) fn walk(&'static self, bytes: u64, slack: u64, apply: bool) -> bool {
        let (mut account, mut wanted) = (self, bytes);
        // What leaves the account's stock: nothing from the first one, which keeps what it gets.
        let mut out = 0;
        loop {
            let stock = account.stock.load(Relaxed);
            if stock >= wanted {
                if apply {
                    account.stock.store(stock - out, Relaxed);
                }
                return true;
            }
            let Some(parent) = account.parent.get() else {
                return false;
            };
            let Some(request) = account.request(wanted - stock, slack) else {
                return false;
            };
            if !apply && request > parent.allowance(account) {
                return false;
            }
            if apply {
                account.taken.add(request);
                account.stock.store(stock + request - out, Relaxed);
                account.keep(wanted);
            }
            (account, wanted, out) = (parent, request, request);
        }
    }

    /// Notes that it has needed `bytes` at once, and is likely to again.
    pub(super) fn keep(&self, bytes: u64) {
        if self.is_closed() {
            return self.set_high();
        }
        let most = (self.limit.load(Relaxed) / KEPT_PART).min(KEPT_MOST);
        let kept = self.kept.load(Relaxed).max(bytes.min(most));
        self.kept.store(kept, Relaxed);
        self.set_high();
    }

    /// What it requests from its parent if it lacks `need`. `None` if its limit has no room.
    fn request(&self, need: u64, slack: u64) -> Option<u64> {
        let limit = self.limit.load(Relaxed);
        let room = limit.saturating_sub(self.taken.load(Relaxed));
        let rest = room.checked_sub(need)?;
        Some(need + if rest > limit / 4 { slack } else { 0 })
    }

    /// Takes back the stock of its children and of its ancestors' children; of each account, a
    /// bounded number of children, which take turns.
    fn collect(&'static self) {
        let (mut next, mut left) = (Some(self), COLLECTED_IN_ALL);
        while let Some(account) = next {
            let children = account.children.lock();
            let some = children.count.min(COLLECTED).min(left);
            left -= some;
            for _ in 0..some {
                let Some(child) = children.list.pop() else {
                    break;
                };
                children.list.push(child);
                let stock = child.stock.swap(0, Relaxed);
                child.taken.sub(stock);
                child.kept.store(CHUNK, Relaxed);
                child.set_high();
                account.stock.add(stock);
            }
            next = account.parent.get();
        }
    }

    /// The stock that it keeps when it returns a surplus: as much as it has needed at once, or a
    /// sixteenth of what it has taken, within bounds.
    fn least(&self) -> u64 {
        let share = (self.taken.load(Relaxed) / 8).clamp(HIGH, HIGHEST);
        self.kept.load(Relaxed).max(share / 2)
    }

    /// The stock beyond which it returns the surplus.
    fn most(&self) -> u64 {
        let share = (self.taken.load(Relaxed) / 8).clamp(HIGH, HIGHEST);
        share.max(self.kept.load(Relaxed) + CHUNK)
    }

    /// Recomputes `high` and `spared` after `taken` or the limits have changed.
    pub(super) fn set_high(&self) {
        if self.parent.get().is_none() {
            return;
        }
        let taken = self.taken.load(Relaxed);
        let spared = taken.saturating_add(self.reserve());
        let spared = spared.saturating_sub(self.limit.load(Relaxed));
        self.spared.store(spared, Relaxed);
        self.set_most();
    }

    /// Recomputes `high` alone, after `kept` or `closed` has changed: the most that it keeps or,
    /// after its SIP has ended, what is reached when nothing is charged any more. The root's never
    /// changes, as it has no parent to return stock to.
    #[inline(always)]
    pub(super) fn set_most(&self) {
        let most = self.most();
        let high = if self.is_closed() {
            most.min(self.taken.load(Relaxed).saturating_sub(1))
        } else {
            most
        };
        self.high.store(high, Relaxed);
    }

    /// Returns the surplus to the parent; frees the record instead if nothing refers to it and
    /// nothing is charged to it. Repeats upward.
    #[cold]
    #[inline(never)]
    pub(super) fn give_stock(&'static self) {
        let mut account = self;
        while let Some(parent) = account.parent.get() {
            #[cfg(test)]
            account.steps.add(1);
            let (stock, taken) = (account.stock.load(Relaxed), account.taken.load(Relaxed));
            let closed = account.is_closed();
            let idle = closed && stock == taken;
            let gone = idle && account.references.load(Relaxed) == 0;
            let surplus = if gone {
                let mut children = parent.children.lock();
                children.list.remove(account);
                children.count -= 1;
                drop(children);
                ACCOUNTS.give(account.index.load(Relaxed));
                parent.references.sub(1);
                stock + COST
            } else {
                let surplus = if idle {
                    stock
                } else if stock > account.most() {
                    stock - account.least()
                } else {
                    0
                };
                account.stock.sub(surplus);
                account.taken.sub(surplus);
                account.set_high();
                surplus
            };
            let stock = parent.stock.add(surplus) + surplus;
            if stock <= parent.high.load(Relaxed) && !gone {
                return;
            }
            account = parent;
        }
    }
}
