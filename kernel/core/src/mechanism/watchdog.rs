//! The longest delay of interrupts by kernel code.
//!
//! Kernel code looks at interrupts at the end of each entry and between the steps of long work, so
//! the longest stretch between an interrupt's arrival in kernel code and the next look is the delay
//! that a program can add to every other program's response. The watchdog records the longest
//! stretch and the place of the look that ended it. It costs nothing until an interrupt arrives in
//! kernel code.
//!
//! Only stretches in which an interrupt arrives are seen. Tests therefore let the timer tick often
//! ([`set_tick`]).

use crate::ground::machine::{hal, log};
use crate::ground::trusted::variables;
use core::panic::Location;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_arch::lock::SpinLock;

variables! { forget:
    /// The longest stretch so far, in nanoseconds, and the place of the look that ended it.
    static LONGEST: SpinLock<(u64, Option<&'static Location<'static>>)> = SpinLock::new((0, None));
    /// Nanoseconds between two ticks of the timer while threads run; 0 for none.
    static TICK: AtomicU64 = AtomicU64::new(0);
}

/// Makes the timer tick at this period while threads run, and the watchdog report at the system's
/// end.
pub(crate) fn set_tick(nanoseconds: u64) {
    TICK.store(nanoseconds, Relaxed);
}

/// Returns the time of the next tick after `now`.
pub(crate) fn next_tick(now: u64) -> u64 {
    match TICK.load(Relaxed) {
        0 => u64::MAX,
        tick => now + tick,
    }
}

/// Records a look at interrupts, at this place.
pub(crate) fn looked(place: &'static Location<'static>) {
    let held = hal().held();
    let mut longest = LONGEST.lock();
    if held > longest.0 {
        *longest = (held, Some(place));
    }
}

/// Returns the longest stretch, in nanoseconds, and the file and line of the look that ended it.
pub(crate) fn longest() -> (u64, &'static str, u32) {
    let (held, place) = *LONGEST.lock();
    (
        held,
        place.map_or("", Location::file),
        place.map_or(0, Location::line),
    )
}

/// Ends the system; first reports the longest stretch if ticks were set.
pub(crate) fn end_system(status: i32) -> ! {
    if TICK.load(Relaxed) != 0 {
        let (held, file, line) = longest();
        log!("watchdog: interrupts waited {held} ns at most, until {file}:{line}");
    }
    hal().exit(status)
}
