//! Platform devices: models behind ports and memory at fixed places, as a PC has them.
//!
//! A model is told each access. It makes its line high and low as the device's pin is; the driver
//! that acknowledges an interrupt and then serves the device until it has nothing more to tell
//! works at a line with edges, too.
//!
//! Invariant: a model reaches no memory of the system.

use sing_kernel::device::IoRange;

/// The model behind the registers of a platform device.
pub(super) trait Platform: Send + Sync {
    /// Reads a register of a range. The line does not become high by this: what has more to tell
    /// stays high.
    fn read(&self, range: usize, offset: u32, width: u32) -> u64;

    /// Writes one. Returns whether an interrupt is now to be delivered.
    fn write(&self, range: usize, offset: u32, width: u32, value: u64) -> bool;

    /// Becomes as it was at the start, but for what a battery keeps, and makes the line low.
    fn reset(&self);
}

/// How a platform device is described to the kernel.
pub(super) struct Description {
    /// Its first port or address.
    pub location: &'static str,
    /// The name by which Plug and Play knows it.
    pub signature: &'static str,
    /// Its registers.
    pub ranges: Vec<IoRange>,
    /// Whether it interrupts.
    pub interrupts: bool,
}
