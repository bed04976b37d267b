//! Files of the system image. Needs the privilege `boot`: one service has it, and serves `/boot`; so has the
//! service manager, which reads its plan before there is anybody to ask.

use crate::args::{into_string, with_buffer};
use crate::rt::Block;
use crate::{Error, error, sys};
use alloc::string::String;
use alloc::vec::Vec;

/// Path of the file at `index` in the system image, or `None` after the last.
#[must_use]
pub fn name(index: u32) -> Option<String> {
    // SAFETY: the buffer is writable for its length.
    let fill = |b: &mut [u8]| unsafe { sys::boot_name(index, b.as_mut_ptr(), b.len()) };
    with_buffer(256, fill).ok().map(into_string)
}

/// Size of a file.
///
/// # Errors
/// [`Error::NotFound`] if there is none.
pub fn size(path: &str) -> Result<u32, Error> {
    // SAFETY: `path` is readable for its length.
    error::check(unsafe { sys::boot_size(path.as_ptr(), path.len()) })
}

/// Fills a block from a file, from `offset` on; bytes read.
///
/// # Errors
/// [`Error::NotFound`] if there is no such file.
pub fn read(path: &str, offset: u32, into: &mut Block) -> Result<u32, Error> {
    let handle = into.handle().raw();
    // SAFETY: `path` is readable for its length; the block is the caller's alone.
    error::check(unsafe { sys::boot_read(path.as_ptr(), path.len(), offset, handle) })
}

/// The bytes of a file.
///
/// # Errors
/// [`Error::NotFound`] if there is no such file, [`Error::NoResources`] without room for it.
pub fn whole(path: &str) -> Result<Vec<u8>, Error> {
    let mut block = Block::new(size(path)? as usize)?;
    let count = read(path, 0, &mut block)?;
    Ok(block.prefix(count as usize))
}
