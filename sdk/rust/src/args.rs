//! The arguments that the program was started with.

use crate::{Error, error, sys};
use alloc::string::String;
use alloc::vec::Vec;

/// Number of arguments; the first is the program's name by custom.
#[must_use]
pub fn count() -> u32 {
    error::check(sys::startup_arg_count()).unwrap_or(0)
}

/// The argument at `index`; bytes that are no UTF-8 are replaced.
#[must_use]
pub fn get(index: u32) -> Option<String> {
    // SAFETY: with a maximum of 0 the kernel writes nothing.
    let len = error::check(unsafe { sys::startup_arg(index, core::ptr::null_mut(), 0) }).ok()?;
    let mut bytes = alloc::vec![0; len as usize];
    // SAFETY: `bytes` is writable for its own length.
    let got = unsafe { sys::startup_arg(index, bytes.as_mut_ptr(), bytes.len()) };
    bytes.truncate(error::check(got).ok()? as usize);
    Some(into_string(bytes))
}

/// All arguments after the program's name.
#[must_use]
pub fn rest() -> Vec<String> {
    (1..count()).filter_map(get).collect()
}

/// All arguments.
#[must_use]
pub fn all() -> Vec<String> {
    (0..count()).filter_map(get).collect()
}

pub(crate) fn into_string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Calls `fill` with ever larger buffers until what it writes fits.
pub(crate) fn with_buffer(
    mut size: usize,
    fill: impl Fn(&mut [u8]) -> i32,
) -> Result<Vec<u8>, Error> {
    loop {
        let mut bytes = alloc::vec![0; size];
        match error::check(fill(&mut bytes)) {
            Ok(len) => {
                bytes.truncate(len as usize);
                return Ok(bytes);
            }
            Err(Error::TooSmall) if size < 64 << 20 => size *= 2,
            Err(e) => return Err(e),
        }
    }
}
