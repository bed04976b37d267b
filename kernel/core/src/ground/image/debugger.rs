//! The loaded images, for a debugger: where the code of each lies, and the file that it came from.
//!
//! A debugger reads [`IMAGES`] and what it leads to in the machine's memory, and stops at [`tell`] to
//! learn of a new image (`sing gdb`). The kernel itself never reads any of it.
//!
//! Invariant: a record is complete before the list leads to it, and never changes afterwards. It is part
//! of an [`Installed`](super::Installed), which stays until the system has ended.

use super::Installed;
use crate::ground::trusted::variables;
use core::mem::offset_of;
use core::ops::Range;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
};

/// An image, as debuggers read it: seven words. Addresses are those that the code runs with.
#[repr(C)]
pub(crate) struct Told {
    /// The address of the record of the image that was loaded before; 0 for the first.
    next: u64,
    code: u64,
    code_bytes: u64,
    /// The image's file.
    file: u64,
    file_bytes: u64,
    name: u64,
    name_bytes: u64,
}

variables! { forget:
    /// The address of the record of the image that was loaded last; 0 where there is none.
    #[used]
    static IMAGES: AtomicU64 = AtomicU64::new(0);
}

impl Installed {
    /// Bytes from an image to what debuggers read of it.
    pub(crate) const TOLD: usize = offset_of!(Installed, told);
}

impl Told {
    /// The record of an image. Only addresses are kept of `name` and `file`.
    pub(super) fn new(name: &str, code: Range<u64>, file: &[u8]) -> Self {
        Told {
            next: IMAGES.load(Relaxed),
            code: code.start,
            code_bytes: code.end - code.start,
            file: file.as_ptr() as u64,
            file_bytes: file.len() as u64,
            name: name.as_ptr() as u64,
            name_bytes: name.len() as u64,
        }
    }
}

/// Puts an image's record on the list. Debuggers stop where this begins.
#[inline(never)]
pub(super) extern "C" fn tell(told: &'static Told) {
    IMAGES.store(core::ptr::from_ref(told) as u64, Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_is_as_debuggers_read_it() {
        assert_eq!(size_of::<Told>(), 7 * 8);
        assert_eq!(offset_of!(Told, code), 8);
        assert_eq!(offset_of!(Told, file), 24);
        assert_eq!(offset_of!(Told, name_bytes), 48);
    }
}
