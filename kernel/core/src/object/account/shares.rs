//! Shares: who is granted what is left where memory is short.
//!
//! The sum of budgets may exceed the machine. What there is for an account and all below it is divided by one rule at every
//! level, whether its limit or the machine is what ends first: a part of it ([`Account::floor`]), a sixteenth and less the
//! deeper it is, is not for children that have much. Half of that is for the account's own SIP, which so can always act on what
//! it has made, and half is divided among those of its children that have little. So whatever some of what a SIP has made
//! takes, with all that is below it, the others get a share, and a new one can begin. Whoever has more than such a share is
//! the one who is refused.
//!
//! How much there is for an account is known from the root downwards alone. So it is found out where stock is fetched, by a
//! walk to the root and back, and noted in the accounts on the way.

use super::{Account, CHUNK};
use core::sync::atomic::Ordering::Relaxed;

/// What is left of all that there is for an account where children that have much have taken all else: one part in so
/// many, and in `FLOOR_LESS` more for each account above it, so that something reaches the deepest; at most `FLOOR_MOST` bytes.
pub(super) const FLOOR_PART: u64 = 16;
pub(super) const FLOOR_LESS: u64 = 2;
const FLOOR_MOST: u64 = 64 << 20;
/// What is left for children that have little is divided among so many at least.
const FEW: u32 = 8;

impl Account {
    /// Whether there is so much everywhere that the account gets `bytes`, whatever its share: its own limit has room for them; so
    /// has the limit of each account above, and the root's stock, for what each of those keeps back at the most besides. That
    /// is less than a survey finds, and found in one walk that notes nothing.
    pub(super) fn abounds(&self, bytes: u64) -> bool {
        let rest = |account: &Account| {
            let limit = account.limit.load(Relaxed);
            limit.saturating_sub(account.taken.load(Relaxed))
        };
        if bytes > rest(self) {
            return false;
        }
        // On its way up the wish grows by a chunk for each account, and each but the lowest keeps its floor back.
        let depth = u64::from(self.depth.load(Relaxed));
        let enough = bytes.saturating_add(depth * (FLOOR_MOST + CHUNK));
        let mut above = self.parent.get();
        while let Some(account) = above {
            above = account.parent.get();
            let room = match above {
                Some(_) => rest(account),
                None => account.stock.load(Relaxed),
            };
            if room < enough {
                return false;
            }
        }
        true
    }

    /// Finds out how much there is for each account on the way to the root.
    pub(super) fn survey(&'static self) {
        let mut account = self;
        while let Some(parent) = account.parent.get() {
            parent.via.set(Some(account));
            account = parent;
        }
        account.room.store(account.stock.load(Relaxed), Relaxed);
        while !core::ptr::eq(account, self)
            && let Some(child) = account.via.take()
        {
            let rest = child
                .limit
                .load(Relaxed)
                .saturating_sub(child.taken.load(Relaxed));
            let room = child.stock.load(Relaxed) + rest.min(account.leaves(child));
            child.room.store(room, Relaxed);
            account = child;
        }
    }

    /// What is not for children that have much.
    fn floor(&self) -> u64 {
        let part = FLOOR_PART + FLOOR_LESS * u64::from(self.depth.load(Relaxed));
        ((self.charged() + self.room.load(Relaxed)) / part).min(FLOOR_MOST)
    }

    /// How much more a child may take. One that has less than its share of what is left for such may take that; whoever
    /// has more, what is above the floor.
    pub(super) fn leaves(&self, child: &Account) -> u64 {
        let (room, floor) = (self.room.load(Relaxed), self.floor());
        let share = floor / 2 / u64::from(self.children.lock().count.max(FEW));
        // The root has no SIP of its own.
        let own = self.parent.get().map_or(0, |_| floor / 2);
        let little = share.saturating_sub(child.taken.load(Relaxed));
        room.saturating_sub(floor)
            .max(little.min(room.saturating_sub(own)))
    }
}
