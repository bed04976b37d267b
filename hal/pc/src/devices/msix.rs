//! Interrupts by message (MSI-X): one vector of each device, number 0 of its table.
//!
//! The table is this HAL's alone: a driver that could write it would make its device write to
//! addresses of its choice.

use super::Place;
use super::config::Function;
use crate::{apic, interrupts};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a vector in the table: address, data, control.
pub const ENTRY: u32 = 16;
const CONTROL: u64 = 12;
/// Bit of the control: the vector sends nothing.
const MASKED: u32 = 1;
/// Where the local APICs take messages; bits 12 to 19 say which one.
const MESSAGES: u32 = 0xfee0_0000;
/// In the upper half of a capability's first register: switched on; all vectors masked.
const ENABLE: u32 = 1 << 31;
const ALL_MASKED: u32 = 1 << 30;

/// The address of each line's control; 0 for none.
static CONTROLS: [AtomicU64; interrupts::LINES] = [const { AtomicU64::new(0) }; interrupts::LINES];

/// Connects a line to vector 0 of a device's table, masked. `capability` is the place of the
/// device's capability, `table` that of its table.
pub fn connect(function: &Function, capability: u16, table: Place, line: u32) -> bool {
    let (Place::Memory(table), Some(control)) = (table, CONTROLS.get(line as usize)) else {
        return false;
    };
    let first = function.read(capability);
    let count = (first >> 16 & 0x7ff) + 1;
    function.write(capability, first | ENABLE | ALL_MASKED);
    let vector = u32::from(interrupts::FIRST_VECTOR) + line;
    for i in 0..u64::from(count) {
        put(table + i * u64::from(ENTRY) + CONTROL, MASKED);
    }
    put(table, MESSAGES | apic::id() << 12);
    put(table + 4, 0);
    put(table + 8, vector);
    control.store(table + CONTROL, Relaxed);
    function.write(capability, first & !ALL_MASKED | ENABLE);
    true
}

fn put(at: u64, value: u32) {
    // SAFETY: in the table, which lies in a range that is mapped, uncached, and as large as its
    // count says (`pci::vectors`).
    unsafe { (at as *mut u32).write_volatile(value) }
}

/// Masks or unmasks a line. False if it is not the line of a device with messages.
pub fn mask(line: u32, masked: bool) -> bool {
    let control = CONTROLS.get(line as usize).map_or(0, |c| c.load(Relaxed));
    if control != 0 {
        put(control, u32::from(masked) * MASKED);
    }
    control != 0
}
