//! The code arena: the addresses that hold all code of SIPs, and nothing else.
//!
//! Invariants:
//! - No page is ever writable and executable at once, and no page that has been executable becomes
//!   writable again, unless it was unloaded before it ever ran.
//! - Every image starts on a page of its own; the rest of its last page is filled with undefined
//!   instructions.
//! - Pages of a mapped image file ([`ImageFile`]) are mapped here a second time, and the rest is
//!   copied.

use crate::ImageFile;
use crate::memory::map_arena;
use rustix::io::Errno;
use rustix::mm::MprotectFlags;
use sing_abi::PAGE;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Size of the arena. Every address in it reaches every other with a 32-bit displacement.
const BYTES: u64 = 1 << 30;
/// The instruction `ud2`.
const UNDEFINED: [u8; 2] = [0x0f, 0x0b];

/// The code arena.
pub(crate) struct Code {
    range: Range<u64>,
    next: Mutex<u64>,
    image: Option<ImageFile>,
}

impl Drop for Code {
    /// An embedded system has ended: its code goes.
    fn drop(&mut self) {
        // SAFETY: the arena's own mapping, whose code no processor runs any more.
        unsafe { crate::memory::unmap(&self.range) };
    }
}

impl Code {
    pub(crate) fn new(image: Option<ImageFile>) -> Result<Self, Errno> {
        let at = map_arena(BYTES)?;
        Ok(Self {
            range: at..at + BYTES,
            next: Mutex::new(at),
            image,
        })
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Returns the number of bytes left.
    pub(crate) fn room(&self) -> u64 {
        self.range.end - *self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn load(&self, code: &[u8]) -> Option<u64> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = *next;
        let bytes = (code.len() as u64).max(1).checked_next_multiple_of(PAGE)?;
        let end = at.checked_add(bytes).filter(|end| *end <= self.range.end)?;
        let mapped = self.image.as_ref().map_or(0, |image| {
            // SAFETY: the pages lie in the arena, behind all code loaded before: no other code has
            // an address in them yet.
            unsafe { image.map_code(code, at) }
        });
        let code = &code[mapped as usize..];
        if code.is_empty() && mapped > 0 {
            *next = end;
            return Some(at);
        }
        let (first, copied) = (at + mapped, (bytes - mapped) as usize);
        let protect = |access| {
            // SAFETY: as above.
            unsafe { rustix::mm::mprotect(first as *mut _, copied, access) }
        };
        protect(MprotectFlags::READ | MprotectFlags::WRITE).ok()?;
        // SAFETY: writable since the line above, not executable, and without other users, as said
        // there.
        let pages = unsafe { std::slice::from_raw_parts_mut(first as *mut u8, copied) };
        let (image, rest) = pages.split_at_mut(code.len());
        image.copy_from_slice(code);
        // In pairs aligned to the end, so that the last byte of the page belongs to a whole
        // instruction.
        rest.rchunks_mut(2)
            .for_each(|pair| pair.copy_from_slice(&UNDEFINED[2 - pair.len()..]));
        if protect(MprotectFlags::READ | MprotectFlags::EXEC).is_err() {
            // The written code stays, inaccessible to execution.
            return None;
        }
        *next = end;
        Some(at)
    }

    /// Unloads the code that was loaded last, from this address on.
    ///
    /// # Safety
    /// No processor runs the code, now or later.
    pub(crate) unsafe fn unload(&self, from: u64) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = next.checked_sub(from).filter(|_| from >= self.range.start);
        let bytes = bytes.expect("code that was loaded") as usize;
        // SAFETY: whole pages of the arena that do not run, as the caller has promised; the pages
        // behind them hold nothing.
        let denied = unsafe { rustix::mm::mprotect(from as *mut _, bytes, MprotectFlags::empty()) };
        // Otherwise the code stays, and its address is unknown.
        if denied.is_ok() {
            *next = from;
        }
    }
}
