//! Frames: pages of physical memory, taken and freed one at a time, or as a run of neighbours.
//!
//! The map of free frames ([`FrameMap`]) has memory of its own, so no free frame is ever accessed.
//! Single frames come from above 4 GiB if possible: memory below is kept for devices that reach no
//! further.

use super::{PAGE, direct};
use crate::frame_map::{FrameMap, words_for};
use crate::regions::Regions;
use core::ops::Range;

/// The end of the memory that devices with 32-bit addresses reach.
pub const LOW: u64 = 4 << 30;

/// The free frames.
pub struct Frames {
    map: FrameMap<'static>,
    total: u64,
    /// The frame from which single frames are searched first.
    first: u64,
}

impl Frames {
    /// All frames of these regions, less those for the record, which is to lie in `place`, as
    /// [`place_for_map`] found it.
    ///
    /// [`place_for_map`]: crate::frame_map::place_for_map
    pub fn new(regions: &Regions, place: Range<u64>) -> Option<Self> {
        let end = regions.iter().map(|r| r.end).max()?;
        let words = words_for(end / PAGE);
        // SAFETY: the memory is usable, mapped by the boot code, and taken out of what frames are
        // made of below.
        let memory = unsafe {
            core::slice::from_raw_parts_mut(direct(place.start) as *mut u64, words as usize)
        };
        let mut map = FrameMap::new(memory, end / PAGE);
        let mut regions = regions.clone();
        regions.subtract(place);
        for region in regions.iter() {
            map.give_range(region.start / PAGE..region.end / PAGE);
        }
        let total = map.free();
        Some(Frames {
            map,
            total,
            first: 0,
        })
    }

    /// Makes single frames come from above [`LOW`] if possible, now that all memory is mapped.
    pub fn prefer_high(&mut self) {
        self.first = LOW / PAGE;
    }

    /// The number of frames, taken or free.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of free frames.
    pub fn free(&self) -> u64 {
        self.map.free()
    }

    /// Takes a frame, not cleared: its physical address.
    pub fn take(&mut self) -> Option<u64> {
        self.map.take(self.first).map(|frame| frame * PAGE)
    }

    /// Takes a run of `count` frames, not cleared, all below physical address `limit`: its address,
    /// a multiple of `align` (at least a page).
    pub fn take_run(&mut self, count: u64, align: u64, limit: u64) -> Option<u64> {
        let frame = self
            .map
            .take_run(count, align.div_ceil(PAGE), limit / PAGE)?;
        Some(frame * PAGE)
    }

    /// Takes a frame and clears it.
    pub fn take_zeroed(&mut self) -> Option<u64> {
        let frame = self.take()?;
        clear(frame);
        Some(frame)
    }

    /// Frees a frame.
    ///
    /// # Safety
    /// `take` or `take_run` gave it, and nothing refers to it any more, no page table either.
    pub unsafe fn give(&mut self, frame: u64) {
        self.map.give(frame / PAGE);
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
    // SAFETY: only `paging` and `load_code` call this, for frames that they own and that are in the
    // direct map; the caller's bytes lie elsewhere.
    unsafe {
        at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        at.add(bytes.len())
            .write_bytes(0, PAGE as usize - bytes.len());
    }
}
