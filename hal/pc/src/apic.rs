//! The local APIC (the processor's interrupt controller) with its timer; the legacy controllers
//! (8259) are masked.
//!
//! Invariant: the timer is armed for the kernel's deadline, a reminder or the next poll of the
//! console, whichever comes first.

use crate::{clock, interrupts, memory, port, serial};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use sing_arch::cycles;
use x86_64::instructions::interrupts::without_interrupts;
use x86_64::registers::model_specific::Msr;

/// The MSR that holds the controller's physical address.
const BASE_REGISTER: u32 = 0x1b;

const ID: u32 = 0x20;
const TASK_PRIORITY: u32 = 0x80;
const END_OF_INTERRUPT: u32 = 0xb0;
const SPURIOUS: u32 = 0xf0;
/// The first of eight registers with a bit for each vector in service.
const IN_SERVICE: u32 = 0x100;
const TIMER: u32 = 0x320;
const LINE_0: u32 = 0x350;
const LINE_1: u32 = 0x360;
const ERROR: u32 = 0x370;
const INITIAL_COUNT: u32 = 0x380;
const CURRENT_COUNT: u32 = 0x390;
const DIVIDE: u32 = 0x3e0;
const MASKED: u32 = 1 << 16;

/// Delay of a reminder ([`remind`]), in nanoseconds.
const REMINDER: u64 = 1_000_000;
/// Period of polling a console that cannot interrupt, in nanoseconds.
const POLL: u64 = 10_000_000;
/// Period of polling while output is queued, in nanoseconds.
const SENDING: u64 = 1_000_000;

/// Address where the registers are mapped; 0 if the firmware has switched to access by MSR
/// (x2APIC).
static REGISTERS: AtomicU64 = AtomicU64::new(0);
/// Timer ticks per second.
static RATE: AtomicU64 = AtomicU64::new(0);
/// The uptime in nanoseconds of the next timer interrupt for the kernel. Changed only with
/// interrupts off.
static DEADLINE: AtomicU64 = AtomicU64::new(u64::MAX);
/// Whether the deadline is a reminder's.
static REMINDING: AtomicBool = AtomicBool::new(false);
/// Whether the console is polled.
static POLLED: AtomicBool = AtomicBool::new(false);

/// The timer counts once in so many ticks of its source.
pub const DIVISOR: u64 = 16;

/// Enables the controller; the timer is stopped.
pub fn enable() {
    silence_legacy();
    // SAFETY: `refuse.s` has seen that there is a local APIC, so the register is there; the write
    // only switches the controller on.
    let base = unsafe {
        let mut register = Msr::new(BASE_REGISTER);
        let value = register.read();
        register.write(value | 1 << 11);
        value
    };
    if base & 1 << 10 == 0 {
        let registers = memory::map_device(base & 0xf_ffff_f000, memory::PAGE);
        // Without it there is neither a timer nor an interrupt.
        REGISTERS.store(registers.expect("a local APIC within reach"), Relaxed);
    }
    write(TASK_PRIORITY, 0);
    write(SPURIOUS, 0x100 | u32::from(interrupts::SPURIOUS));
    for register in [TIMER, LINE_0, LINE_1, ERROR] {
        write(register, MASKED);
    }
    write(DIVIDE, 0b0011); // by 16, `DIVISOR`
}

/// Calibrates the timer; the clock must be ready. `polled`: the console cannot interrupt, so it is
/// polled for input.
pub fn init(polled: bool) {
    RATE.store(measured_rate(), Relaxed);
    write(TIMER, u32::from(interrupts::TIMER));
    POLLED.store(polled, Relaxed);
    set_timer(u64::MAX);
}

/// The timer's count. Counts down from the largest value without interrupts until [`stop`].
pub fn free_running() -> u32 {
    if read(CURRENT_COUNT) == 0 {
        write(INITIAL_COUNT, u32::MAX);
    }
    read(CURRENT_COUNT)
}

/// Stops the timer.
pub fn stop() {
    write(INITIAL_COUNT, 0);
}

/// Sets the time of the next timer interrupt, in nanoseconds of uptime (`u64::MAX`: none); it
/// replaces the previous one.
pub fn set_timer(at: u64) {
    without_interrupts(|| {
        REMINDING.store(false, Relaxed);
        DEADLINE.store(at, Relaxed);
        arm();
    });
}

/// Schedules another timer interrupt soon, unless the kernel has set the timer. With interrupts
/// off.
///
/// The kernel acts on a noted interrupt before it returns to SIP code. But an interrupt between its
/// last check and the return is only noted; without a reminder, a SIP that never calls the kernel
/// would then run for ever.
pub fn remind() {
    if DEADLINE.load(Relaxed) == u64::MAX {
        REMINDING.store(true, Relaxed);
        DEADLINE.store(clock::now() + REMINDER, Relaxed);
        arm();
    }
}

/// Cancels the reminder, as no SIP runs. With interrupts off.
pub fn forget_reminder() {
    if REMINDING.swap(false, Relaxed) {
        DEADLINE.store(u64::MAX, Relaxed);
        arm();
    }
}

/// Whether the console is polled.
pub fn is_polled() -> bool {
    POLLED.load(Relaxed)
}

/// Tells the controller that an interrupt has been handled.
pub fn end_of_interrupt() {
    write(END_OF_INTERRUPT, 0);
}

/// Handles the timer's interrupt: whether the kernel's deadline has passed, and whether polling has
/// found console input.
pub fn timer_interrupt() -> (bool, bool) {
    let typed = POLLED.load(Relaxed) && serial::receive();
    let due = clock::now() >= DEADLINE.load(Relaxed);
    if due {
        DEADLINE.store(u64::MAX, Relaxed);
    }
    // The count may have been too large for the counter, or the measured rate inexact.
    arm();
    (due, typed)
}

/// Starts the counter for the next deadline or poll. With interrupts off.
fn arm() {
    let (now, mut at) = (clock::now(), DEADLINE.load(Relaxed));
    if POLLED.load(Relaxed) {
        at = at.min(now + if serial::is_sending() { SENDING } else { POLL });
    }
    let count = if at == u64::MAX {
        0
    } else {
        let ticks = u128::from(at.saturating_sub(now)) * u128::from(RATE.load(Relaxed));
        (ticks / 1_000_000_000 + 1).min(u128::from(u32::MAX)) as u32
    };
    write(INITIAL_COUNT, count);
}

/// Measures the timer against the time-stamp counter, over 2 ms.
fn measured_rate() -> u64 {
    write(INITIAL_COUNT, u32::MAX);
    let (first, start) = sample();
    let window = clock::rate() / 500;
    while cycles() - start < window {
        sing_arch::pause();
    }
    let (last, end) = sample();
    write(INITIAL_COUNT, 0);
    (u128::from(first - last) * u128::from(clock::rate()) / u128::from(end - start)).max(1) as u64
}

/// Timer and time-stamp counter at the same instant: of several readings, the one that took the
/// least time.
fn sample() -> (u32, u64) {
    let mut best = (0, 0, u64::MAX);
    for _ in 0..8 {
        let before = cycles();
        let count = read(CURRENT_COUNT);
        let took = cycles() - before;
        if took < best.2 {
            best = (count, before + took / 2, took);
        }
    }
    (best.0, best.1)
}

/// Moves the legacy controllers to unused vectors, and masks them.
fn silence_legacy() {
    let first = interrupts::LEGACY;
    for (at, value) in [
        (0x20, 0x11),
        (0xa0, 0x11),
        (0x21, first),
        (0xa1, first + 8),
        (0x21, 4),
        (0xa1, 2),
        (0x21, 1),
        (0xa1, 1),
        (0x21, 0xff),
        (0xa1, 0xff),
    ] {
        port::write8(at, value);
    }
}

/// Whether any interrupt is in service: delivered and not ended.
pub fn is_serving() -> bool {
    (0..8).any(|i| read(IN_SERVICE + i * 0x10) != 0)
}

/// Raises an interrupt of this vector at this processor, as a device would.
pub fn raise(vector: u8) {
    const COMMAND: u32 = 0x300;
    const TO_SELF: u32 = 1 << 18;
    write(COMMAND, TO_SELF | 1 << 14 | u32::from(vector));
}

/// Whether the controller is in its extended mode (x2APIC).
pub fn is_extended() -> bool {
    REGISTERS.load(Relaxed) == 0
}

/// The APIC id of this processor.
pub fn id() -> u32 {
    if REGISTERS.load(Relaxed) == 0 {
        read(ID)
    } else {
        read(ID) >> 24
    }
}

fn read(register: u32) -> u32 {
    match REGISTERS.load(Relaxed) {
        // SAFETY: the processor is in this mode, where each register is an MSR that reads without
        // effect.
        0 => unsafe { Msr::new(0x800 + (register >> 4)).read() as u32 },
        // SAFETY: the page is mapped for this, uncached; all registers used here lie in it.
        at => unsafe { ((at + u64::from(register)) as *const u32).read_volatile() },
    }
}

fn write(register: u32, value: u32) {
    match REGISTERS.load(Relaxed) {
        // SAFETY: the processor is in this mode; the values written only concern interrupts, whose
        // handlers are ready.
        0 => unsafe { Msr::new(0x800 + (register >> 4)).write(u64::from(value)) },
        // SAFETY: the page is mapped for this, uncached; the values written only concern
        // interrupts, whose handlers are ready.
        at => unsafe { ((at + u64::from(register)) as *mut u32).write_volatile(value) },
    }
}
