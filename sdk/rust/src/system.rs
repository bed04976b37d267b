//! Power over the whole system. Needs the privilege `control`.

use crate::{Error, error, sys};

/// Stops any process and its descendants but for detached ones; its resources are free when this
/// returns.
///
/// # Errors
/// [`Error::NotFound`] if there is none with this id, [`Error::NotPermitted`] if the system cannot
/// do without it.
pub fn stop(id: u32, exit_code: i32) -> Result<(), Error> {
    error::check(sys::sys_stop(id, exit_code)).map(drop)
}

/// How to stop a process, beyond the ordinary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// Its descendants go on, detached.
    pub only: bool,
    /// Even if the system cannot do without it, and ends then.
    pub force: bool,
}

/// Stops any process, in this way.
///
/// # Errors
/// [`Error::NotFound`] if there is none with this id, [`Error::NotPermitted`] if the system cannot
/// do without it and `how` does not force it.
pub fn stop_by(id: u32, exit_code: i32, how: Stop) -> Result<(), Error> {
    let how = u32::from(how.only) | u32::from(how.force) << 1;
    error::check(sys::sys_stop_by(id, exit_code, how)).map(drop)
}

/// Shuts the system down.
pub fn shutdown(status: i32) -> ! {
    sys::sys_shutdown(status);
    unreachable!("the system has shut down")
}
