//! Interrupts by message (MSI-X): one vector of each device, number 0 of its table.
//!
//! The table is this HAL's alone: a driver that could write it would make its device write to
//! addresses of its choice.
//!
//! Invariant: nothing is written beyond the table that was found at the machine's start, whatever
//! the device says of it later.

use super::Place;
use super::config::Function;
use crate::iommu::interrupts::{Route, Sender, route};
use crate::{apic, interrupts, messages};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a vector in the table: address, data, control.
pub const ENTRY: u32 = 16;
const CONTROL: u64 = 12;
/// Bit of the control: the vector sends nothing.
const MASKED: u32 = 1;
/// In the upper half of a capability's first register: switched on; all vectors masked.
const ENABLE: u32 = 1 << 31;
const ALL_MASKED: u32 = 1 << 30;

/// The address of each line's control; 0 for none.
static CONTROLS: [AtomicU64; interrupts::LINES] = [const { AtomicU64::new(0) }; interrupts::LINES];

/// A line and the vector that is to raise it: number 0 of a device's table.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Place of the device's capability.
    pub capability: u16,
    /// Place of its table.
    pub table: Place,
    /// How many vectors it has.
    pub count: u32,
    pub line: u32,
}

impl Connection {
    /// Connects them for the first time, masked: as the firmware may have left the table, all of it
    /// is. Whether that has worked.
    pub fn connect(&self, function: &Function) -> bool {
        self.write(function, self.count)
    }

    /// Connects them after a reset, which has masked all vectors. Whether that has worked; not with
    /// a device that has gone, or whose table is another one now.
    pub fn connect_again(&self, function: &Function) -> bool {
        self.write(function, 1)
    }

    /// Masks as many vectors, and writes the first one.
    fn write(&self, function: &Function, masked: u32) -> bool {
        // The table answers only while the function does.
        function.switch_on(false);
        let line = self.line;
        let control = CONTROLS.get(line as usize);
        let (Place::Memory(table), Some(control), Some(vector)) =
            (self.table, control, interrupts::vector(line))
        else {
            return false;
        };
        let (address, data) = match route(line, false, Sender::Function(function.source())) {
            Some(Route::By(entry)) => (messages::address_of(entry), 0),
            // Bits 12 to 19 say which local APIC.
            Some(Route::Direct) => (messages::ADDRESS | apic::id() << 12, vector.into()),
            None => return false,
        };
        let first = function.read(self.capability);
        if messages::vectors(first) != Some(self.count) {
            return false;
        }
        function.write(self.capability, first | ENABLE | ALL_MASKED);
        for i in 0..u64::from(masked.min(self.count)) {
            put(table + i * u64::from(ENTRY) + CONTROL, MASKED);
        }
        put(table, address);
        put(table + 4, 0);
        put(table + 8, data);
        control.store(table + CONTROL, Relaxed);
        function.write(self.capability, first & !ALL_MASKED | ENABLE);
        true
    }
}

fn put(at: u64, value: u32) {
    // SAFETY: in the first `Connection::count` entries of the table, which lie in a range that is
    // mapped, uncached, for good (`pci::interrupt`).
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
