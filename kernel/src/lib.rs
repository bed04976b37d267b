//! The portable kernel ([O] 3): SIPs, threads, channels, the exchange heap, handles, memory.
//!
//! One source for every machine: what differs is behind [`hal::Hal`]. Code of SIPs enters it through the
//! functions in [`entry`], HALs through [`boot`], [`interrupt::arrive`] and [`fault::handle`].
//!
//! Invariants:
//! - Kernel code is not pre-empted. An interrupt that finds it is noted and acted on later: at the end of the entry, or
//!   between the steps of what can take long.
//! - A thread that waits inside the kernel owns nothing on its stack, so it can be ended there.
//! - No pointer into a SIP's memory is kept across calls, and none of the kernel's reaches a SIP
//!   ([O] 3.3, memory independence).
//! - All `unsafe` code stands in `trusted`.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

mod boot;
mod channel;
mod contract;
mod cpu;
mod crash;
pub mod entry;
mod exheap;
pub mod fault;
pub mod hal;
mod handle;
pub mod harness;
mod image;
pub mod interrupt;
mod machine;
mod memory;
mod query;
mod sched;
mod selection;
mod set;
mod sip;
mod sync;
mod thread;
mod timer;
mod trace;
mod trusted;
mod wait;

pub use boot::{Options, boot};
