//! What drivers of network cards share: the server of `NicContract`, over what each driver can do
//! with its device ([`NicDevice`]).
//!
//! A driver starts its device, and runs a [`Server`] of it. The server is compiled for each driver:
//! no call of the device goes by way of a table. The device has memory of the driver's own, so a
//! client can neither slow it nor change a frame under way; frames are copied once between that and
//! the clients' blocks, many a block, which costs less than a block and a message for each.
//!
//! Invariants:
//! - No client can stop another. Frames that come go into buffers that the clients have handed in;
//!   a client without one loses them, and is told how many. A client that sends more than the
//!   device has room for waits, and others send in between.
//! - A device gets only frames of lengths that a network carries.
//! - The length of all clients' blocks is bounded: so many channels, and on each a number of blocks
//!   of at most [`LARGEST`] bytes. What hangs below a block is not: its parts come with it, and are
//!   on the driver's account while it is here. So only programs of the image that the system
//!   manifest names have this contract.
//! - A flood of frames does not keep the server from its clients: it takes so many a turn.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod client;
mod device;
mod manifest;
mod server;

pub use device::NicDevice;
pub use server::Server;

/// The size to which a driver grows its heap at the start: clients and their requests need no more.
pub const HEAP: usize = 1 << 20;
/// The largest block that is taken, in bytes.
pub const LARGEST: usize = 64 << 10;
/// Buffers that a channel may have here, beside that of its request.
pub const MOST_LENT: usize = 8;
