//! Stock: what an account has from its parent and has not been charged.
//!
//! It is fetched in chunks, so that most charges ask one account alone, and what is too much goes back.

use super::{ACCOUNTS, Account, CHUNK, COST, KEPT_MOST};
use crate::ground::machine;
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::lock::Counter;

/// Stock that an account keeps at most because it has needed as much at once: one part of its limit in so many.
pub(super) const KEPT_PART: u64 = 16;
/// Stock beyond which it gives back: an eighth of what it has taken, but between these.
const HIGH: u64 = 2 * CHUNK;
const HIGHEST: u64 = 256 << 10;
/// Children whose stock is collected at a time.
const COLLECTED: u32 = 64;

impl Account {
    /// Sees to it that the stock is `bytes` at least.
    #[cold]
    #[inline(never)]
    pub(super) fn take_stock(&'static self, bytes: u64) -> bool {
        if machine::is_short() {
            return machine::noted(false);
        }
        // Most often there is so much that nobody has to ask whose it is.
        if self.abounds(bytes) {
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
        self.walk(bytes, 0, false) && self.walk(bytes, 0, true)
    }

    /// Goes up to the first account whose stock is enough for what those below it ask for. Whether there is one; where
    /// `apply`, they have got it then.
    pub(super) fn walk(&'static self, bytes: u64, slack: u64, apply: bool) -> bool {
        let (mut account, mut wanted) = (self, bytes);
        // What leaves the account's stock: nothing from the first one's, which is asked for itself.
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
            let Some(wish) = account.wish(wanted - stock, slack) else {
                return false;
            };
            if !apply && wish > parent.leaves(account) {
                return false;
            }
            if apply {
                account.taken.add(wish);
                account.stock.store(stock + wish - out, Relaxed);
                account.keep(wanted);
            }
            (account, wanted, out) = (parent, wish, wish);
        }
    }

    /// It has needed so much at once, and is likely to again.
    fn keep(&self, bytes: u64) {
        if self.is_closed() {
            return self.set_high();
        }
        let most = (self.limit.load(Relaxed) / KEPT_PART).min(KEPT_MOST);
        let kept = self.kept.load(Relaxed).max(bytes.min(most));
        self.kept.store(kept, Relaxed);
        self.set_high();
    }

    /// What it asks of its parent where it needs `need`. `None` where its limit has no room.
    fn wish(&self, need: u64, slack: u64) -> Option<u64> {
        let limit = self.limit.load(Relaxed);
        let room = limit.saturating_sub(self.taken.load(Relaxed));
        let rest = room.checked_sub(need)?;
        Some(need + if rest > limit / 4 { slack } else { 0 })
    }

    /// Takes back what its children, and those of the accounts above it, have in stock; of each, a bounded number of them.
    fn collect(&'static self) {
        let mut next = Some(self);
        while let Some(account) = next {
            let children = account.children.lock();
            for _ in 0..children.count.min(COLLECTED) {
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

    /// The stock that it keeps when it gives back: what it has needed at once, or a sixteenth of what it has.
    fn least(&self) -> u64 {
        let share = (self.taken.load(Relaxed) / 8).clamp(HIGH, HIGHEST);
        self.kept.load(Relaxed).max(share / 2)
    }

    /// The most that it keeps in stock.
    fn most(&self) -> u64 {
        let share = (self.taken.load(Relaxed) / 8).clamp(HIGH, HIGHEST);
        share.max(self.kept.load(Relaxed) + CHUNK)
    }

    /// Says beyond which stock something is to be done: the most that it keeps;
    /// where its SIP has ended, what is reached when nothing is charged to it any more. And how much of it is spared.
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

    /// Says it anew where only what it keeps has changed, not what it has taken.
    /// It is not the root's, which has no parent to give anything to.
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

    /// Gives back what it has too much of; where nothing names it and nothing is charged to it, its record. So on up.
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
            let gone = idle && account.names.load(Relaxed) == 0;
            let surplus = if gone {
                let mut children = parent.children.lock();
                children.list.remove(account);
                children.count -= 1;
                drop(children);
                ACCOUNTS.give(account.index.load(Relaxed));
                parent.names.sub(1);
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
