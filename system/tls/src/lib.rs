//! TLS 1.3 without its channels: the primitives that `rustls` is given, keys and certificates as
//! files have them, the configuration, and one connection's bytes. Tested on the host.
//!
//! Invariants:
//! - Nothing here waits, reads or writes; no input makes it panic.
//! - What is kept for a connection is bounded, whatever its client sends ([`session`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod config;
pub mod keys;
pub mod provider;
pub mod session;
#[cfg(test)]
mod tests;

pub use rustls;
