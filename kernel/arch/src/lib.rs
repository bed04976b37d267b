//! Trusted mechanics that both HALs share: the context switch, the first frame of a thread, locks,
//! type-stable object stores and intrusive lists.
//!
//! Everything here is small, used on the kernel's shortest paths, and cannot be written without
//! `unsafe`, so that the kernel itself can. Code for one processor is in a folder with its name,
//! behind an interface that all of them have: [`switch`], [`frame`], [`fault`], [`cycles`].
//! Invariants:
//! - A [`slab::Slab`] never reuses addresses for anything else: a `&'static T` from it stays a
//!   valid `T` for ever, though the record may be reused for another object. A holder of such a
//!   reference must know that its object lives.
//! - A [`link::Link`] holds only such references.
//! - [`switch`] is the only way from one kernel stack to another.
//! - One thread of the machine runs kernel code: see [`lock`].
#![no_std]

extern crate alloc;

pub mod fault;
pub mod link;
pub mod lock;
pub mod slab;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
use x86_64 as processor;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("no such processor yet: kernel/arch/src/x86_64 shows what one has to bring");

pub use processor::{cycles, entry, frame, switch};

/// Tells the processor that this is a spin loop.
#[inline(always)]
pub fn pause() {
    core::hint::spin_loop();
}
