//! Time: Linux's clocks, and the rate of the time-stamp counter.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The least time, in nanoseconds, over which the counter is compared with Linux's clock. Reading
/// both together is uncertain by some 50 ns, so this gives the rate to about 100 parts in a million. A
/// system that starts waits for the end of it: its scheduler asks when the first thread runs, which is
/// mostly later than that, and then the rate is the better for it.
const CALIBRATION: u64 = 500_000;

/// The clocks since the start.
pub(crate) struct Clock {
    /// The monotonic clock at the start.
    start: u64,
    /// The same instant, on both clocks.
    pair: Pair,
    rate: OnceLock<u64>,
}

/// One instant on the counter and the monotonic clock.
#[derive(Clone, Copy)]
struct Pair {
    cycles: u64,
    nanoseconds: u64,
}

/// Reads the time-stamp counter.
fn cycles() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets processes use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time of the first noted interrupt that the kernel has not acted on, on the CPU clock of the
/// kernel's thread, which stands still while Linux runs other threads.
#[derive(Default)]
pub(crate) struct Noted(AtomicU64);

impl Noted {
    /// Notes an interrupt. Called by signal handlers.
    pub(crate) fn note(&self) {
        if self.0.load(Relaxed) == 0 {
            self.0.store(read(ClockId::ThreadCPUTime).max(1), Relaxed);
        }
    }

    /// Clears it: another thread runs the kernel from here on.
    pub(crate) fn forget(&self) {
        self.0.store(0, Relaxed);
    }

    /// Returns how long the thread has worked since the note, and clears it; 0 if nothing is noted.
    pub(crate) fn take(&self) -> u64 {
        match self.0.swap(0, Relaxed) {
            0 => 0,
            since => read(ClockId::ThreadCPUTime).saturating_sub(since).max(1),
        }
    }
}

impl Pair {
    /// Reads both clocks: takes the closest of a few readings, in case one is interrupted in the
    /// middle.
    fn now() -> Self {
        let reading = || {
            let before = cycles();
            let nanoseconds = read(ClockId::Monotonic);
            let took = cycles().wrapping_sub(before);
            (
                took,
                Self {
                    cycles: before + took / 2,
                    nanoseconds,
                },
            )
        };
        let mut best = reading();
        for _ in 0..8 {
            let next = reading();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }
}

impl Clock {
    /// Starts the clocks.
    pub(crate) fn new() -> Self {
        let pair = Pair::now();
        Self {
            start: pair.nanoseconds,
            pair,
            rate: OnceLock::new(),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        read(ClockId::Monotonic) - self.start
    }

    /// Converts a time of [`Clock::now`] to Linux's monotonic clock.
    pub(crate) fn monotonic(&self, at: u64) -> u64 {
        self.start.saturating_add(at)
    }

    pub(crate) fn utc() -> u64 {
        read(ClockId::Realtime)
    }

    /// Returns the time-stamp counter's ticks a second: compared over the time since the start, so
    /// a call a millisecond later need not wait.
    pub(crate) fn cycles_per_second(&self) -> u64 {
        *self.rate.get_or_init(|| {
            while self.now() < CALIBRATION {
                core::hint::spin_loop();
            }
            let end = Pair::now();
            let ticks = u128::from(end.cycles.wrapping_sub(self.pair.cycles));
            let nanoseconds = u128::from(end.nanoseconds - self.pair.nanoseconds);
            (ticks * 1_000_000_000 / nanoseconds) as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_interrupt_waits_while_the_thread_works_and_not_while_it_sleeps() {
        let noted = Noted::default();
        assert_eq!(noted.take(), 0);
        noted.note();
        std::thread::sleep(Duration::from_millis(200));
        let slept = noted.take();
        assert!((1..100_000_000).contains(&slept), "{slept} ns");
        assert_eq!(noted.take(), 0, "it was told once");
        noted.note();
        let since = read(ClockId::ThreadCPUTime);
        while read(ClockId::ThreadCPUTime) < since + 3_000_000 {
            noted.note();
        }
        let worked = noted.take();
        assert!(worked >= 3_000_000, "the first one counts: {worked} ns");
    }
}
