//! What a device that masters the bus reaches of the system's memory: an IOMMU in software.
//!
//! A model has no address of the system's: all that its driver tells it are addresses in this
//! window, and each access looks them up, page by page. So a driver may program what it likes.
//!
//! Invariants:
//! - A model touches memory only by a [`Reach`], and only pages that the kernel has put into the
//!   window and not taken out since, for what they were put there for.
//! - Taking a page out waits for the [`Reach`] of the model's other thread: when it has returned,
//!   the model does not touch the page any more.
//! - No access lasts longer than its length says, which the model bounds.

use super::queue::Piece;
use super::turns::Turns;
use sing_abi::PAGE;
use sing_kernel::hal::{DeviceAccess, Refused, WINDOW_PAGES};
use std::ops::Range;
use std::sync::MutexGuard;

/// What a page may be used for, in the low bits of its address.
const READ: u64 = 1;
const WRITE: u64 = 2;
/// The numbers of the reasons for which Intel's IOMMU refuses accesses: to write, and to read.
const NOT_TO_WRITE: u8 = 5;
const NOT_TO_READ: u8 = 6;

#[derive(Default)]
struct Inner {
    /// The address of each page, with what it may be used for; 0 leads nowhere. Empty: closed.
    pages: Vec<u64>,
    refused: Option<Refused>,
}

/// The window of a device.
#[derive(Default)]
pub(super) struct Window {
    inner: Turns<Inner>,
}

impl Window {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.kernel()
    }

    /// As [`sing_kernel::hal::Hal::open_window`].
    pub(super) fn open(&self) {
        self.lock().pages = vec![0; WINDOW_PAGES as usize];
    }

    /// Nothing is reached any more.
    pub(super) fn close(&self) {
        self.lock().pages = Vec::new();
    }

    /// As [`sing_kernel::hal::Hal::map`], whose caller keeps the page.
    pub(super) fn map(&self, page: u32, at: u64, access: DeviceAccess) -> bool {
        let mut inner = self.lock();
        let Some(entry) = inner.pages.get_mut(page as usize) else {
            return false;
        };
        let access = match access {
            DeviceAccess::Read => READ,
            DeviceAccess::Write => WRITE,
            DeviceAccess::Both => READ | WRITE,
        };
        *entry = (at - at % PAGE) | access;
        true
    }

    /// As [`sing_kernel::hal::Hal::unmap`].
    pub(super) fn unmap(&self, pages: Range<u32>) {
        let mut inner = self.lock();
        let pages = pages.start as usize..pages.end as usize;
        if let Some(entries) = inner.pages.get_mut(pages) {
            entries.fill(0);
        }
    }

    /// As [`sing_kernel::hal::Hal::refused`].
    pub(super) fn refused(&self) -> Option<Refused> {
        self.lock().refused.take()
    }

    /// Keeps the window as it is, to reach memory by it.
    pub(super) fn reach(&self) -> Reach<'_> {
        Reach {
            inner: self.inner.step(),
        }
    }
}

/// An address that leads nowhere, or not for this use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nowhere;

/// A window that does not change meanwhile.
pub(super) struct Reach<'a> {
    inner: MutexGuard<'a, Inner>,
}

impl Reach<'_> {
    /// The memory at a device's address, as far as its page goes and `len` at the most. It is valid
    /// as long as this value is: the kernel keeps the page for this device until it has taken it
    /// out, which waits for this value.
    fn piece(&mut self, at: u64, len: usize, write: bool) -> Result<Piece, Nowhere> {
        let wanted = if write { WRITE } else { READ };
        let page = usize::try_from(at / PAGE).ok();
        let entry = page.and_then(|page| self.inner.pages.get(page));
        let entry = entry.copied().filter(|entry| entry & wanted != 0);
        let Some(entry) = entry else {
            self.inner.refused = Some(Refused {
                page: at / PAGE * PAGE,
                write,
                reason: if write { NOT_TO_WRITE } else { NOT_TO_READ },
            });
            return Err(Nowhere);
        };
        Ok(Piece {
            at: (entry / PAGE * PAGE + at % PAGE) as *mut u8,
            len: len.min((PAGE - at % PAGE) as usize),
        })
    }

    /// Adds the memory at a device's address to these pieces, which are valid as long as this value
    /// is. `write`: whether it is to be written.
    pub(super) fn pieces(
        &mut self,
        mut at: u64,
        mut len: usize,
        write: bool,
        out: &mut Vec<Piece>,
    ) -> Result<(), Nowhere> {
        while len > 0 {
            let piece = self.piece(at, len, write)?;
            at = at.checked_add(piece.len as u64).ok_or(Nowhere)?;
            len -= piece.len;
            match out.last_mut() {
                Some(last) if last.at.wrapping_add(last.len) == piece.at => last.len += piece.len,
                _ => out.push(piece),
            }
        }
        Ok(())
    }

    /// Reads memory at a device's address. What was read is undefined if this fails.
    pub(super) fn read(&mut self, mut at: u64, mut out: &mut [u8]) -> Result<(), Nowhere> {
        while !out.is_empty() {
            let piece = self.piece(at, out.len(), false)?;
            let (now, rest) = out.split_at_mut(piece.len);
            piece.read(now);
            at = at.checked_add(piece.len as u64).ok_or(Nowhere)?;
            out = rest;
        }
        Ok(())
    }

    /// Writes memory at a device's address. A part may have been written if this fails.
    pub(super) fn write(&mut self, mut at: u64, mut from: &[u8]) -> Result<(), Nowhere> {
        while !from.is_empty() {
            let piece = self.piece(at, from.len(), true)?;
            let (now, rest) = from.split_at(piece.len);
            piece.write(now);
            at = at.checked_add(piece.len as u64).ok_or(Nowhere)?;
            from = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(4096))]
    struct Pages([u8; 3 * PAGE as usize]);

    /// A window in which pages 300 and 302 lead to the first and the third page, to be read and to
    /// be both.
    fn window(pages: &mut Pages) -> Window {
        let window = Window::default();
        let at = pages.0.as_mut_ptr() as u64;
        assert!(!window.map(300, at, DeviceAccess::Both), "a closed window");
        window.open();
        assert!(window.map(300, at, DeviceAccess::Read));
        assert!(window.map(302, at + 2 * PAGE, DeviceAccess::Both));
        assert!(!window.map(WINDOW_PAGES, at, DeviceAccess::Both));
        window
    }

    #[test]
    fn only_what_is_in_the_window_is_reached() {
        let mut pages = Pages([7; 3 * PAGE as usize]);
        let window = window(&mut pages);
        let mut bytes = [0; 16];
        let mut reach = window.reach();
        assert_eq!(reach.read(301 * PAGE - 16, &mut bytes), Ok(()));
        assert_eq!(bytes, [7; 16]);
        for at in [
            301 * PAGE - 15,
            300 * PAGE - 1,
            0,
            u64::MAX,
            u64::MAX - 20,
            u64::from(WINDOW_PAGES) * PAGE,
        ] {
            assert_eq!(reach.read(at, &mut bytes), Err(Nowhere), "{at:x}");
            assert_eq!(reach.pieces(at, 16, false, &mut Vec::new()), Err(Nowhere));
        }
        assert_eq!(reach.write(300 * PAGE, &bytes), Err(Nowhere));
        assert_eq!(reach.write(302 * PAGE, &[8; 16]), Ok(()));
        drop(reach);
        let refused = window.refused().map(|r| (r.page, r.write));
        assert_eq!(refused, Some((300 * PAGE, true)));
        assert!(window.refused().is_none());
        assert!(pages.0[..2 * PAGE as usize].iter().all(|b| *b == 7));
        assert_eq!(pages.0[2 * PAGE as usize..][..17], {
            let mut wanted = [8; 17];
            wanted[16] = 7;
            wanted
        });
    }

    #[test]
    fn what_was_taken_out_is_not_reached() {
        let mut pages = Pages([7; 3 * PAGE as usize]);
        let window = window(&mut pages);
        window.unmap(300..301);
        let mut bytes = [0; 1];
        assert_eq!(window.reach().read(300 * PAGE, &mut bytes), Err(Nowhere));
        assert_eq!(window.reach().read(302 * PAGE, &mut bytes), Ok(()));
        window.close();
        assert_eq!(window.reach().read(302 * PAGE, &mut bytes), Err(Nowhere));
        window.unmap(0..WINDOW_PAGES);
    }
}
