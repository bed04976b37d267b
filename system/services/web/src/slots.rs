//! The connections that there are. When there are as many as there may be, the one that waits for its
//! client longest makes way: who only holds connections keeps nobody out.
//!
//! Invariants:
//! - One that was told to make way serves nothing any more.
//! - One address has half the places at most, those beside that make way. A connection that has been
//!   served makes way before one that waits for its first bytes: a client that closes one connection and
//!   opens the next has no more than before, though the server may see the next one first.

use core::net::IpAddr;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::sync::{AutoEvent, ManualEvent, Mutex};
use sing_sdk::time::{Timeout, uptime};

/// Between two looks whether one can make way.
const LOOK: Duration = Duration::from_millis(100);
/// How long one may be quiet before it makes way.
const QUIET: Duration = Duration::from_millis(500);

#[derive(Clone, Copy)]
enum Use {
    Free,
    /// It is kept for the next connection.
    Kept,
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
            Use::Free | Use::Kept | Use::Busy | Use::Leaves => None,
        }
    }
}

pub struct Slots {
    uses: Mutex<Vec<Use>>,
    /// From where those that are in use come; locked behind `uses`.
    peers: Mutex<Vec<Option<IpAddr>>>,
    /// Set for a connection that is to make way.
    leave: Vec<ManualEvent>,
    freed: AutoEvent,
}

/// Who an address is: of IPv6, whoever has one has the other 2^64 of its network.
fn whose(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(of) => IpAddr::V6((of.to_bits() & !u128::from(u64::MAX)).into()),
        of => of,
    }
}

impl Slots {
    pub fn new(count: usize) -> Result<Slots, Error> {
        let events = (0..count).map(|_| ManualEvent::new(false));
        Ok(Slots {
            uses: Mutex::new(vec![Use::Free; count]),
            peers: Mutex::new(vec![None; count]),
            leave: events.collect::<Result<_, _>>()?,
            freed: AutoEvent::new(false)?,
        })
    }

    /// Waits for a free place.
    pub fn take(&self) -> usize {
        loop {
            if let Some(free) = self.try_take() {
                return free;
            }
            // A time-out: it is looked again.
            let _ = sing_sdk::sync::wait(&self.freed, Timeout::from(LOOK));
        }
    }

    fn try_take(&self) -> Option<usize> {
        let mut uses = self.uses.lock();
        if let Some(free) = uses.iter().position(|u| matches!(u, Use::Free)) {
            uses[free] = Use::Kept;
            self.leave[free].reset();
            return Some(free);
        }
        // One for each that comes.
        if uses.iter().any(|u| matches!(u, Use::Leaves)) {
            return None;
        }
        let now = uptime();
        let quiet = uses.iter().enumerate().filter_map(|(at, u)| {
            let quiet = u.quiet()?;
            (now.saturating_sub(quiet.1) >= QUIET).then_some((quiet, at))
        });
        if let Some((_, at)) = quiet.min() {
            uses[at] = Use::Leaves;
            self.leave[at].set();
        }
        None
    }

    /// Gives a place that was taken to a connection from an address; false if that has half of all,
    /// and none of its own can make way.
    pub fn admit(&self, slot: usize, from: IpAddr) -> bool {
        let from = whose(from);
        let mut uses = self.uses.lock();
        let mut peers = self.peers.lock();
        let most = (uses.len() / 2).max(1);
        let (mut count, mut first) = (0, None);
        for (at, (of, peer)) in uses.iter().zip(peers.iter()).enumerate() {
            if *peer != Some(from) || matches!(of, Use::Free | Use::Kept | Use::Leaves) {
                continue;
            }
            count += 1;
            if let Some(quiet) = of.quiet() {
                let this = (quiet, at);
                first = Some(first.map_or(this, |first| this.min(first)));
            }
        }
        if count >= most {
            let Some((_, at)) = first else {
                return false;
            };
            uses[at] = Use::Leaves;
            self.leave[at].set();
        }
        uses[slot] = Use::Quiet(uptime());
        peers[slot] = Some(from);
        true
    }

    pub fn free(&self, slot: usize) {
        self.uses.lock()[slot] = Use::Free;
        self.freed.set();
    }

    /// A request is served, or is to be; false if the connection has to make way instead.
    pub fn busy(&self, slot: usize) -> bool {
        self.turn(slot, Use::Busy)
    }

    /// The next request is waited for.
    pub fn quiet(&self, slot: usize) {
        self.turn(slot, Use::Quiet(uptime()));
    }

    /// The client is waited for, in a request.
    pub fn waits(&self, slot: usize) {
        self.turn(slot, Use::Waits(uptime()));
    }

    /// The last answer is given, and the client's end is waited for.
    pub fn ends(&self, slot: usize) {
        self.turn(slot, Use::Ends(uptime()));
    }

    fn turn(&self, slot: usize, to: Use) -> bool {
        let mut uses = self.uses.lock();
        let stays = !matches!(uses[slot], Use::Leaves);
        if stays {
            uses[slot] = to;
        }
        stays
    }

    /// Is set when the connection in this place should end.
    pub fn leave(&self, slot: usize) -> &ManualEvent {
        &self.leave[slot]
    }

    /// Has all end that wait for a request.
    pub fn leave_all(&self) {
        let uses = self.uses.lock();
        for (leave, of) in self.leave.iter().zip(uses.iter()) {
            if matches!(of, Use::Quiet(_)) {
                leave.set();
            }
        }
    }

    /// How many there are, and how many of them serve a request.
    pub fn count(&self) -> (usize, usize) {
        let uses = self.uses.lock();
        let busy = uses.iter().filter(|u| matches!(u, Use::Busy)).count();
        let none = |u: &&Use| matches!(u, Use::Free | Use::Kept);
        let free = uses.iter().filter(none).count();
        (uses.len() - free, busy)
    }
}
