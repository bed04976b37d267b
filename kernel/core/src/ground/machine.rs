//! The machine that the kernel runs on: access to the HAL.

use crate::ground::hal::Hal;
use crate::ground::trusted::{Ended, Kept, Restart, variables};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use sing_arch::link::Link;
use sing_arch::lock::SpinLock;

struct Machine(&'static dyn Hal);

static HAL: Link<Machine> = Link::new();
/// What `HAL` refers to.
static KEPT: SpinLock<Option<Kept<Machine>>> = SpinLock::new(None);

/// Forgets the HAL, after all else: the system has ended.
pub(crate) fn forget(ended: &Ended) {
    restart(ended);
    sing_arch::slab::forget_ground();
    HAL.set(None);
    if let Some(machine) = KEPT.lock().take() {
        ended.reclaim(machine);
    }
}

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
    let machine = Kept::new(Box::new(Machine(hal)));
    HAL.set(Some(machine.get()));
    *KEPT.lock() = Some(machine);
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

/// What has so many bytes is let into the kernel's heap only where there is room beside the
/// reserve; and so many bytes are let in, in smaller parts, before the machine is asked again.
const LARGE: u64 = 64 << 10;

/// Bytes that are granted without asking the machine.
struct Granted(AtomicU64);

variables! { restart:
    static HEAP: Granted = Granted(AtomicU64::new(0));
    /// Whether the machine has refused memory since all reserves were last given back.
    static REFUSED: AtomicBool = AtomicBool::new(false);
    /// When a request was last refused that the SIP's own budget allowed, in nanoseconds; 0 for never.
    static SCARCE: AtomicU64 = AtomicU64::new(0);
}

impl Restart for Granted {
    fn restart(&self, ended: &Ended, first: Self) {
        self.0.restart(ended, first.0);
    }
}

impl Granted {
    /// Whether so many bytes are granted; asks the machine whether they can be, where that is not
    /// known.
    #[inline(always)]
    fn take(&self, bytes: u64, ask: impl FnOnce() -> bool) -> bool {
        let granted = self.0.load(Relaxed);
        if bytes <= granted {
            self.0.store(granted - bytes, Relaxed);
            return true;
        }
        let grants = ask();
        self.0.store(if grants { LARGE } else { 0 }, Relaxed);
        grants
    }
}

/// Whether the kernel's heap grants a SIP so many bytes. What the heap has in reserve is for the
/// kernel's own needs, which cannot be refused: a SIP gets no more of it than [`LARGE`] bytes,
/// whatever its account has.
#[inline(always)]
pub(crate) fn heap_grants(bytes: u64) -> bool {
    HEAP.take(bytes, || ask_for_heap(bytes))
}

#[cold]
#[inline(never)]
fn ask_for_heap(bytes: u64) -> bool {
    let has_room = |m: &Machine| !m.0.is_short() && (bytes < LARGE || m.0.heap_room() >= bytes);
    noted(HAL.get().is_none_or(has_room))
}

/// Prints to the kernel's log.
macro_rules! log {
    ($($arg:tt)*) => { $crate::ground::log::kernel(::core::format_args!($($arg)*)) };
}
pub(crate) use log;

/// Notes a refusal of memory, and returns the machine's answer.
pub(crate) fn noted(done: bool) -> bool {
    if !done {
        REFUSED.store(true, Relaxed);
    }
    done
}

/// For how long after such a refusal the end of an essential SIP is likely to be its consequence,
/// in nanoseconds.
const CONSEQUENCE: u64 = 100_000_000;

/// Notes that the machine's memory did not suffice for a request that the SIP's own budget allowed.
pub(crate) fn is_scarce_now() {
    SCARCE.store(hal().now().max(1), Relaxed);
}

/// Whether that was so a moment ago.
pub(crate) fn was_scarce() -> bool {
    let at = SCARCE.load(Relaxed);
    at != 0 && hal().now() - at < CONSEQUENCE
}

/// Whether memory that is kept in reserve is needed.
pub(crate) fn wants_memory() -> bool {
    REFUSED.load(Relaxed)
}

/// Notes that all reserves have been given back.
pub(crate) fn has_all_memory() {
    REFUSED.store(false, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_machine_grants_what_was_left_and_no_more() {
        let granted = Granted(AtomicU64::new(0));
        assert!(granted.take(100, || true));
        let never = || panic!("it need not ask");
        assert!((0..64).all(|_| granted.take(LARGE / 64, never)));
        assert!(!granted.take(1, || false));
        assert!(!granted.take(1, || false), "a refusal grants nothing");
        assert!(
            granted.take(LARGE + 1, || true),
            "what is large is asked for"
        );
        assert!(!granted.take(LARGE + 1, || false));
        assert!(!granted.take(1, || false));
    }
}
