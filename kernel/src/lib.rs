//! The portable kernel.
#![no_std]

extern crate alloc;

pub mod fault;
pub mod hal;
pub mod interrupt;

use alloc::string::String;
use alloc::vec::Vec;

/// How the system is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What replaces the argument `$ARGS` in the system manifest's `Start::args`.
    pub args: Vec<String>,
}

/// Starts the system from a system image. The HAL calls it once, on its boot stack, with interrupts
/// deliverable.
pub fn boot(hal: &'static dyn hal::Hal, _options: Options, _image: &'static [u8]) -> ! {
    hal.exit(1)
}
