//! The machine that the kernel runs on: the HAL, once it is known.

use crate::hal::Hal;
use sing_arch::lock::SpinLock;

static HAL: SpinLock<Option<&'static dyn Hal>> = SpinLock::new(None);

/// Notes the HAL. The first thing that starting does.
pub(crate) fn set(hal: &'static dyn Hal) {
    *HAL.lock() = Some(hal);
}

/// The HAL.
///
/// # Panics
/// Before the kernel has been started.
pub(crate) fn hal() -> &'static dyn Hal {
    HAL.lock().expect("the kernel has not been started")
}

/// Prints to the kernel's log.
macro_rules! log {
    ($($arg:tt)*) => { $crate::machine::hal().log(&alloc::format!($($arg)*)) };
}
pub(crate) use log;
