//! Switching the machine off, resetting it, and the power button.
//!
//! The registers that the firmware's tables name are stored where an interrupt handler or a panic
//! reaches them without a lock: they are ports, or mapped once here.

use crate::acpi::{Fixed, Platform, Register};
use crate::{clock, ioapic, memory, port};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};
use sing_kernel::hal::LINE_POWER;

/// Bits of a control register: ACPI mode (the firmware has handed over), the sleep type, and "enter
/// sleep".
const HANDED_OVER: u16 = 1;
const SLEEP_TYPE: u16 = 7 << 10;
const SLEEP: u16 = 1 << 13;
/// Bits of the sleep control register of hardware-reduced ACPI.
const REDUCED_TYPE_SHIFT: u8 = 2;
const REDUCED_SLEEP: u8 = 1 << 5;
/// The power button's bit in both halves of an event register.
const BUTTON: u16 = 1 << 8;
/// Nanoseconds that the firmware may take to hand over, and the machine to switch off.
const TIMEOUT: u64 = 300_000_000;

/// The fixed hardware of this machine; null before `init`, or if there is none.
static FIXED: AtomicPtr<Fixed> = AtomicPtr::new(core::ptr::null_mut());

fn fixed() -> Option<&'static Fixed> {
    // SAFETY: null, or what `init` leaked: valid for ever, and not written any more.
    unsafe { FIXED.load(Acquire).as_ref() }
}

/// Stores how to switch the machine off, and enables the power button's interrupt.
pub fn init(platform: &Platform) {
    let Some(mut fixed) = platform.fixed else {
        return;
    };
    let event = u64::from(fixed.event_half) + 2;
    fixed.control = fixed.control.map(|r| r.and_then(|r| map(r, 2)));
    fixed.event = fixed.event.map(|r| r.and_then(|r| map(r, event)));
    fixed.sleep_control = fixed.sleep_control.and_then(|r| map(r, 1));
    fixed.reset = fixed.reset.and_then(|(r, value)| Some((map(r, 1)?, value)));
    let fixed: &'static Fixed = alloc::boxed::Box::leak(alloc::boxed::Box::new(fixed));
    FIXED.store(core::ptr::from_ref(fixed).cast_mut(), Release);
    if fixed.button && fixed.event[0].is_some() && take_over(fixed) {
        for status in fixed.event.into_iter().flatten() {
            let enable = status.plus(fixed.event_half);
            write16(enable, 0);
            write16(status, u16::MAX);
        }
        if let Some(status) = fixed.event[0] {
            write16(status.plus(fixed.event_half), BUTTON);
        }
        // The interrupt is an ISA line: level-triggered and active low, unless the tables override
        // that.
        let isa = u8::try_from(fixed.interrupt).ok();
        let told = isa.is_some_and(|line| platform.overrides.iter().any(|o| o.line == line));
        let input = if told {
            ioapic::isa(platform, fixed.interrupt as u8)
        } else {
            ioapic::Input {
                number: u32::from(fixed.interrupt),
                low: true,
                level: true,
            }
        };
        if ioapic::connect(LINE_POWER, input) {
            ioapic::unmask(LINE_POWER);
        }
    }
}

/// A register of this many bytes, with the address where it is mapped instead of its physical one.
/// `None` if it cannot be mapped, and is not used then.
fn map(register: Register, bytes: u64) -> Option<Register> {
    Some(match register {
        Register::Port(_) => register,
        Register::Memory(at) => Register::Memory(memory::map_device(at, bytes)?),
    })
}

/// Makes the firmware hand over its registers, unless it has done so. Whether it has.
fn take_over(fixed: &Fixed) -> bool {
    let Some(control) = fixed.control[0] else {
        return false;
    };
    if read16(control) & HANDED_OVER != 0 {
        return true;
    }
    let Some((port, value)) = fixed.hand_over else {
        return false;
    };
    port::write8(port, value);
    wait_until(|| read16(control) & HANDED_OVER != 0)
}

/// Whether the power button has been pressed since the last call. Called at the system control
/// interrupt.
pub fn button_pressed() -> bool {
    let Some(fixed) = fixed() else { return false };
    let mut pressed = false;
    for status in fixed.event.into_iter().flatten() {
        let found = read16(status);
        pressed |= found & BUTTON != 0;
        // Writing ones clears these bits; the line is released when no enabled bit is left.
        write16(status, found);
    }
    pressed
}

/// Switches the machine off; returns if that is not possible.
pub fn off() {
    let Some(fixed) = fixed() else { return };
    let Some((first, second)) = fixed.soft_off else {
        return;
    };
    if let Some(control) = fixed.sleep_control {
        write8(control, first << REDUCED_TYPE_SHIFT | REDUCED_SLEEP);
    } else {
        take_over(fixed);
        for (control, kind) in fixed.control.into_iter().zip([first, second]) {
            let Some(control) = control else { continue };
            let value = read16(control) & !(SLEEP_TYPE | SLEEP) | u16::from(kind) << 10;
            write16(control, value);
            write16(control, value | SLEEP);
        }
    }
    wait_until(|| false);
}

/// Resets the machine by the register that the tables name; returns if there is none.
pub fn reset() {
    if let Some((register, value)) = fixed().and_then(|f| f.reset) {
        write8(register, value);
        wait_until(|| false);
    }
}

fn wait_until(mut done: impl FnMut() -> bool) -> bool {
    let start = sing_arch::cycles();
    // Before the clock's rate is known, ticks convert to 0; then the number of iterations ends the
    // wait.
    for _ in 0..3_000_000 {
        if done() {
            return true;
        }
        if clock::ticks_to_nanoseconds(sing_arch::cycles().wrapping_sub(start)) > TIMEOUT {
            break;
        }
        sing_arch::pause();
    }
    false
}

fn read16(register: Register) -> u16 {
    match register {
        Register::Port(at) => port::read16(at),
        // SAFETY: `init` has mapped the register for this.
        Register::Memory(at) => unsafe { (at as *const u16).read_volatile() },
    }
}

fn write16(register: Register, value: u16) {
    match register {
        Register::Port(at) => port::write16(at, value),
        // SAFETY: `init` has mapped the register, which concerns the machine's power only.
        Register::Memory(at) => unsafe { (at as *mut u16).write_volatile(value) },
    }
}

fn write8(register: Register, value: u8) {
    match register {
        Register::Port(at) => port::write8(at, value),
        // SAFETY: as for `write16`.
        Register::Memory(at) => unsafe { (at as *mut u8).write_volatile(value) },
    }
}
