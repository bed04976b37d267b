//! What drivers of disks share: the server of `DiskContract`, over what each driver can do with its
//! device ([`DiskDevice`]).
//!
//! A driver starts its device, and runs a [`Server`] of it. The server is compiled for each driver:
//! no call of the device goes by way of a table.
//!
//! Invariants:
//! - No client can stop another. Each has one request at a time; a request that the device has no
//!   room for waits in the server, at most one for each client, and the others go on.
//! - A device gets only requests whose sectors it has and whose bytes lie in the block
//!   ([`Geometry::holds`]), and no writing ones if it cannot be written.
//! - A device that does not answer a request in time ends the driver: its channels close, and its
//!   successor resets the device. So a client is never told that a request has ended while the device
//!   may still do it, and the geometry is told only when all that came before has ended.
//! - The length of all clients' blocks is bounded: so many channels, and a block of at most
//!   [`LARGEST`] bytes on each. What hangs below a block is not: its parts come with it, and are on
//!   the driver's account while it is here.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod device;
mod geometry;
mod server;

pub use device::{Answer, DiskDevice, NotBegun, Request, Signal};
pub use geometry::Geometry;
pub use server::Server;

/// The size to which a driver grows its heap at the start: clients and their requests need no more.
pub const HEAP: usize = 1 << 20;
/// The largest block that is taken, in bytes: what all clients have here together fits the budget.
pub const LARGEST: usize = 1 << 20;
/// The most bytes of a request's data, whatever the device could take.
pub const MOST: u32 = 512 << 10;
/// Requests that a device has at once, at most.
pub const PARALLEL: usize = 32;
