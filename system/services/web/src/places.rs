//! The places for connections: whose they are, and who makes way when all are taken. Who only holds connections keeps
//! nobody out, and who opens many keeps out himself.
//!
//! Invariants:
//! - One that was told to make way serves nothing any more.
//! - One address has half the places at most, besides those that make way. A connection has none any more when its last
//!   bytes go to the network, before its client can have read them: a client that closes one connection and opens the
//!   next has no more than before.
//! - When all are taken, an address that comes gets a place of one that would still have more than it; one that has as
//!   many as any gets one of its own, or one whose client has long been quiet, or has no request when the address has
//!   waited for a while. So those of others do not wait behind the connections of one that opens many, or asks often, but
//!   where all places serve requests.
//! - An answer that may still be on its way is cut for another address only if who comes has waited for that. How long
//!   somebody waits is a matter of when he came, and not of what others do.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::IpAddr;
use core::time::Duration;
use sing_sdk::net::owner;

/// How long one may be quiet before it makes way for somebody who has no fewer, and before it makes way for anybody.
const QUIET: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(5);
/// How long a client's first bytes are on their way, and an answer to it.
const FIRST: Duration = Duration::from_millis(30);
const SETTLE: Duration = Duration::from_millis(100);
/// How long an address that has one place may wait for a further one before it is refused; with more, so much less.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long one that was told to make way takes for that. One that does not keeps nobody else from being told.
const LEAVING: Duration = Duration::from_secs(1);

/// What the connection in a place does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// There is none.
    Free,
    /// A request is served.
    Busy,
    /// It waits for its first request since then.
    Begins(Duration),
    /// It is answered since then, and waits for a further request.
    Quiet(Duration),
    /// It waits for its client since then, within a request.
    Waits(Duration),
    /// Its answer is given since then, and goes to its client.
    Sends(Duration),
    /// It makes way for another since then.
    Leaves(Duration),
}

impl Use {
    /// The rank of a connection that can make way: the least of all makes way first. One whose bytes may be on their way
    /// comes after the others.
    fn quiet(self, now: Duration) -> Option<(bool, Duration)> {
        let (since, young) = match self {
            Use::Begins(since) | Use::Waits(since) => (since, FIRST),
            Use::Quiet(since) => (since, SETTLE),
            Use::Sends(since) => (since, QUIET),
            Use::Free | Use::Busy | Use::Leaves(_) => return None,
        };
        Some((now.saturating_sub(since) < young, since))
    }

    fn is_taken(self) -> bool {
        !matches!(self, Use::Free | Use::Leaves(_))
    }

    fn is_leaving(self, now: Duration) -> bool {
        matches!(self, Use::Leaves(since) if now.saturating_sub(since) < LEAVING)
    }
}

#[derive(Clone, Copy, Debug)]
struct Place {
    of: Use,
    /// From where it comes, unless it is free.
    from: IpAddr,
}

/// What becomes of a connection that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has this place.
    Takes(usize),
    /// It is to come again when a place is free, or somebody has become quiet.
    Waits,
    /// Its address has as many as any, and all of them are served.
    Refused,
}

/// All places of a server.
#[derive(Debug)]
pub struct Places {
    all: Vec<Place>,
}

impl Places {
    /// So many, all free.
    #[must_use]
    pub fn new(count: usize) -> Places {
        let free = Place {
            of: Use::Free,
            from: IpAddr::from([0; 4]),
        };
        Places {
            all: alloc::vec![free; count],
        }
    }

    /// Judges a connection that came from an address at some time, and who makes way for it, if somebody does.
    pub fn enter(
        &mut self,
        from: IpAddr,
        came: Duration,
        now: Duration,
    ) -> (Verdict, Option<usize>) {
        let from = owner(from);
        let own = self.taken().filter(|(_, place)| place.from == from);
        let own = own.count();
        let (mut verdict, mut leaves) = (Verdict::Waits, None);
        if own >= (self.all.len() / 2).max(1) {
            leaves = self.quietest_of(from, now);
            if leaves.is_none() {
                return (Verdict::Refused, None);
            }
        }
        if let Some(free) = self.all.iter().position(|place| place.of == Use::Free) {
            let of = Use::Begins(now);
            self.all[free] = Place { of, from };
            verdict = Verdict::Takes(free);
        } else if leaves.is_none() {
            (verdict, leaves) = self.full(from, own, came, now);
        }
        if let Some(at) = leaves {
            self.all[at].of = Use::Leaves(now);
        }
        (verdict, leaves)
    }

    /// All are taken: who makes way for an address that has so many of them.
    fn full(
        &self,
        from: IpAddr,
        own: usize,
        came: Duration,
        now: Duration,
    ) -> (Verdict, Option<usize>) {
        let mut counts = BTreeMap::new();
        for (_, place) in self.taken() {
            *counts.entry(place.from).or_insert(0) += 1;
        }
        let count = |place: &Place| counts.get(&place.from).copied().unwrap_or(0);
        let most = counts.values().copied().max().unwrap_or(0);
        // Who would still have more: of those with the most, unless their answers are on their way.
        let more = self.taken().filter(|(_, place)| count(place) > own + 1);
        let more = more.filter_map(|(at, place)| {
            let (is_young, since) = place.of.quiet(now)?;
            Some((is_young, Reverse(count(place)), since, at))
        });
        let more = more.min().map(|(is_young, .., at)| (is_young, at));
        let waited = now.saturating_sub(came);
        let late = |(at, place): (usize, &Place)| {
            let (is_young, since) = place.of.quiet(now)?;
            let quiet = now.saturating_sub(since);
            let between = matches!(place.of, Use::Begins(_) | Use::Quiet(_));
            let patience = if is_young { QUIET } else { SETTLE };
            let is_late = quiet >= QUIET || between && waited >= patience;
            (quiet >= LONG || is_late && count(place) >= own).then_some((is_young, since, at))
        };
        let latest = || Some(self.taken().filter_map(late).min()?.2);
        let chosen = match more {
            Some((true, _)) if waited < SETTLE => return (Verdict::Waits, None),
            Some((_, at)) => Some(at),
            None => self.quietest_of(from, now).or_else(latest),
        };
        // One for each that comes: it may be for this one that somebody goes.
        if self.all.iter().any(|place| place.of.is_leaving(now)) {
            return (Verdict::Waits, None);
        }
        if chosen.is_none() && own > 0 && own >= most {
            // Others that have fewer may wait behind it.
            let is_many = own * 4 >= self.all.len();
            let patience = PATIENCE / u32::try_from(own).unwrap_or(u32::MAX);
            if is_many || waited >= patience {
                return (Verdict::Refused, None);
            }
        }
        (Verdict::Waits, chosen)
    }

    fn taken(&self) -> impl Iterator<Item = (usize, &Place)> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, place)| place.of.is_taken())
    }

    /// Of an address' own, the one that makes way first.
    fn quietest_of(&self, from: IpAddr, now: Duration) -> Option<usize> {
        let own = self.taken().filter(|(_, place)| place.from == from);
        let own = own.filter_map(|(at, place)| Some((place.of.quiet(now)?, at)));
        own.min().map(|(_, at)| at)
    }

    /// Says what a connection does from now on; false, and nothing changes, if it is to make way.
    pub fn turn(&mut self, at: usize, to: Use) -> bool {
        let place = &mut self.all[at];
        let stays = !matches!(place.of, Use::Leaves(_));
        if stays {
            place.of = to;
        }
        stays
    }

    /// A connection has ended.
    pub fn free(&mut self, at: usize) {
        self.all[at].of = Use::Free;
    }

    /// What each does.
    pub fn uses(&self) -> impl Iterator<Item = Use> {
        self.all.iter().map(|place| place.of)
    }
}
