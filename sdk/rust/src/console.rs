//! The console device. Needs the privilege `console`; one SIP has it, and serves the others.

use crate::{Error, error, sys};

/// The interrupt line of the console's input: something has been typed.
pub const LINE_INPUT: u32 = 1;
/// The interrupt line of the console's output: there is room again, or all has been written out.
pub const LINE_OUTPUT: u32 = 3;

/// Writes to the console device; how many bytes it takes. If it does not take all, [`LINE_OUTPUT`]
/// says when there is room.
///
/// # Errors
/// If the device fails.
pub fn write(bytes: &[u8]) -> Result<usize, Error> {
    // SAFETY: `bytes` is readable for its length.
    error::check(unsafe { sys::console_write(bytes.as_ptr(), bytes.len()) }).map(|n| n as usize)
}

/// How many bytes the device has taken and not written out. Where there are some, [`LINE_OUTPUT`]
/// says when there are none.
#[must_use]
pub fn unwritten() -> usize {
    sys::console_unwritten().try_into().unwrap_or(0)
}

/// Takes what has been typed; 0 if nothing has.
///
/// # Errors
/// [`Error::Closed`] at the end of input.
pub fn read(out: &mut [u8]) -> Result<usize, Error> {
    // SAFETY: `out` is writable for its length.
    error::check(unsafe { sys::console_read(out.as_mut_ptr(), out.len()) }).map(|n| n as usize)
}

/// Columns and rows of the terminal, if the console is one.
#[must_use]
pub fn size() -> Option<(u32, u32)> {
    let mut size = [0; 2];
    // SAFETY: the kernel writes two `u32`, and `size` has room for them.
    let code = unsafe { sys::console_size(size.as_mut_ptr()) };
    error::check(code).ok().map(|_| (size[0], size[1]))
}
