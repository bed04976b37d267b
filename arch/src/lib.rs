//! Trusted mechanics of x86-64 that both HALs share: the context switch, the first frame of a thread, locks,
//! type-stable object stores and intrusive lists.
//!
//! Everything here is small, used on the kernel's shortest paths, and cannot be written without `unsafe`; so
//! that the kernel itself can. Invariants:
//! - A [`slab::Slab`] never gives memory back: a `&'static T` from it stays a valid `T` for ever, though it
//!   may come to stand for another object. Whoever keeps one must know that its object lives.
//! - A [`link::Link`] holds only such references.
//! - [`switch`] is the only way from one kernel stack to another.
#![no_std]

extern crate alloc;

pub mod link;
pub mod lock;
pub mod slab;
pub mod switch;

/// The time-stamp counter.
#[inline(always)]
#[must_use]
pub fn cycles() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; it reads a counter and nothing else. The PC HAL
    // does not set CR4.TSD, and Linux leaves it clear.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Tells the processor that this is a spin loop.
#[inline(always)]
pub fn pause() {
    core::hint::spin_loop();
}
