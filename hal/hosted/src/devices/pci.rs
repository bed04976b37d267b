//! PCI functions: models behind the registers of their first base address.
//!
//! The HAL of a PC finds functions by their configuration space, which nothing above it sees: the
//! kernel and the drivers have the record that the search makes. So a model has the record, and no
//! configuration space. What the search would do there is fixed: the function's registers are
//! range 0, it has one message to interrupt with (or its pin), it is reset as by FLR whenever it is
//! given back, and its neighbours do not hear it.
//!
//! Invariant: a function reaches memory by its [`Window`] alone.

use super::window::Window;

/// The model behind a function's registers.
pub(super) trait Function: Send + Sync {
    /// What it reaches of memory.
    fn window(&self) -> &Window;

    /// Reads a register of the first range.
    fn read(&self, offset: u32, width: u32) -> u64;

    /// Writes one. Returns whether an interrupt is now to be delivered.
    fn write(&self, offset: u32, width: u32, value: u64) -> bool;

    /// Becomes as it was at the start, and makes the line low.
    fn reset(&self);
}

/// How a function is described to the kernel.
pub(super) struct Description {
    /// Class, subclass, vendor and device.
    pub signature: &'static str,
    /// Bytes of its registers.
    pub registers: u32,
}
