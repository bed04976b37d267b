//! The places for connections: whose they are, and who makes way when all are taken. Who only holds connections keeps
//! nobody out, and who opens many keeps out himself.
//!
//! Invariants:
//! - One that was told to make way serves nothing any more.
//! - One address has half the places at most, those beside that make way. A connection that has been
//!   served makes way before one that waits for its first bytes: a client that closes one connection and
//!   opens the next has no more than before, though the server may see the next one first.
//! - When all are taken, an address that comes gets a place of one that would still have more than it; one that has as
//!   many as any gets none but its own. So however many connections of others wait to be taken, each is judged at
//!   once, and none waits behind them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::IpAddr;
use core::time::Duration;

/// How long one may be quiet before it makes way for somebody who has no fewer.
const QUIET: Duration = Duration::from_millis(500);

/// What the connection in a place does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// There is none.
    Free,
    /// A request is served.
    Busy,
    /// It waits for a request since then.
    Quiet(Duration),
    /// It waits for its client since then, within a request.
    Waits(Duration),
    /// It is answered since then, and waits for its client to close.
    Ends(Duration),
    /// It makes way for another.
    Leaves,
}

impl Use {
    /// Who makes way, if it can: the least of these. Those behind their last answer come first.
    fn quiet(self) -> Option<(bool, Duration)> {
        match self {
            Use::Ends(since) => Some((false, since)),
            Use::Quiet(since) | Use::Waits(since) => Some((true, since)),
            Use::Free | Use::Busy | Use::Leaves => None,
        }
    }

    fn is_taken(self) -> bool {
        !matches!(self, Use::Free | Use::Leaves)
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

/// Who an address is: of IPv6, whoever has one has the other 2^64 of its network.
fn whose(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(of) => IpAddr::V6((of.to_bits() & !u128::from(u64::MAX)).into()),
        of => of,
    }
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

    /// Judges a connection from an address, and who makes way for it, if somebody does.
    pub fn enter(&mut self, from: IpAddr, now: Duration) -> (Verdict, Option<usize>) {
        let from = whose(from);
        let own = self.taken().filter(|(_, place)| place.from == from);
        let own_count = own.count();
        let mut leaves = None;
        if own_count >= (self.all.len() / 2).max(1) {
            leaves = self.quietest(|place| place.from == from);
            if leaves.is_none() {
                return (Verdict::Refused, None);
            }
        }
        let free = self.all.iter().position(|place| place.of == Use::Free);
        let verdict = match free {
            Some(free) => {
                self.all[free] = Place {
                    of: Use::Quiet(now),
                    from,
                };
                Verdict::Takes(free)
            }
            // One for each that comes.
            None if leaves.is_some() || self.all.iter().any(|place| place.of == Use::Leaves) => {
                Verdict::Waits
            }
            None => {
                let (chosen, verdict) = self.full(from, own_count, now);
                leaves = chosen;
                verdict
            }
        };
        if let Some(at) = leaves {
            self.all[at].of = Use::Leaves;
        }
        (verdict, leaves)
    }

    /// All are taken: who makes way for an address that has so many of them.
    fn full(&self, from: IpAddr, own: usize, now: Duration) -> (Option<usize>, Verdict) {
        let mut counts = BTreeMap::new();
        for (_, place) in self.taken() {
            *counts.entry(place.from).or_insert(0) += 1;
        }
        let count = |place: &Place| counts.get(&place.from).copied().unwrap_or(0);
        let most = counts.values().copied().max().unwrap_or(0);
        // Who would still have more: of those with the most.
        let more = self.taken().filter(|(_, place)| count(place) > own + 1);
        let more =
            more.filter_map(|(at, place)| Some((Reverse(count(place)), place.of.quiet()?, at)));
        let more = more.min().map(|(_, _, at)| at);
        let is_late = |place: &Place| {
            let quiet = place.of.quiet();
            quiet.is_some_and(|(_, since)| now.saturating_sub(since) >= QUIET)
        };
        let chosen = more
            .or_else(|| self.quietest(|place| place.from == from))
            .or_else(|| self.quietest(is_late));
        let verdict = match chosen {
            None if own > 0 && own >= most => Verdict::Refused,
            _ => Verdict::Waits,
        };
        (chosen, verdict)
    }

    fn taken(&self) -> impl Iterator<Item = (usize, &Place)> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, place)| place.of.is_taken())
    }

    /// Of some, the one that makes way first.
    fn quietest(&self, of: impl Fn(&Place) -> bool) -> Option<usize> {
        let those = self.taken().filter(|(_, place)| of(place));
        let those = those.filter_map(|(at, place)| Some((place.of.quiet()?, at)));
        those.min().map(|(_, at)| at)
    }

    /// Says what a connection does from now on; false, and nothing changes, if it is to make way.
    pub fn turn(&mut self, at: usize, to: Use) -> bool {
        let place = &mut self.all[at];
        let stays = place.of != Use::Leaves;
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
