//! Time: the time-stamp counter, whose rate is determined once, and the date, read once from the
//! real-time clock.
//!
//! [`sources`] has the sources of the rate, in the order in which they are tried.

mod sources;

use crate::acpi::Platform;
use crate::calendar::Registers;
use crate::port;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_arch::cycles;
use x86_64::instructions::interrupts::without_interrupts;

/// The ports of the real-time clock (an MC146818 or its like): the number of a register, and its
/// value.
pub const CALENDAR: Range<u16> = 0x70..0x72;

/// The counter at the start.
static START: AtomicU64 = AtomicU64::new(0);
/// Counter ticks per second.
static RATE: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds per tick, as a fixed-point number with 32 fractional bits.
static SCALE: AtomicU64 = AtomicU64::new(0);
/// UTC at the start, in nanoseconds since 1970; 0 if unknown.
static UTC_AT_START: AtomicU64 = AtomicU64::new(0);

/// The machine has no known source of the clock's rate, or not the one that was requested.
#[derive(Debug)]
pub struct NoClock;

/// Names of the sources, in order.
pub fn source_names() -> impl Iterator<Item = &'static str> {
    sources::SOURCES.iter().map(|(name, _)| *name)
}

/// Determines the counter's rate and the date; `only` restricts the sources to one. Returns the
/// source's name.
pub fn init(platform: &Platform, only: Option<&str>) -> Result<&'static str, NoClock> {
    START.store(cycles(), Relaxed);
    let (source, rate) = sources::SOURCES
        .iter()
        .filter(|(name, _)| only.is_none_or(|only| only == *name))
        .find_map(|(name, rate)| Some((*name, rate(platform)?)))
        .ok_or(NoClock)?;
    RATE.store(rate, Relaxed);
    SCALE.store(
        ((1_000_000_000u128 << 32) / u128::from(rate)) as u64,
        Relaxed,
    );
    if let Some(seconds) = date() {
        UTC_AT_START.store((seconds * 1_000_000_000).saturating_sub(now()), Relaxed);
    }
    Ok(source)
}

/// Counter ticks per second.
pub fn rate() -> u64 {
    RATE.load(Relaxed)
}

/// Nanoseconds since the start.
pub fn now() -> u64 {
    ticks_to_nanoseconds(cycles().wrapping_sub(START.load(Relaxed)))
}

/// Nanoseconds since 1970, UTC; the uptime if the machine does not know the date.
pub fn utc() -> u64 {
    UTC_AT_START.load(Relaxed) + now()
}

/// Converts counter ticks to nanoseconds; 0 before the rate is known.
pub fn ticks_to_nanoseconds(ticks: u64) -> u64 {
    ((u128::from(ticks) * u128::from(SCALE.load(Relaxed))) >> 32) as u64
}

/// Reads the real-time clock until two readings agree, in seconds since 1970, as it may change
/// during a reading.
fn date() -> Option<u64> {
    let mut before = registers();
    for _ in 0..100 {
        let after = registers();
        if before == after {
            return after.seconds();
        }
        before = after;
    }
    None
}

/// Whether there is a real-time clock: its registers hold a date.
fn calendar_is_there() -> bool {
    date().is_some()
}

/// Whether the real-time clock is changing its registers.
fn updating() -> bool {
    read_calendar(0x0a) & 0x80 != 0
}

/// Reads a register of the real-time clock. The highest bit of a number would stop non-maskable
/// interrupts.
pub fn read_calendar(register: u8) -> u8 {
    let Range { start: number, .. } = CALENDAR;
    without_interrupts(|| {
        port::write8(number, register & 0x7f);
        port::read8(number + 1)
    })
}

fn registers() -> Registers {
    // Waits for an update to end, which takes 2 ms at most. The iterations are bounded for when the
    // rate is not known yet.
    let start = cycles();
    for _ in 0..100_000 {
        if !updating() || ticks_to_nanoseconds(cycles() - start) > 10_000_000 {
            break;
        }
    }
    Registers {
        second: read_calendar(0),
        minute: read_calendar(2),
        hour: read_calendar(4),
        day: read_calendar(7),
        month: read_calendar(8),
        year: read_calendar(9),
        format: read_calendar(0x0b),
    }
}
