//! The memory that the kernel and a device share for a queue: virtio's "split virtqueue".
//!
//! Only the kernel writes the descriptors and the ring of available requests. The ring of used
//! requests is the device's: whatever it holds is taken for a claim, which the kernel's own records
//! confirm or not ([`crate::object::queue`]).

use super::Committed;
use crate::ground::machine::hal;
use core::sync::atomic::{Ordering, fence};
use sing_abi::{MAX_QUEUE, PAGE};
use sing_runtime::Block;

/// Bytes of the memory of a ring.
pub(crate) const BYTES: u64 = 2 * PAGE;
/// Bytes of a descriptor: address, length, flags, next one.
const DESCRIPTOR: u64 = 16;
/// A descriptor has a next one.
const NEXT: u16 = 1;
/// The device writes what the descriptor names.
const WRITE: u16 = 2;
/// The driver wants no interrupts: a flag of the ring of available requests.
const NO_INTERRUPT: u16 = 1;
/// Places in the second page: of the ring of available requests, and of that of used ones. Each
/// begins with flags and a count, 16 bits both.
const AVAILABLE: u64 = PAGE;
const USED: u64 = PAGE + 1024;
const ENTRIES: u64 = 4;

const _: () = assert!(DESCRIPTOR * MAX_QUEUE as u64 <= PAGE);
const _: () = assert!(AVAILABLE + ENTRIES + 2 * MAX_QUEUE as u64 <= USED);
const _: () = assert!(USED + ENTRIES + 8 * MAX_QUEUE as u64 <= BYTES);

/// A stretch of memory as a device sees it, that belongs to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    address: u64,
    len: u32,
}

impl Run {
    /// The bytes of a block from `start` on, at most `len` and none behind the end of the page.
    /// They have memory of their own from now on, which stays as long as the block does. `None` if
    /// memory is short.
    ///
    /// # Panics
    /// If `start` is not in the block.
    pub(crate) fn first_of(block: Block, start: u32, len: u32) -> Option<Run> {
        let rest = block
            .part(start, block.len())
            .filter(|rest| !rest.is_empty());
        let rest = rest.expect("a run of a block lies in the block");
        let in_page = PAGE - rest.base() % PAGE;
        Some(Run {
            address: hal().device_address(rest.base())?,
            len: len.min(rest.len()).min(in_page as u32),
        })
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Both as one; `None` if `next` does not begin where this one ends.
    pub(crate) fn joined(self, next: Run) -> Option<Run> {
        let adjacent = self.address.checked_add(u64::from(self.len)) == Some(next.address);
        let len = self.len.checked_add(next.len)?;
        adjacent.then_some(Run { len, ..self })
    }
}

/// The shared memory of a queue.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: Committed,
    /// What the device calls the two pages.
    pages: [u64; 2],
    size: u16,
    /// Requests made available so far, modulo 2^16.
    available: u16,
    /// Used requests seen so far, modulo 2^16.
    seen: u16,
}

impl Ring {
    /// Makes a ring of `size` descriptors, a power of two. `None` if memory is short.
    ///
    /// # Panics
    /// If the size is none.
    pub(crate) fn new(size: u16) -> Option<Ring> {
        assert!(size.is_power_of_two() && u32::from(size) <= MAX_QUEUE);
        let memory = Committed::with(BYTES)?;
        let page = |i: u64| hal().device_address(memory.base() + i * PAGE);
        Some(Ring {
            pages: [page(0)?, page(1)?],
            memory,
            size,
            available: 0,
            seen: 0,
        })
    }

    /// Returns the number of descriptors.
    pub(crate) fn size(&self) -> u16 {
        self.size
    }

    /// What the device calls the descriptors, the ring of available and that of used requests.
    pub(super) fn addresses(&self) -> [u64; 3] {
        let [first, second] = self.pages;
        [first, second, second + (USED - AVAILABLE)]
    }

    fn read<T: Copy>(&self, offset: u64) -> T {
        let at = (self.memory.base() + offset) as *const T;
        // SAFETY: private, and called with places of integers inside `BYTES`, aligned to their
        // size, in memory that is this ring's alone; any bits are an integer.
        unsafe { at.read_volatile() }
    }

    fn write<T: Copy>(&self, offset: u64, value: T) {
        let at = (self.memory.base() + offset) as *mut T;
        // SAFETY: as for `read`.
        unsafe { at.write_volatile(value) }
    }

    /// Writes descriptor `index`: a run that the device reads, or `writes`, and the descriptor that
    /// follows. The block that the run is of must stay until the device is done with the request,
    /// or has been reset (guideline `device-last`).
    pub(crate) fn describe(&self, index: u16, run: Run, writes: bool, next: Option<u16>) {
        assert!(index < self.size);
        let at = u64::from(index) * DESCRIPTOR;
        let flags = if writes { WRITE } else { 0 } | if next.is_some() { NEXT } else { 0 };
        self.write(at, run.address);
        self.write(at + 8, run.len);
        self.write(at + 12, flags);
        self.write(at + 14, next.unwrap_or(0));
    }

    /// Makes the request that begins with descriptor `head` available to the device.
    pub(crate) fn offer(&mut self, head: u16) {
        let place = u64::from(self.available % self.size);
        self.write(AVAILABLE + ENTRIES + 2 * place, head);
        self.available = self.available.wrapping_add(1);
        fence(Ordering::SeqCst);
        self.write(AVAILABLE + 2, self.available);
        fence(Ordering::SeqCst);
    }

    /// Asks the device for interrupts, or not to send any. It may send one all the same.
    pub(crate) fn want_interrupts(&self, wanted: bool) {
        self.write(AVAILABLE, if wanted { 0 } else { NO_INTERRUPT });
        // Before the look at what the device has done meanwhile, or before it is told of requests.
        fence(Ordering::SeqCst);
    }

    /// Whether the device is asked for interrupts.
    #[cfg(test)]
    pub(crate) fn are_interrupts_wanted(&self) -> bool {
        self.read::<u16>(AVAILABLE) == 0
    }

    /// Returns how many used requests the device claims that have not been seen.
    pub(crate) fn claimed(&self) -> u16 {
        let used: u16 = self.read(USED + 2);
        fence(Ordering::SeqCst);
        used.wrapping_sub(self.seen)
    }

    /// The next used request, as the device claims it: its first descriptor, and bytes written.
    pub(crate) fn next_used(&self) -> (u32, u32) {
        let place = USED + ENTRIES + 8 * u64::from(self.seen % self.size);
        (self.read(place), self.read(place + 4))
    }

    /// Claims, as a device would, to be done with the request that begins with `head`.
    #[cfg(test)]
    pub(crate) fn claim(&self, head: u32, len: u32) {
        let used: u16 = self.read(USED + 2);
        let place = USED + ENTRIES + 8 * u64::from(used % self.size);
        self.write(place, head);
        self.write(place + 4, len);
        self.write(USED + 2, used.wrapping_add(1));
    }

    /// Marks it as seen.
    pub(crate) fn see(&mut self) {
        self.seen = self.seen.wrapping_add(1);
    }
}
