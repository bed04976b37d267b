//! What the network reads in packets itself, on top of smoltcp's readers: names and answers of DNS
//! ([`dns`]), what ICMP says of connections and routers ([`icmp`]), and beginnings of connections that are
//! more than sockets wait for ([`beginnings`]).
//!
//! Invariants:
//! - Any bytes become a value or `None`, whoever sent them, and nothing is read beyond them.
//! - What is kept of a packet is bounded by the packet's length and the limits that are named here.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod beginnings;
pub mod dns;
pub mod icmp;
pub mod segment;
