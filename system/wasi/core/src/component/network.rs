//! `wasi:sockets/network` and `instance-network`: what stands for the network. Whether there is one, a call that
//! makes a socket or looks up a name says.

use super::resources::Resource;
use super::{Component, Outcome, Room};

impl<H: Room> Component<H> {
    /// `instance-network`.
    ///
    /// # Errors
    /// For too many resources.
    pub fn network(&mut self) -> Outcome<u32> {
        self.table.add(Resource::Network)
    }
}
