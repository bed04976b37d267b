//! The windows of devices that an IOMMU confines: blocks that a device reaches, at addresses of its
//! own (`IoDma` of [O] 5.1).
//!
//! The window of a device has [`MAX_MAPPINGS`] places of [`MAX_DMA`] bytes. A block in a place has
//! left its owner's table: no SIP reaches it, and nobody frees it, until it is unmapped. One that
//! is shared is reached by the device's driver too, through the kernel's checked accesses.
//!
//! Invariants:
//! - The device reaches the pages of the blocks in [`Inner::places`] and nothing else: all bytes on
//!   those pages belong to the block.
//! - A block leaves its place when the HAL has confirmed that the device does not reach it any
//!   more, or that the device is cut off.
//! - The bytes that are mapped are never more than the driver's manifest says.

#[cfg(test)]
mod tests;

use crate::ground::hal::{DeviceAccess, WINDOW_FIRST, WINDOW_PAGES, WINDOW_TABLES};
use crate::ground::machine::hal;
use crate::ground::memory;
use crate::ground::trusted::DeviceMemory;
use crate::ground::trusted::parts_restart;
use crate::ground::work::Work;
use crate::object::account::Account;
use crate::object::exheap;
use sing_abi::{DMA_SHARED, DMA_WRITE, MAX_DMA, MAX_MAPPINGS, PAGE, status};
use sing_arch::lock::SpinLock;
use sing_runtime::Charged;

/// Pages of a place.
const PLACE: u32 = MAX_DMA / PAGE as u32;
const _: () = assert!(WINDOW_FIRST + MAX_MAPPINGS as u32 * PLACE <= WINDOW_PAGES);

/// A block that the device reaches.
#[derive(Clone, Copy)]
struct Mapped {
    allocation: u32,
    memory: DeviceMemory,
    shared: bool,
}

struct Inner {
    places: Charged<Option<Mapped>>,
    /// Who has paid for the tables.
    account: &'static Account,
    /// Pages that are mapped.
    pages: u64,
}

/// The window of a device.
pub(crate) struct Window {
    inner: SpinLock<Option<Inner>>,
}

parts_restart!(Window: inner);

/// What to map.
pub(crate) struct Wanted {
    /// Index of the allocation.
    pub(crate) allocation: u32,
    /// The first byte, and how many.
    pub(crate) start: u32,
    pub(crate) len: u32,
    /// `DMA_READ`, `DMA_WRITE` or `DMA_SHARED`.
    pub(crate) kind: u32,
}

impl Window {
    /// Bytes of memory that the tables of one cost its holder.
    const COST: u64 = WINDOW_TABLES * PAGE;

    pub(crate) const fn new() -> Window {
        Window {
            inner: SpinLock::new(None),
        }
    }

    /// Maps bytes of a block, and opens the window if this is the first. `most`: the bytes that can
    /// be mapped at once. Returns the address; nothing has changed if this fails.
    ///
    /// # Errors
    /// A status, as for `dma_map`.
    pub(crate) fn map(
        &self,
        device: usize,
        wanted: &Wanted,
        most: u64,
        account: &'static Account,
    ) -> Result<u64, i32> {
        let bad = status::BAD_ARGUMENT;
        let a = exheap::get(wanted.allocation).ok_or(bad)?;
        let access = match wanted.kind {
            sing_abi::DMA_READ => DeviceAccess::Read,
            DMA_WRITE => DeviceAccess::Write,
            DMA_SHARED => DeviceAccess::Both,
            _ => return Err(bad),
        };
        if access != DeviceAccess::Read && a.is_read_only() {
            return Err(bad);
        }
        let memory = DeviceMemory::of(a.block.get(), wanted.start, wanted.len).ok_or(bad)?;
        let own = a.own_pages(wanted.start, wanted.len);
        own.ok_or(status::HELD)?;
        // Devices count in words: one may leave the last bits of an address out.
        if !memory.offset().is_multiple_of(4) {
            return Err(status::HELD);
        }
        let pages = u64::from(memory.pages());
        if pages > u64::from(PLACE) || pages * PAGE > most {
            return Err(bad);
        }
        let mut inner = self.inner.lock();
        let window = match &mut *inner {
            Some(window) => window,
            none => none.insert(open(device, account)?),
        };
        let free = window.places.iter().position(Option::is_none);
        let place = free.ok_or(status::WOULD_BLOCK)?;
        if (window.pages + pages) * PAGE > most {
            return Err(status::WOULD_BLOCK);
        }
        let first = WINDOW_FIRST + place as u32 * PLACE;
        if !memory.map(device, first, access) {
            return Err(status::NO_RESOURCES);
        }
        window.pages += pages;
        window.places[place] = Some(Mapped {
            allocation: wanted.allocation,
            memory,
            shared: access == DeviceAccess::Both,
        });
        Ok(u64::from(first) * PAGE + u64::from(memory.offset()))
    }

    /// Keeps the device from what is mapped at this address: the allocation, which stays until
    /// [`Window::finish`].
    ///
    /// # Errors
    /// `NOT_FOUND`; `CLOSED` if the device may still reach it.
    pub(crate) fn unmap(&self, device: usize, address: u64) -> Result<u32, i32> {
        let inner = self.inner.lock();
        let window = inner.as_ref().ok_or(status::NOT_FOUND)?;
        let (place, mapped, offset) = window.find(address).ok_or(status::NOT_FOUND)?;
        if offset != 0 {
            return Err(status::NOT_FOUND);
        }
        let first = WINDOW_FIRST + place as u32 * PLACE;
        if !DeviceMemory::unmap(device, first..first + mapped.memory.pages()) {
            return Err(status::CLOSED);
        }
        Ok(mapped.allocation)
    }

    /// What was unmapped has a place in a table.
    pub(crate) fn finish(&self, address: u64) {
        let mut inner = self.inner.lock();
        if let Some(window) = inner.as_mut()
            && let Some((place, mapped, _)) = window.find(address)
        {
            window.pages -= u64::from(mapped.memory.pages());
            window.places[place] = None;
        }
    }

    /// What is shared with the device at this address, and the offset of the address in it.
    pub(crate) fn shared(&self, address: u64) -> Option<(DeviceMemory, u32)> {
        let inner = self.inner.lock();
        let (_, mapped, offset) = inner.as_ref()?.find(address)?;
        mapped.shared.then_some((mapped.memory, offset))
    }

    /// Frees what is mapped. The device has been cut off.
    pub(crate) fn dispose(&self, work: &mut Work) {
        let Some(window) = self.inner.lock().take() else {
            return;
        };
        for mapped in window.places.iter().flatten() {
            exheap::free_later(mapped.allocation, work);
        }
        memory::count_pages(-(WINDOW_TABLES as i64));
        window.account.discharge(Self::COST);
    }

    /// Whether each allocation of it is there, as `is_there` says.
    pub(crate) fn allocations_are_there(&self, is_there: impl Fn(u32) -> bool) -> bool {
        let inner = self.inner.lock();
        let mut mapped = inner.iter().flat_map(|w| w.places.iter().flatten());
        mapped.all(|m| is_there(m.allocation))
    }
}

/// Opens the window of a device.
fn open(device: usize, account: &'static Account) -> Result<Inner, i32> {
    let none = |_| status::NO_RESOURCES;
    let places = Charged::from_fn(MAX_MAPPINGS, account, |_| None).map_err(none)?;
    if !account.charge(Window::COST) {
        return Err(status::NO_RESOURCES);
    }
    if !hal().open_window(device) {
        account.discharge(Window::COST);
        return Err(status::NO_RESOURCES);
    }
    memory::count_pages(WINDOW_TABLES as i64);
    Ok(Inner {
        places,
        account,
        pages: 0,
    })
}

impl Inner {
    /// What is mapped at this address: its place, and the offset of the address in it.
    fn find(&self, address: u64) -> Option<(usize, Mapped, u32)> {
        let page = u32::try_from(address / PAGE).ok()?;
        let place = (page.checked_sub(WINDOW_FIRST)? / PLACE) as usize;
        let mapped = (*self.places.get(place)?)?;
        let first = u64::from(WINDOW_FIRST + place as u32 * PLACE) * PAGE;
        let offset = address.checked_sub(first + u64::from(mapped.memory.offset()))?;
        Some((place, mapped, u32::try_from(offset).ok()?))
    }
}
