//! Whole pages of an allocation: the unit in which an IOMMU gives memory to a device.

use super::Allocation;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::PAGE;

impl Allocation {
    /// The addresses of the pages on which `len` bytes from `start` on lie. `None` if bytes of
    /// others lie, or have lain, on one of them: only an allocation of the whole region has what that
    /// has been rounded up by.
    pub(crate) fn own_pages(&self, start: u32, len: u32) -> Option<Range<u64>> {
        let block = self.block.get();
        let part = block.part(start, start.checked_add(len)?)?;
        let end = part.base() + u64::from(part.len());
        let pages = part.base() / PAGE * PAGE..end.checked_next_multiple_of(PAGE)?;
        let inside = block.base() <= pages.start
            && (pages.end <= block.base() + u64::from(block.len()) || self.has_whole_pages());
        (!part.is_empty() && inside).then_some(pages)
    }

    /// Whether its region consists of whole pages, all of which are its own.
    fn has_whole_pages(&self) -> bool {
        self.region().is_some_and(|region| {
            let size = region.size();
            size.is_multiple_of(PAGE)
                && self.portion.load(Relaxed) == size
                && self.len() == region.len.load(Relaxed)
        })
    }
}
