//! The web server's logic without its channels: what the bytes of a request mean, and what
//! the bytes of an answer are. Tested on the host.
//!
//! Invariants:
//! - Nothing here waits, reads or writes; no input makes it panic.
//! - What a request is does not depend on how its bytes were cut on their way.
//! - A request that two readers could understand differently is refused: it could be smuggled past
//!   one of them.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod answer;
pub mod body;
pub mod cache;
pub mod conditions;
pub mod config;
pub mod date;
pub mod head;
pub mod kinds;
pub mod pace;
pub mod packed;
pub mod places;
pub mod requests;
pub mod target;
