//! Connections that nobody has any more: their last bytes go, and the other side ends its direction. A program that has
//! closed them has no say in how long that takes, so they make way for its further ones.
//!
//! Invariants:
//! - An origin that has such connections is not without a socket for a connection or a listener because of them.
//! - One that makes way is of the address with most of them: who leaves many open cuts his own.

use crate::end::At;
use crate::network::Network;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::IpAddr;
use core::time::Duration;
use sing_sdk::share::Shares;

/// A connection that nobody has.
struct Orphan {
    number: u32,
    owner: IpAddr,
    left: Duration,
}

impl Network {
    fn shares(&mut self, of_host: bool) -> &mut Shares {
        match of_host {
            true => &mut self.host_sockets,
            false => &mut self.sockets,
        }
    }

    /// Takes one socket of the host, or of the stack, from an origin's share; whether it could. If the share is used up, as
    /// many of the origin's connections are ended that nobody has as make room, and none if all of them would not.
    pub fn take_share(&mut self, origin: u32, of_host: bool) -> bool {
        if self.shares(of_host).take(origin, 1) {
            return true;
        }
        let mut orphans = self.orphans(origin, of_host);
        let shares = self.shares(of_host);
        let enough = (1..=orphans.len()).find(|count| shares.allows_behind(origin, 1, *count));
        let Some(enough) = enough else { return false };
        for _ in 0..enough {
            let mut counts = BTreeMap::new();
            for orphan in &orphans {
                *counts.entry(orphan.owner).or_insert(0) += 1;
            }
            let numbered = orphans.iter().enumerate();
            let first = numbered.min_by_key(|(_, orphan)| {
                let count = counts.get(&orphan.owner).copied().unwrap_or(0);
                (Reverse(count), orphan.left)
            });
            let Some((at, _)) = first else { break };
            let orphan = orphans.swap_remove(at);
            self.abort(orphan.number);
        }
        self.shares(of_host).take(origin, 1)
    }

    fn orphans(&self, origin: u32, of_host: bool) -> Vec<Orphan> {
        let own = self.streams.iter().filter(|(_, stream)| {
            stream.origin == origin && matches!(stream.socket, At::Host(_)) == of_host
        });
        let orphans = own.filter_map(|(number, stream)| {
            Some(Orphan {
                number: *number,
                owner: stream.remote.0.owner(),
                left: stream.left?,
            })
        });
        orphans.collect()
    }
}
