//! The machine that the kernel runs on: access to the HAL.

use crate::ground::hal::Hal;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use sing_arch::link::Link;

struct Machine(&'static dyn Hal);

static HAL: Link<Machine> = Link::new();

/// Sets the HAL. The first step of starting.
///
/// # Panics
/// If it is set already: reservations of one HAL would be released to the other.
pub(crate) fn set(hal: &'static dyn Hal) {
    note(hal);
    sing_arch::slab::set_ground(&crate::ground::trusted::Records);
}

/// Sets the HAL alone: for tests, whose records come from the heap.
pub(crate) fn note(hal: &'static dyn Hal) {
    assert!(HAL.get().is_none(), "the kernel is started twice");
    #[expect(clippy::disallowed_methods, reason = "once, before the first SIP runs")]
    HAL.set(Some(Box::leak(Box::new(Machine(hal)))));
}

/// Returns the HAL.
///
/// # Panics
/// If the kernel has not been started.
pub(crate) fn hal() -> &'static dyn Hal {
    HAL.get().expect("the kernel has not been started").0
}

/// Whether memory is so short that nothing new is made for SIPs.
pub(crate) fn is_short() -> bool {
    HAL.get().is_some_and(|m| m.0.is_short())
}

/// Prints to the kernel's log.
macro_rules! log {
    ($($arg:tt)*) => { $crate::ground::log::kernel(::core::format_args!($($arg)*)) };
}
pub(crate) use log;

/// Whether the machine has refused memory since all reserves were last given back.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Notes a refusal of memory, and returns the machine's answer.
pub(crate) fn noted(done: bool) -> bool {
    if !done {
        REFUSED.store(true, Relaxed);
    }
    done
}

/// Whether memory that is kept in reserve is needed.
pub(crate) fn wants_memory() -> bool {
    REFUSED.load(Relaxed)
}

/// Notes that all reserves have been given back.
pub(crate) fn has_all_memory() {
    REFUSED.store(false, Relaxed);
}
