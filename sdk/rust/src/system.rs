//! Power over the whole system. Needs the privilege `control`.

use crate::{Error, error, sys};

/// Stops any process; its resources are free when this returns.
///
/// # Errors
/// [`Error::NotFound`] where there is none with this id.
pub fn stop(id: u32, exit_code: i32) -> Result<(), Error> {
    error::check(sys::sys_stop(id, exit_code)).map(drop)
}

/// Shuts the system down.
pub fn shutdown(status: i32) -> ! {
    sys::sys_shutdown(status);
    unreachable!("the system has shut down")
}
