//! `wasi:sockets`: a component gets none. What makes a socket or looks up a name says so, and as there are
//! no sockets, nothing else can be called with one.

use super::resources::Resource;
use super::{Component, Outcome, Room, Trap};

/// `not-supported` of `error-code`.
const NOT_SUPPORTED: u8 = 2;

impl<H: Room> Component<H> {
    /// `instance-network`.
    ///
    /// # Errors
    /// For too many resources.
    pub fn network(&mut self) -> Outcome<u32> {
        self.table.add(Resource::Network)
    }

    /// `create-tcp-socket`, `create-udp-socket` and `resolve-addresses`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn no_socket(&mut self, out: u32) -> Outcome {
        self.put(out, &[1])?;
        self.put_at(out, 4, &[NOT_SUPPORTED])
    }

    /// All calls of a socket.
    ///
    /// # Errors
    /// Always.
    pub fn of_socket<T>(&mut self) -> Outcome<T> {
        Err(Trap::from("passes a socket, and it has none"))
    }
}
