//! Time: the time-stamp counter, its rate found once; the date, read once from the real-time clock.
//!
//! [`sources`] has the places where the rate can come from, in the order in which they are asked.

mod sources;

use crate::acpi::Platform;
use crate::calendar::Registers;
use crate::port;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_arch::cycles;
use x86_64::instructions::interrupts::without_interrupts;

/// Counter at the start.
static START: AtomicU64 = AtomicU64::new(0);
/// Counter ticks a second.
static RATE: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds a tick, with 32 bits after the point.
static SCALE: AtomicU64 = AtomicU64::new(0);
/// UTC at the start, in nanoseconds since 1970; 0 where the machine does not know.
static UTC_AT_START: AtomicU64 = AtomicU64::new(0);

/// The machine has no clock that this HAL knows, or not the one that was asked for.
#[derive(Debug)]
pub struct NoClock;

/// Names of the sources, in order.
pub fn source_names() -> impl Iterator<Item = &'static str> {
    sources::SOURCES.iter().map(|(name, _)| *name)
}

/// Finds the counter's rate and the date; `only` names a source to use and no other. Answers the source's name.
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

/// Counter ticks a second.
pub fn rate() -> u64 {
    RATE.load(Relaxed)
}

/// Nanoseconds since the start.
pub fn now() -> u64 {
    ticks_to_nanoseconds(cycles().wrapping_sub(START.load(Relaxed)))
}

/// Nanoseconds since 1970.
pub fn utc() -> u64 {
    UTC_AT_START.load(Relaxed) + now()
}

/// How long that many ticks take; 0 before the rate is known.
pub fn ticks_to_nanoseconds(ticks: u64) -> u64 {
    ((u128::from(ticks) * u128::from(SCALE.load(Relaxed))) >> 32) as u64
}

/// The real-time clock, read when it is not changing: twice the same.
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

/// Whether there is a real-time clock: its registers make a date.
fn calendar_is_there() -> bool {
    date().is_some()
}

/// Whether the real-time clock is changing its registers.
fn updating() -> bool {
    read(0x0a) & 0x80 != 0
}

fn read(register: u8) -> u8 {
    without_interrupts(|| {
        port::write8(0x70, register);
        port::read8(0x71)
    })
}

fn registers() -> Registers {
    // Wait for an update to end; it takes 2 ms at most. The rounds end it where the rate is not known yet.
    let start = cycles();
    for _ in 0..100_000 {
        if !updating() || ticks_to_nanoseconds(cycles() - start) > 10_000_000 {
            break;
        }
    }
    Registers {
        second: read(0),
        minute: read(2),
        hour: read(4),
        day: read(7),
        month: read(8),
        year: read(9),
        format: read(0x0b),
    }
}
