//! Connections that nobody has any more: their last bytes go, and the other side ends its direction. A program that has
//! closed them has no say in how long that takes, so they make way for its further ones.
//!
//! Invariant: while an origin has such connections, it is not without a socket because of them.

use crate::end::At;
use crate::network::Network;

impl Network {
    /// Takes one socket of the host, or of the stack, from an origin's share; whether it could. If the share is used up,
    /// those connections of the origin are ended that nobody has, the oldest first.
    pub fn take_share(&mut self, origin: u32, of_host: bool) -> bool {
        loop {
            let shares = match of_host {
                true => &mut self.host_sockets,
                false => &mut self.sockets,
            };
            if shares.take(origin, 1) {
                return true;
            }
            let Some(orphan) = self.oldest_orphan(origin, of_host) else {
                return false;
            };
            self.abort(orphan);
        }
    }

    fn oldest_orphan(&self, origin: u32, of_host: bool) -> Option<u32> {
        let own = self.streams.iter().filter(|(_, stream)| {
            stream.origin == origin && matches!(stream.socket, At::Host(_)) == of_host
        });
        let orphans = own.filter_map(|(number, stream)| Some((stream.left?, *number)));
        orphans.min().map(|(_, number)| number)
    }
}
