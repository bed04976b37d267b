//! A disk's file in this process's address space: what Linux has in memory is copied without a
//! system call.
//!
//! A page is reached through the mapping only after a system call that may not wait has shown that
//! Linux has it, and written only if it was written since the last flush: it is dirty then, so that
//! nothing is to be allocated or waited for. What was found out is forgotten after [`LASTS`]
//! requests, long before Linux takes back a page that is in use.
//!
//! Invariants:
//! - Nothing outside the file's first `pages.len()` pages is touched.
//! - A page that Linux cannot give all the same (the file has become shorter, the medium has an
//!   error, the host's disk is full) ends the copy, not the system: `SIGBUS` in [`copy_bytes`] goes
//!   on behind the copy, which is told as incomplete, and the mapping is not used any more.

use super::queue::Piece;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::time::{ClockId, clock_gettime};
use std::arch::global_asm;
use std::fs::File;
use std::ops::Range;

/// Bytes of a page.
const PAGE: u64 = sing_abi::PAGE;
/// The largest disk that is mapped: four bytes are kept for each page.
const LARGEST: u64 = 16 << 30;
/// While so many pages are moved, what was found in memory is taken to be there: 256 MiB of them. A
/// request counts as one more than it has whole pages.
const LASTS: u64 = 1 << 16;
/// For so many nanoseconds at most what was found out is taken for true.
const SECOND: u64 = 1_000_000_000;

// Copies rdx bytes from rsi to rdi; returns how many are left, which is 0 unless a fault has ended
// it (`resume_after`).
global_asm!(
    ".globl sing_disk_copy",
    ".globl sing_disk_copy_move",
    "sing_disk_copy:",
    "mov rcx, rdx",
    "sing_disk_copy_move:",
    "rep movsb",
    "mov rax, rcx",
    "ret",
);

/// Bytes of the instruction at `sing_disk_copy_move`.
const MOVE: u64 = 2;

unsafe extern "C" {
    fn sing_disk_copy(to: *mut u8, from: *const u8, len: usize) -> usize;
    fn sing_disk_copy_move();
}

/// Where to go on after a bus error at `pc`, if that is a copy from or to a disk's file.
pub(crate) fn resume_after(pc: u64) -> Option<u64> {
    let place = sing_disk_copy_move as *const () as u64;
    (pc == place).then_some(place + MOVE)
}

/// What is known of a page: the epochs in which it was last found in memory, and written. 0 never.
#[derive(Clone, Copy, Default)]
struct Known {
    found: u16,
    written: u16,
}

/// The mapped file.
pub(super) struct Mapping {
    base: *mut u8,
    pages: Vec<Known>,
    /// The current epochs, never 0.
    epoch: Known,
    /// Pages moved since the epoch of reading began.
    moved: u64,
    /// When both epochs last began anew for the time.
    since: u64,
    broken: bool,
}

// SAFETY: the mapping is this value's alone, and belongs to no thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the first `bytes` bytes of a file. `None` if Linux refuses, or they are too many.
    pub(super) fn of(file: &File, bytes: u64, writable: bool) -> Option<Mapping> {
        if bytes > LARGEST {
            return None;
        }
        let pages = bytes.div_ceil(PAGE);
        let mut protection = ProtFlags::READ;
        protection.set(ProtFlags::WRITE, writable);
        let len = (pages * PAGE) as usize;
        // SAFETY: a new mapping, at a place that Linux chooses; no references are made to it.
        let base = unsafe {
            let null = std::ptr::null_mut();
            mmap(null, len, protection, MapFlags::SHARED, file, 0)
        };
        Some(Mapping {
            base: base.ok()?.cast(),
            pages: vec![Known::default(); pages as usize],
            epoch: Known {
                found: 1,
                written: 1,
            },
            moved: 0,
            since: now(),
            broken: false,
        })
    }

    fn pages(&self, at: u64, len: usize) -> Range<usize> {
        let end = (at + len as u64).div_ceil(PAGE) as usize;
        (at / PAGE) as usize..end.min(self.pages.len())
    }

    /// A request for so many bytes has come at this time: forgets what is too old. Pages that are
    /// dirty Linux cannot take back: for them only the time counts.
    fn age(&mut self, len: usize, now: u64) {
        self.moved += 1 + len as u64 / PAGE;
        let late = now.saturating_sub(self.since) > SECOND;
        if late {
            self.since = now;
            self.cleaned();
        }
        if late || self.moved > LASTS {
            self.moved = 0;
            self.epoch.found = next(self.epoch.found, &mut self.pages, |known| &mut known.found);
        }
    }

    /// Copies what the file has from `at` on into these pieces, `len` bytes. False if that could
    /// have to wait, or has failed: then it is to be done by a system call.
    pub(super) fn read(&mut self, at: u64, len: usize, pieces: &[Piece]) -> bool {
        self.age(len, now());
        let range = self.pages(at, len);
        let now = self.epoch.found;
        if self.broken || self.pages[range].iter().any(|known| known.found != now) {
            return false;
        }
        // SAFETY: the place is in the mapping (`pages` would have been out of its range else).
        let place = unsafe { self.base.add(at as usize) };
        self.copy(place, pieces, false)
    }

    /// Copies these pieces, `len` bytes, into the file from `at` on. As for [`Mapping::read`].
    pub(super) fn write(&mut self, at: u64, len: usize, pieces: &[Piece]) -> bool {
        self.age(len, now());
        let range = self.pages(at, len);
        let now = self.epoch.written;
        if self.broken || self.pages[range].iter().any(|known| known.written != now) {
            return false;
        }
        // SAFETY: as in `read`.
        let place = unsafe { self.base.add(at as usize) };
        self.copy(place, pieces, true)
    }

    fn copy(&mut self, mut place: *mut u8, pieces: &[Piece], write: bool) -> bool {
        for piece in pieces {
            let (to, from) = if write {
                (place, piece.at)
            } else {
                (piece.at, place)
            };
            // SAFETY: the piece is valid while the device's state is locked, as it is; the file's
            // bytes are in the mapping, and where Linux cannot give them, `resume_after` ends the
            // copy. Nobody has references to either.
            let left = unsafe { sing_disk_copy(to, from, piece.len) };
            if left != 0 {
                self.broken = true;
                return false;
            }
            // SAFETY: stays within the mapping, or comes to its end.
            place = unsafe { place.add(piece.len) };
        }
        true
    }

    /// Linux has just had these bytes in memory.
    pub(super) fn found(&mut self, at: u64, len: usize) {
        let (range, now) = (self.pages(at, len), self.epoch.found);
        for known in &mut self.pages[range] {
            known.found = now;
        }
    }

    /// These bytes have just been written.
    pub(super) fn written(&mut self, at: u64, len: usize) {
        let (range, now) = (self.pages(at, len), self.epoch);
        self.pages[range].fill(now);
    }

    /// A flush has begun, or blocks have been given back: no page is dirty any more.
    pub(super) fn cleaned(&mut self) {
        let epoch = next(self.epoch.written, &mut self.pages, |k| &mut k.written);
        self.epoch.written = epoch;
    }
}

/// Nanoseconds of a clock that goes in steps of some milliseconds, and costs next to nothing.
fn now() -> u64 {
    let time = clock_gettime(ClockId::MonotonicCoarse);
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// The epoch after this one, in which nothing is known. All pages are gone through when the numbers
/// are used up: after 65,535 flushes that had something to write, 16 TiB, or hours.
fn next(epoch: u16, pages: &mut [Known], field: impl Fn(&mut Known) -> &mut u16) -> u16 {
    if epoch < u16::MAX {
        return epoch + 1;
    }
    for known in pages {
        *field(known) = 0;
    }
    1
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let len = self.pages.len() * PAGE as usize;
        // SAFETY: this value's own mapping, to which nobody has a pointer any more.
        let _ = unsafe { munmap(self.base.cast(), len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping() -> Mapping {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        let mut mapping = Mapping::of(&file, 16 * PAGE, false).unwrap();
        mapping.since = 0;
        mapping
    }

    /// Whether the first page is known to be in memory, and to be dirty.
    fn known(mapping: &Mapping) -> (bool, bool) {
        let (page, now) = (mapping.pages[0], mapping.epoch);
        (page.found == now.found, page.written == now.written)
    }

    #[test]
    fn what_was_found_out_is_forgotten() {
        let mut pages = [Known {
            found: u16::MAX,
            written: 3,
        }];
        assert_eq!(next(3, &mut pages, |k| &mut k.written), 4);
        assert_eq!(next(u16::MAX, &mut pages, |k| &mut k.found), 1);
        assert_eq!((pages[0].found, pages[0].written), (0, 3));
    }

    #[test]
    fn what_was_found_out_is_forgotten_as_bytes_are_moved() {
        for (len, most) in [(512, LASTS), (64 << 10, LASTS / 17)] {
            let mut mapping = mapping();
            mapping.written(0, 1);
            for _ in 0..most {
                mapping.age(len, 0);
            }
            assert_eq!(known(&mapping), (true, true), "{len}");
            mapping.age(len, 0);
            assert_eq!(known(&mapping), (false, true), "{len}");
        }
    }

    #[test]
    fn what_was_found_out_is_forgotten_as_time_passes() {
        let mut mapping = mapping();
        mapping.written(0, 1);
        mapping.age(512, SECOND);
        assert_eq!(known(&mapping), (true, true));
        mapping.age(512, SECOND + 1);
        assert_eq!(known(&mapping), (false, false));
        mapping.found(0, 1);
        mapping.age(512, 2 * SECOND + 1);
        assert_eq!(known(&mapping), (true, false));
        mapping.age(512, 2 * SECOND + 2);
        assert_eq!(known(&mapping), (false, false));
    }
}
