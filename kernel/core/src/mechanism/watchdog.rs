//! How long the kernel keeps interrupts waiting.
//!
//! Kernel code looks at interrupts at the end of each entry and between the steps of what can take long, so the longest
//! stretch between an interrupt's arrival in kernel code and the next look is what a program can add to everybody's
//! response. The watchdog keeps the longest one and where the look was that ended it. It costs nothing until an interrupt
//! has come in kernel code.
//!
//! Only stretches in which an interrupt comes are seen. Tests let the timer tick often for that ([`set_tick`]).

use crate::ground::machine::{hal, log};
use core::panic::Location;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_arch::lock::SpinLock;

/// The longest stretch so far, in nanoseconds, and the place of the look that ended it.
static LONGEST: SpinLock<(u64, Option<&'static Location<'static>>)> = SpinLock::new((0, None));
/// Nanoseconds between two ticks of the timer while threads run; 0 for none.
static TICK: AtomicU64 = AtomicU64::new(0);

/// Lets the timer tick so often while threads run, and the longest stretch be told at the system's end.
pub(crate) fn set_tick(nanoseconds: u64) {
    TICK.store(nanoseconds, Relaxed);
}

/// When the next tick is due, from `now` on.
pub(crate) fn next_tick(now: u64) -> u64 {
    match TICK.load(Relaxed) {
        0 => u64::MAX,
        tick => now + tick,
    }
}

/// The kernel looks at interrupts.
pub(crate) fn looked(place: &'static Location<'static>) {
    let held = hal().held();
    let mut longest = LONGEST.lock();
    if held > longest.0 {
        *longest = (held, Some(place));
    }
}

/// The longest stretch, in nanoseconds, and where it ended: file and line.
pub(crate) fn longest() -> (u64, &'static str, u32) {
    let (held, place) = *LONGEST.lock();
    (
        held,
        place.map_or("", Location::file),
        place.map_or(0, Location::line),
    )
}

/// Ends the system; says what the watchdog has seen, where it was asked to look often.
pub(crate) fn end_system(status: i32) -> ! {
    if TICK.load(Relaxed) != 0 {
        let (held, file, line) = longest();
        log!("watchdog: interrupts waited {held} ns at most, until {file}:{line}");
    }
    hal().exit(status)
}
