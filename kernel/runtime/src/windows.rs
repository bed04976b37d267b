//! The table of register windows of a SIP, in the form that inlined accesses read
//! ([`sing_abi::io`]).
//!
//! Invariants:
//! - An entry that has once described a window describes no other one. Its key is the handle by
//!   which code of the SIP names the window, or 0.
//! - Entry 0 is never used. Code can pass 0 as a handle, which leads there, and equals the key of
//!   an entry without a handle; the lengths of entry 0 stay 0.
//! - An entry's window is complete before its key is written, and code reads the key first. So what
//!   code reads belongs together, however it is interrupted between two reads.
//! - The table never moves, and lives as long as the instance.

use crate::{Charged, NoRoom, Payer};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use sing_abi::io::ENTRIES;
use sing_abi::xheap::INDEX_MASK;

/// An entry. The kernel knows the window by a tag.
type Slot = crate::slot::Slot<AtomicU64, AtomicU32, ()>;

const _: () = assert!(ENTRIES.is_power_of_two() && ENTRIES <= INDEX_MASK as usize);

/// The table of SIPs without windows. Its lengths are 0, so nothing can be reached through it.
static EMPTY: Slot = Slot::free();

impl Slot {
    const fn free() -> Slot {
        Slot {
            base: AtomicU64::new(0),
            len: AtomicU32::new(0),
            wlen: AtomicU32::new(0),
            key: AtomicU32::new(0),
            record: AtomicU32::new(0),
            own: (),
        }
    }
}

/// Registers of a device, as code may reach them.
///
/// Only an unsafe call makes one, as code reads and writes there:
///
/// ```compile_fail,E0451
/// let forged = sing_runtime::Window { base: 0x1000, len: 4096, writable: true };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    base: u64,
    len: u32,
    writable: bool,
}

impl Window {
    /// `len` bytes of registers at `base`.
    ///
    /// # Safety
    /// While an instance has the window in its table, and whenever its addresses are mapped after
    /// that, they lead to registers of a device that the instance's SIP holds, and to nothing else.
    #[must_use]
    pub const unsafe fn new(base: u64, len: u32, writable: bool) -> Window {
        Window {
            base,
            len,
            writable,
        }
    }
}

/// The windows of one SIP; without entries if its manifest declares no registers.
#[derive(Default)]
pub struct Windows(Charged<Slot>);

impl Windows {
    /// Makes a table, for which `payer` pays.
    pub(crate) fn new(payer: &'static dyn Payer) -> Result<Windows, NoRoom> {
        Charged::from_fn(ENTRIES, payer, |_| Slot::free()).map(Windows)
    }

    /// Returns the address of the first entry, for context records.
    pub(crate) fn base(&self) -> u64 {
        self.0.first().map_or(&raw const EMPTY, |s| &raw const *s) as u64
    }

    /// Returns the number of entries less one, for context records.
    pub(crate) fn mask(&self) -> u32 {
        (self.0.len() as u32).saturating_sub(1)
    }

    /// Returns the bytes of kernel memory that the table takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Enters a window under a handle. The kernel knows it by `tag`, which names no other window of
    /// this SIP. Returns false if the handle's entry has described another window; code then
    /// reaches this one by kernel calls.
    pub fn enter(&self, handle: u32, window: Window, tag: u32) -> bool {
        let index = handle & self.mask();
        let Some(slot) = self.0.get(index as usize).filter(|_| index != 0) else {
            return false;
        };
        let wlen = if window.writable { window.len } else { 0 };
        if slot.base.load(Relaxed) == 0 {
            slot.base.store(window.base, Relaxed);
            slot.record.store(tag, Relaxed);
            slot.len.store(window.len, Relaxed);
            slot.wlen.store(wlen, Relaxed);
        }
        let known = slot.base.load(Relaxed) == window.base
            && slot.record.load(Relaxed) == tag
            && slot.len.load(Relaxed) == window.len
            && slot.wlen.load(Relaxed) == wlen;
        if known {
            slot.key.store(handle, Release);
        }
        known
    }

    /// Removes the windows that code names by a handle for which `is_gone` is true, given the
    /// window's tag and the handle.
    pub fn remove(&self, is_gone: impl Fn(u32, u32) -> bool) {
        for slot in self.0.iter() {
            let key = slot.key.load(Relaxed);
            if key != 0 && is_gone(slot.record.load(Relaxed), key) {
                slot.key.store(0, Release);
            }
        }
    }

    /// Returns the tag and the handle of each window that code can name.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let slots = self.0.iter();
        slots
            .map(|s| (s.record.load(Relaxed), s.key.load(Relaxed)))
            .filter(|&(_, key)| key != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernel;
    use sing_abi::xheap::ENTRY_SIZE;

    fn window(base: u64, len: u32) -> Window {
        // SAFETY: no code runs in these tests.
        unsafe { Window::new(base, len, true) }
    }

    #[test]
    fn without_registers_nothing_is_reached() {
        let t = Windows::default();
        assert_eq!((t.mask(), t.bytes()), (0, 0));
        assert!(!t.enter(0x10000, window(4096, 8), 1));
        // SAFETY: the base of an empty table is the static entry.
        let e = unsafe { &*(t.base() as *const Slot) };
        let read = [&e.len, &e.wlen, &e.key].map(|f| f.load(Relaxed));
        assert_eq!(read, [0; 3]);
    }

    #[test]
    fn an_entry_never_describes_another_window() {
        let t = Windows::new(&Kernel).unwrap();
        let (h, other) = (0x1_0003, 0x2_0003);
        assert!(!t.enter(0, window(4096, 256), 7), "0 is no handle");
        assert!(t.enter(h, window(4096, 256), 7));
        t.remove(|tag, key| tag == 7 && key != h);
        assert_eq!(t.iter().count(), 1);
        t.remove(|_, key| key == h);
        assert_eq!(t.iter().count(), 0);
        for wrong in [window(8192, 256), window(4096, 512)] {
            assert!(!t.enter(other, wrong, 7));
        }
        assert!(!t.enter(other, window(4096, 256), 8));
        assert_eq!(t.iter().count(), 0);
        assert!(t.enter(other, window(4096, 256), 7));
        assert_eq!(t.iter().count(), 1);
        let slot = &t.0[3];
        assert_eq!(slot.key.load(Relaxed), other);
        assert_eq!(t.base() + 3 * ENTRY_SIZE, (&raw const *slot) as u64);
    }

    #[test]
    fn nothing_is_reached_by_handle_0() {
        let t = Windows::new(&Kernel).unwrap();
        for handle in [0, 0x1_0000, ENTRIES as u32] {
            assert!(!t.enter(handle, window(4096, 256), 7));
        }
        let read = [&t.0[0].len, &t.0[0].wlen].map(|f| f.load(Relaxed));
        assert_eq!(read, [0; 2]);
    }

    #[test]
    fn what_is_read_only_has_no_bytes_to_write() {
        let t = Windows::new(&Kernel).unwrap();
        // SAFETY: no code runs in these tests.
        assert!(t.enter(0x1_0001, unsafe { Window::new(4096, 64, false) }, 1));
        let slot = &t.0[1];
        assert_eq!((slot.len.load(Relaxed), slot.wlen.load(Relaxed)), (64, 0));
    }
}
