//! `wasi:sockets`: a component gets none, as a program that was not allowed any. What makes a socket or looks
//! up a name says so, and as there are no sockets, nothing else can be called with one.

use super::resources::Resource;
use super::{Component, Outcome, Room, Trap};

/// `error-code`.
const ACCESS_DENIED: u8 = 1;
const PERMANENT_RESOLVER_FAILURE: u8 = 20;

impl<H: Room> Component<H> {
    /// `instance-network`.
    ///
    /// # Errors
    /// For too many resources.
    pub fn network(&mut self) -> Outcome<u32> {
        self.table.add(Resource::Network)
    }

    /// `create-tcp-socket` and `create-udp-socket`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn no_socket(&mut self, out: u32) -> Outcome {
        self.put(out, &[1])?;
        self.put_at(out, 4, &[ACCESS_DENIED])
    }

    /// `resolve-addresses`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn no_address(&mut self, out: u32) -> Outcome {
        self.put(out, &[1])?;
        self.put_at(out, 4, &[PERMANENT_RESOLVER_FAILURE])
    }

    /// All calls of a socket.
    ///
    /// # Errors
    /// Always.
    pub fn of_socket<T>(&mut self) -> Outcome<T> {
        Err(Trap::from("passes a socket, and it has none"))
    }
}
