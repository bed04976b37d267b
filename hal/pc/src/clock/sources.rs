//! Sources of the time-stamp counter's rate.
//!
//! The sources are tried in the order of [`SOURCES`]: first those that report the rate, then timers
//! of a known rate against which it is measured, the fastest and most reliable first. The word
//! `clock=NAME` on the command line restricts them to one.

use super::{calendar_is_there, updating};
use crate::acpi::{Platform, Register};
use crate::{apic, memory, port};
use core::cell::UnsafeCell;
use raw_cpuid::{CpuId, Hypervisor};
use sing_arch::cycles;
use x86_64::registers::model_specific::Msr;

/// A source: its name, and the function that determines the rate in ticks per second.
type Source = (&'static str, fn(&Platform) -> Option<u64>);

/// All sources, the best first.
pub const SOURCES: [Source; 6] = [
    ("cpuid", by_cpuid),
    ("kvmclock", by_kvmclock),
    ("acpi", by_acpi_timer),
    ("pit", by_interval_timer),
    ("apic", by_apic_timer),
    ("rtc", by_calendar),
];

/// Reported by a hypervisor or the processor (CPUID).
fn by_cpuid(_: &Platform) -> Option<u64> {
    let id = CpuId::new();
    let by_hypervisor = id.get_hypervisor_info().and_then(|h| h.tsc_frequency());
    by_hypervisor
        .map(|khz| u64::from(khz) * 1000)
        .or_else(|| id.get_tsc_info().and_then(|t| t.tsc_frequency()))
        .filter(|&hz| hz > 1_000_000)
}

fn hypervisor() -> Option<Hypervisor> {
    Some(CpuId::new().get_hypervisor_info()?.identify())
}

/// The record that KVM writes: how its own clock follows from the time-stamp counter.
#[repr(C, align(64))]
struct KvmTime(UnsafeCell<[u32; 8]>);
// SAFETY: only `by_kvmclock` uses it, once, at the start.
unsafe impl Sync for KvmTime {}
static KVM_TIME: KvmTime = KvmTime(UnsafeCell::new([0; 8]));

/// Reported by KVM's clock.
fn by_kvmclock(_: &Platform) -> Option<u64> {
    const CLOCK: u32 = 0x4b56_4d01;
    if !matches!(hypervisor()?, Hypervisor::KVM) || raw_cpuid::cpuid!(0x4000_0001, 0).eax & 8 == 0 {
        return None;
    }
    // The image is mapped at its physical address.
    let at = KVM_TIME.0.get();
    // SAFETY: KVM has the register. While it is set, KVM writes the 32 bytes of `KVM_TIME`, which
    // nothing else uses.
    let [_, _, _, _, _, _, scale, shift] = unsafe {
        let mut clock = Msr::new(CLOCK);
        clock.write(at as u64 | 1);
        let time = at.read_volatile();
        clock.write(0);
        time
    };
    if scale == 0 {
        return None;
    }
    // Nanoseconds are ticks, shifted, times the scale, which has 32 fractional bits.
    let unshifted = (1_000_000_000u128 << 32) / u128::from(scale);
    let rate = match shift as u8 as i8 {
        left @ 0.. => unshifted >> left,
        right => unshifted << -i32::from(right),
    };
    u64::try_from(rate).ok().filter(|&hz| hz > 1_000_000)
}

/// Measured against the ACPI power-management timer.
fn by_acpi_timer(platform: &Platform) -> Option<u64> {
    let (register, wide) = platform.fixed?.timer?;
    let register = match register {
        Register::Port(_) => register,
        Register::Memory(at) => Register::Memory(memory::map_device(at, 4)?),
    };
    let count = || match register {
        Register::Port(at) => port::read32(at),
        // SAFETY: mapped above for this; reading the timer changes nothing.
        Register::Memory(at) => unsafe { (at as *const u32).read_volatile() },
    };
    let mask = if wide { u32::MAX } else { 0x00ff_ffff };
    Timer {
        hz: 3_579_545,
        mask,
        count: &count,
    }
    .measure()
}

/// Measured against the interval timer (8254, channel 0), by polling, which also works on the
/// machine `microvm`.
fn by_interval_timer(_: &Platform) -> Option<u64> {
    const DATA: u16 = 0x40;
    const COMMAND: u16 = 0x43;
    // Mode 2: counts down from 65,536 repeatedly.
    port::write8(COMMAND, 0x34);
    port::write8(DATA, 0);
    port::write8(DATA, 0);
    let count = || {
        port::write8(COMMAND, 0);
        let low = port::read8(DATA);
        u32::from(u16::from_le_bytes([low, port::read8(DATA)]).wrapping_neg())
    };
    Timer {
        hz: 1_193_182,
        mask: 0xffff,
        count: &count,
    }
    .measure()
}

/// Measured against the local APIC's timer, whose rate is known only for hypervisors on which it is
/// always 1 GHz.
fn by_apic_timer(_: &Platform) -> Option<u64> {
    if !matches!(hypervisor()?, Hypervisor::KVM | Hypervisor::QEMU) {
        return None;
    }
    let count = || u32::MAX - apic::free_running();
    let rate = Timer {
        hz: 1_000_000_000 / apic::DIVISOR,
        mask: u32::MAX,
        count: &count,
    }
    .measure();
    apic::stop();
    rate
}

/// Measured over a second of the real-time clock, from update to update. Slow, so the last resort.
fn by_calendar(_: &Platform) -> Option<u64> {
    if !calendar_is_there() {
        return None;
    }
    let change = || {
        let mut before = true;
        for _ in 0..50_000_000 {
            let now = updating();
            if now && !before {
                return Some(cycles());
            }
            before = now;
        }
        None
    };
    let start = change()?;
    Some(change()? - start)
}

/// A timer that counts up at `hz` ticks per second, modulo `mask` + 1.
struct Timer<'a> {
    hz: u64,
    mask: u32,
    count: &'a dyn Fn() -> u32,
}

impl Timer<'_> {
    /// Measures over windows of 5 ms until two in a row agree, as a virtual processor may be
    /// descheduled in the middle of one. `None` if the timer does not run.
    fn measure(&self) -> Option<u64> {
        let first = (self.count)();
        if (0..10_000).all(|_| (self.count)() == first) {
            return None;
        }
        let mut before = self.window()?;
        for _ in 0..8 {
            let after = self.window()?;
            if before.abs_diff(after) < before / 512 {
                return Some((before + after) / 2);
            }
            before = after;
        }
        Some(before)
    }

    fn window(&self) -> Option<u64> {
        let wanted = self.hz / 200;
        let (first, start) = self.sample();
        for _ in 0..10_000_000 {
            if self.passed(first, (self.count)()) >= wanted {
                let (last, end) = self.sample();
                let passed = u128::from(self.passed(first, last).max(1));
                return Some((u128::from(end - start) * u128::from(self.hz) / passed) as u64);
            }
        }
        None
    }

    fn passed(&self, from: u32, to: u32) -> u64 {
        u64::from(to.wrapping_sub(from) & self.mask)
    }

    /// Timer and time-stamp counter at the same instant: of several readings, the one that took the
    /// least time.
    fn sample(&self) -> (u32, u64) {
        let mut best = (0, 0, u64::MAX);
        for _ in 0..8 {
            let before = cycles();
            let count = (self.count)();
            let took = cycles() - before;
            if took < best.2 {
                best = (count, before + took / 2, took);
            }
        }
        (best.0, best.1)
    }
}
