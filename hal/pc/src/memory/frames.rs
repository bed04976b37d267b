//! Frames: pages of physical memory, taken and given back one at a time.
//!
//! Free frames that have been used form a list, each holding the address of the next; the others are taken from
//! the memory map in order, so that the start touches none of them.

use super::{PAGE, direct};
use crate::regions::Regions;

/// Frames that are free.
pub struct Frames {
    /// Memory that has never been used begins at `next`, in this region.
    regions: Regions,
    region: usize,
    next: u64,
    /// First of the list of frames given back; 0 where it is empty.
    list: u64,
    free: u64,
    total: u64,
}

impl Frames {
    /// All frames of these regions.
    pub fn new(regions: Regions) -> Self {
        let total = regions.bytes() / PAGE;
        let next = regions.get(0).map_or(0, |r| r.start);
        Frames {
            regions,
            region: 0,
            next,
            list: 0,
            free: total,
            total,
        }
    }

    /// How many there are, taken or free.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many are free.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Takes a frame, whatever it holds.
    pub fn take(&mut self) -> Option<u64> {
        let frame = if self.list != 0 {
            let frame = self.list;
            // SAFETY: a free frame is nobody else's, and `give` has put the next one's address here.
            self.list = unsafe { (direct(frame) as *const u64).read() };
            frame
        } else {
            while self.next == self.regions.get(self.region)?.end {
                self.region += 1;
                self.next = self.regions.get(self.region)?.start;
            }
            self.next += PAGE;
            self.next - PAGE
        };
        self.free -= 1;
        Some(frame)
    }

    /// Takes a frame and clears it.
    pub fn take_zeroed(&mut self) -> Option<u64> {
        let frame = self.take()?;
        clear(frame);
        Some(frame)
    }

    /// Gives a frame back.
    ///
    /// # Safety
    /// `take` gave it, and nothing refers to it any more, no page table either.
    pub unsafe fn give(&mut self, frame: u64) {
        // SAFETY: the caller vouches that the frame is free now.
        unsafe { (direct(frame) as *mut u64).write(self.list) };
        self.list = frame;
        self.free += 1;
    }
}

/// Clears a frame.
pub fn clear(frame: u64) {
    fill(frame, &[]);
}

/// Fills a frame with bytes, the rest with zeros.
pub fn fill(frame: u64, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(PAGE as usize)];
    let at = direct(frame) as *mut u8;
    // SAFETY: only `paging` and `load_code` call this, for frames that they own and that are in the direct map;
    // the caller's bytes lie elsewhere.
    unsafe {
        at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        at.add(bytes.len())
            .write_bytes(0, PAGE as usize - bytes.len());
    }
}
