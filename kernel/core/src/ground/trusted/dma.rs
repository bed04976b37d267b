//! Memory that a device reaches by way of an IOMMU: pages of blocks, and the kernel's own access to
//! what it shares with a device.
//!
//! Invariant: a page is mapped only as part of a block, which the caller keeps until the page is
//! unmapped or the device cut off (guideline `device-last`).

use crate::ground::hal::{DeviceAccess, WINDOW_FIRST, WINDOW_PAGES};
use crate::ground::machine::hal;
use core::ops::Range;
use core::sync::atomic::{Ordering, fence};
use sing_abi::PAGE;
use sing_runtime::Block;

/// Bytes of a block that a device uses, and the pages on which they lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceMemory {
    part: Block,
}

impl DeviceMemory {
    /// Bytes of a block. `None` if they are not inside it, or none.
    pub(crate) fn of(block: Block, start: u32, len: u32) -> Option<DeviceMemory> {
        let part = block.part(start, start.checked_add(len)?)?;
        (!part.is_empty()).then_some(DeviceMemory { part })
    }

    /// Returns the offset of the first byte in its page.
    pub(crate) fn offset(&self) -> u32 {
        (self.part.base() % PAGE) as u32
    }

    /// Returns the number of pages on which the bytes lie.
    pub(crate) fn pages(&self) -> u32 {
        (u64::from(self.offset()) + u64::from(self.part.len())).div_ceil(PAGE) as u32
    }

    /// Lets a device reach the pages, from this page of its window on. The block stays, and nobody
    /// else's bytes lie on its pages, until they are unmapped or the device is cut off
    /// (`device-last`, [`crate::object::exheap::Allocation::own_pages`]). Returns false, with
    /// nothing mapped that is left to the caller, if memory is short.
    pub(crate) fn map(&self, device: usize, first: u32, access: DeviceAccess) -> bool {
        assert!(first >= WINDOW_FIRST && first + self.pages() <= WINDOW_PAGES);
        let start = self.part.base() / PAGE * PAGE;
        let mapped = (0..self.pages()).all(|i| {
            let at = start + u64::from(i) * PAGE;
            // SAFETY: the page has a byte of the block, which stays as the caller promises.
            unsafe { hal().map(device, first + i, at, access) }
        });
        if !mapped {
            Self::unmap(device, first..first + self.pages());
        }
        mapped
    }

    /// Keeps a device from pages of its window. Returns whether that is certain.
    pub(crate) fn unmap(device: usize, pages: Range<u32>) -> bool {
        hal().unmap(device, pages)
    }

    fn address(&self, offset: u32, len: u32) -> Option<u64> {
        let part = self.part.part(offset, offset.checked_add(len)?)?;
        Some(part.base())
    }

    /// Reads `width` bytes with one access. `None` if they are outside, or not aligned.
    pub(crate) fn load(&self, offset: u32, width: u32) -> Option<u64> {
        let at = self
            .address(offset, width)
            .filter(|at| at.is_multiple_of(u64::from(width.max(1))))?;
        // SAFETY: bytes of a block, which holds no Rust object and stays while this value is used
        // (its allocation is the window's); aligned, and any bits are an integer.
        let value = unsafe {
            match width {
                1 => (at as *const u8).read_volatile().into(),
                2 => (at as *const u16).read_volatile().into(),
                4 => (at as *const u32).read_volatile().into(),
                8 => (at as *const u64).read_volatile(),
                _ => return None,
            }
        };
        // What the device wrote before this is seen by what is read after it.
        fence(Ordering::SeqCst);
        Some(value)
    }

    /// Writes `width` bytes with one access. `None` if they are outside, or not aligned.
    pub(crate) fn store(&self, offset: u32, width: u32, value: u64) -> Option<()> {
        let at = self
            .address(offset, width)
            .filter(|at| at.is_multiple_of(u64::from(width.max(1))))?;
        fence(Ordering::SeqCst);
        // SAFETY: as for `load`.
        unsafe {
            match width {
                1 => (at as *mut u8).write_volatile(value as u8),
                2 => (at as *mut u16).write_volatile(value as u16),
                4 => (at as *mut u32).write_volatile(value as u32),
                8 => (at as *mut u64).write_volatile(value),
                _ => return None,
            }
        }
        Some(())
    }

    /// Copies bytes from `offset` on. `None` if not all of them are inside.
    pub(crate) fn read(&self, offset: u32, out: &mut [u8]) -> Option<()> {
        let at = self.address(offset, u32::try_from(out.len()).ok()?)?;
        for (i, byte) in out.iter_mut().enumerate() {
            // SAFETY: as for `load`; a byte is always aligned.
            *byte = unsafe { ((at + i as u64) as *const u8).read_volatile() };
        }
        Some(())
    }

    /// Copies bytes to `offset` on. `None` if there is no room for all of them.
    pub(crate) fn write(&self, offset: u32, bytes: &[u8]) -> Option<()> {
        let at = self.address(offset, u32::try_from(bytes.len()).ok()?)?;
        for (i, byte) in bytes.iter().enumerate() {
            // SAFETY: as for `load`; a byte is always aligned.
            unsafe { ((at + i as u64) as *mut u8).write_volatile(*byte) };
        }
        Some(())
    }
}
