//! Shares: who is granted the rest if memory is short.
//!
//! The sum of budgets may exceed the machine. What is available to an account and its descendants
//! is divided by the same rule at every level, whether the account's limit or the machine is
//! exhausted first: a part of it, the floor ([`Account::floor`]: a sixteenth, and less the deeper
//! the account is), is withheld from children that have much. Half of the floor is for the
//! account's own SIP, which can thus always act on its descendants, and half is divided among the
//! children that have little. So whatever some children take with all their descendants, the others
//! get a share, and a new one can start. Only a child that has more than such a share is refused.
//!
//! What is available to an account depends on all its ancestors. So it is computed when stock is
//! fetched, by a walk to the root and back (a survey), and noted in the accounts on the way.

use super::{Account, CHUNK};
use core::sync::atomic::Ordering::Relaxed;

/// The floor is one part in `FLOOR_PART` of all that is available to the account, in `FLOOR_LESS`
/// more for each ancestor, so that something reaches the deepest; at most `FLOOR_MOST` bytes.
pub(super) const FLOOR_PART: u64 = 16;
pub(super) const FLOOR_LESS: u64 = 2;
const FLOOR_MOST: u64 = 64 << 20;
/// The children's half of the floor is divided by their number, but at least by this.
const FEW: u32 = 8;

impl Account {
    /// Whether memory is so plentiful that the account gets `bytes` regardless of shares: its own
    /// limit has room for them, and each ancestor's limit, and the root's stock, have room for them
    /// and for the largest floors of all accounts on the way. This underestimates what a survey
    /// finds, and takes one walk that changes nothing.
    pub(super) fn has_ample_room(&self, bytes: u64) -> bool {
        let rest = |account: &Account| {
            let limit = account.limit.load(Relaxed);
            limit.saturating_sub(account.taken.load(Relaxed))
        };
        if bytes > rest(self) {
            return false;
        }
        // On the way up each account adds a chunk to the request, and all but the lowest keep their
        // floor.
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

    /// Computes `room` for each account from the root down to this one.
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
            let room = child.stock.load(Relaxed) + rest.min(account.allowance(child));
            child.room.store(room, Relaxed);
            account = child;
        }
    }

    /// Bytes that are withheld from children that have more than their share of them.
    fn floor(&self) -> u64 {
        let part = FLOOR_PART + FLOOR_LESS * u64::from(self.depth.load(Relaxed));
        ((self.charged() + self.room.load(Relaxed)) / part).min(FLOOR_MOST)
    }

    /// How many bytes more a child may take: up to its share of the floor, or whatever there is
    /// above the floor, whichever is more.
    pub(super) fn allowance(&self, child: &Account) -> u64 {
        let (room, floor) = (self.room.load(Relaxed), self.floor());
        let share = floor / 2 / u64::from(self.children.lock().count.max(FEW));
        // The root has no SIP for which half the floor would be kept.
        let own = self.parent.get().map_or(0, |_| floor / 2);
        let little = share.saturating_sub(child.taken.load(Relaxed));
        room.saturating_sub(floor)
            .max(little.min(room.saturating_sub(own)))
    }
}
