//! Time: the time-stamp counter, its rate found once; the date, read once from the real-time clock.
//!
//! The rate comes from the processor or hypervisor where they tell it, else from the old interval timer
//! (channel 0, by polling: the machine `microvm` has no other way to gate it).

use crate::calendar::Registers;
use crate::port;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use raw_cpuid::CpuId;
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

const INTERVAL_HZ: u64 = 1_193_182;
const INTERVAL_DATA: u16 = 0x40;
const INTERVAL_COMMAND: u16 = 0x43;

/// The machine has no clock that this HAL knows.
#[derive(Debug)]
pub struct NoClock;

/// Finds the counter's rate and the date.
pub fn init() -> Result<(), NoClock> {
    START.store(cycles(), Relaxed);
    let rate = match told_rate() {
        Some(rate) => rate,
        None => measured_rate()?,
    };
    RATE.store(rate, Relaxed);
    SCALE.store(
        ((1_000_000_000u128 << 32) / u128::from(rate)) as u64,
        Relaxed,
    );
    if let Some(seconds) = date() {
        UTC_AT_START.store((seconds * 1_000_000_000).saturating_sub(now()), Relaxed);
    }
    Ok(())
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

fn told_rate() -> Option<u64> {
    let id = CpuId::new();
    let by_hypervisor = id.get_hypervisor_info().and_then(|h| h.tsc_frequency());
    by_hypervisor
        .map(|khz| u64::from(khz) * 1000)
        .or_else(|| id.get_tsc_info().and_then(|t| t.tsc_frequency()))
        .filter(|&hz| hz > 1_000_000)
}

/// Measures over two windows of 5 ms, until two in a row agree: a virtual processor may be kept from running
/// in the middle of one.
fn measured_rate() -> Result<u64, NoClock> {
    // Mode 2, from 65,535 down, again and again.
    port::write8(INTERVAL_COMMAND, 0x34);
    port::write8(INTERVAL_DATA, 0);
    port::write8(INTERVAL_DATA, 0);
    let mut before = window()?;
    for _ in 0..8 {
        let after = window()?;
        if before.abs_diff(after) < before / 512 {
            return Ok((before + after) / 2);
        }
        before = after;
    }
    Ok(before)
}

fn window() -> Result<u64, NoClock> {
    let wanted = (INTERVAL_HZ / 200) as u16;
    let (first, start) = interval();
    for _ in 0..10_000_000 {
        if first.wrapping_sub(counter()) >= wanted {
            let (last, end) = interval();
            let passed = u64::from(first.wrapping_sub(last));
            return Ok((u128::from(end - start) * u128::from(INTERVAL_HZ)
                / u128::from(passed.max(1))) as u64);
        }
    }
    Err(NoClock)
}

/// Interval timer and counter at the same instant: of some readings, the one that took least time.
fn interval() -> (u16, u64) {
    let mut best = (0, 0, u64::MAX);
    for _ in 0..8 {
        let before = cycles();
        let count = counter();
        let took = cycles() - before;
        if took < best.2 {
            best = (count, before + took / 2, took);
        }
    }
    (best.0, best.1)
}

fn counter() -> u16 {
    port::write8(INTERVAL_COMMAND, 0);
    let low = port::read8(INTERVAL_DATA);
    u16::from_le_bytes([low, port::read8(INTERVAL_DATA)])
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

fn registers() -> Registers {
    let read = |register: u8| {
        without_interrupts(|| {
            port::write8(0x70, register);
            port::read8(0x71)
        })
    };
    // Wait for an update to end; it takes 2 ms at most.
    let start = cycles();
    while read(0x0a) & 0x80 != 0 {
        if ticks_to_nanoseconds(cycles() - start) > 10_000_000 {
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
