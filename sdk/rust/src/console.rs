//! The console device. Needs the privilege `console`; one SIP has it, and serves the others.

use crate::{Error, error, sys};

/// Writes to the console device.
///
/// # Errors
/// Where the device fails.
pub fn write(bytes: &[u8]) -> Result<(), Error> {
    // SAFETY: `bytes` is readable for its length.
    error::check(unsafe { sys::console_write(bytes.as_ptr(), bytes.len()) }).map(drop)
}

/// Takes what has been typed; 0 where nothing has.
///
/// # Errors
/// [`Error::Closed`] at the end of input.
pub fn read(out: &mut [u8]) -> Result<usize, Error> {
    // SAFETY: `out` is writable for its length.
    error::check(unsafe { sys::console_read(out.as_mut_ptr(), out.len()) }).map(|n| n as usize)
}

/// Columns and rows of the terminal, where the console is one.
#[must_use]
pub fn size() -> Option<(u32, u32)> {
    let mut size = [0; 2];
    // SAFETY: the kernel writes two `u32`, and `size` has room for them.
    let code = unsafe { sys::console_size(size.as_mut_ptr()) };
    error::check(code).ok().map(|_| (size[0], size[1]))
}
