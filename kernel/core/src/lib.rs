//! The portable kernel ([O] 3): SIPs, threads, channels, the exchange heap, handles, memory.
//!
//! One source for every machine: what differs is behind [`hal::Hal`]. Code of SIPs enters it
//! through the functions in [`entry`], HALs through [`boot`], [`interrupt::arrive`] and
//! [`fault::handle`]. Who wants to run code without a system embeds the kernel through [`host`].
//!
//! Four layers, from top to bottom; a module uses those of its own layer and of the layers below
//! it, as far as objects let it (a thread names its SIP, and a wait names what it waits for):
//! - [`entry`]: what is called from outside, by code of SIPs and by HALs.
//! - `mechanism`: how threads wait, run and are interrupted.
//! - `object`: what handles name, and what those are made of.
//! - `ground`: what the kernel stands on, and what never changes while it runs.
//!
//! Invariants:
//! - Kernel code is not pre-empted. An interrupt that finds it is noted and acted on later: at the
//!   end of the entry, or between the steps of what can take long.
//! - A thread that waits inside the kernel owns nothing on its stack, so it can be ended there.
//! - No pointer into a SIP's memory is kept across calls, and none of the kernel's reaches a SIP
//!   ([O] 3.3, memory independence).
//! - All `unsafe` code stands in `ground::trusted`.
#![no_std]
#![deny(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_macros,
        reason = "tests allocate as they like"
    )
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod entry;
mod ground;
mod mechanism;
mod object;

pub use entry::boot::{Options, boot};
pub use entry::{fault, forget};
pub use ground::trusted::{BootImage, GuestCall};
pub use ground::{console, device, hal, output};
pub use mechanism::interrupt;
pub use object::host;

/// Keeps other tests from the kernel's stores and locks, which are those of one processor,
/// meanwhile.
#[cfg(test)]
pub(crate) fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    // Where a test has failed, the others are not to fail for that.
    ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
