//! The code arena: where all code of SIPs lies, and nothing else.
//!
//! Invariants:
//! - No page is ever writable and executable at once, and once executable, none is writable again but one that was taken out
//!   before anybody ran it.
//! - Every image starts on a page of its own; what is left of its last page is undefined instructions.

use crate::memory::map_arena;
use rustix::io::Errno;
use rustix::mm::MprotectFlags;
use sing_abi::PAGE;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Size of the arena. Every address in it reaches every other with a 32-bit displacement.
const BYTES: u64 = 1 << 30;
/// `ud2`.
const UNDEFINED: [u8; 2] = [0x0f, 0x0b];

/// The code arena.
pub(crate) struct Code {
    range: Range<u64>,
    next: Mutex<u64>,
}

impl Code {
    pub(crate) fn new() -> Result<Self, Errno> {
        let at = map_arena(BYTES)?;
        Ok(Self {
            range: at..at + BYTES,
            next: Mutex::new(at),
        })
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Bytes that are left.
    pub(crate) fn room(&self) -> u64 {
        self.range.end - *self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn load(&self, code: &[u8]) -> Option<u64> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = *next;
        let bytes = (code.len() as u64).max(1).checked_next_multiple_of(PAGE)?;
        let end = at.checked_add(bytes).filter(|end| *end <= self.range.end)?;
        let protect = |access| {
            // SAFETY: the pages lie in the arena, behind everything that was loaded before: nobody has an
            // address in them yet.
            unsafe { rustix::mm::mprotect(at as *mut _, bytes as usize, access) }
        };
        protect(MprotectFlags::READ | MprotectFlags::WRITE).ok()?;
        // SAFETY: writable since the line above, not executable, and nobody else's, as said there.
        let pages = unsafe { std::slice::from_raw_parts_mut(at as *mut u8, bytes as usize) };
        let (image, rest) = pages.split_at_mut(code.len());
        image.copy_from_slice(code);
        // Aligned to pairs from the end, so that the last byte of the page belongs to a whole instruction.
        rest.rchunks_mut(2)
            .for_each(|pair| pair.copy_from_slice(&UNDEFINED[2 - pair.len()..]));
        if protect(MprotectFlags::READ | MprotectFlags::EXEC).is_err() {
            // What has been written stays where no one can run it.
            return None;
        }
        *next = end;
        Some(at)
    }

    /// Takes out what was loaded last, from this address on.
    ///
    /// # Safety
    /// Nobody runs it, nor will.
    pub(crate) unsafe fn unload(&self, from: u64) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = next.checked_sub(from).filter(|_| from >= self.range.start);
        let bytes = bytes.expect("code that was loaded") as usize;
        // SAFETY: whole pages of the arena that nobody runs, as the caller has promised; those behind them hold nothing.
        let denied = unsafe { rustix::mm::mprotect(from as *mut _, bytes, MprotectFlags::empty()) };
        // Otherwise it stays where it is, and nobody knows the address.
        if denied.is_ok() {
            *next = from;
        }
    }
}
