//! A checked window on a SIP's linear memory.
//!
//! Invariants:
//! - Every access is tested against the window's length with 64-bit arithmetic, so that no offset
//!   wraps.
//! - No Rust reference to a SIP's memory is ever made: its own threads may change it at any time.
//!   The kernel copies a value out before it checks it, and decides on the copy.

use crate::Trap;
use alloc::vec::Vec;
use core::ptr;

/// A window on a SIP's linear memory, from byte 0.
///
/// An access outside it is [`Trap::MemoryOutOfBounds`]; nothing is copied then.
///
/// The window is neither `Send` nor `Sync`, so that it stays with the thread that made it. A SIP's
/// memory is freed when none of its threads runs any more, and so outlives every window that they
/// have:
///
/// ```compile_fail,E0277
/// # fn keep(window: sing_runtime::SipMemory) {
/// fn send<T: Send>(_: T) {}
/// send(window); // cannot be sent between threads
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SipMemory {
    base: *mut u8,
    len: u64,
}

macro_rules! scalars {
    ($($read:ident $write:ident $t:ty;)*) => {$(
        /// Reads a scalar, little-endian, at any alignment.
        ///
        /// # Errors
        /// [`Trap::MemoryOutOfBounds`].
        #[inline]
        pub fn $read(&self, at: u32) -> Result<$t, Trap> {
            let p = self.check(at, size_of::<$t>() as u64)?.cast::<$t>();
            // SAFETY: `check` has tested that the bytes lie inside the window.
            Ok(unsafe { p.read_unaligned() })
        }

        /// Writes a scalar, little-endian, at any alignment.
        ///
        /// # Errors
        /// [`Trap::MemoryOutOfBounds`].
        #[inline]
        pub fn $write(&self, at: u32, value: $t) -> Result<(), Trap> {
            let p = self.check(at, size_of::<$t>() as u64)?.cast::<$t>();
            // SAFETY: `check` has tested that the bytes lie inside the window.
            unsafe { p.write_unaligned(value) };
            Ok(())
        }
    )*};
}

impl SipMemory {
    /// A window on `len` bytes at `base`.
    ///
    /// # Safety
    /// While the window is used, `base .. base + len` is a SIP's linear memory: readable and
    /// writable (or made so when it is touched), and no Rust reference to it exists.
    #[inline]
    #[must_use]
    pub unsafe fn new(base: u64, len: u64) -> SipMemory {
        SipMemory {
            base: base as *mut u8,
            len,
        }
    }

    /// Returns the address of byte 0.
    #[inline]
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base as u64
    }

    /// Returns the length of the window in bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the window has no bytes.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address of `at`, if `len` bytes from there lie in the window.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`].
    #[inline]
    fn check(&self, at: u32, len: u64) -> Result<*mut u8, Trap> {
        match u64::from(at).checked_add(len) {
            Some(end) if end <= self.len => Ok(self.base.wrapping_add(at as usize)),
            _ => Err(Trap::MemoryOutOfBounds),
        }
    }

    scalars! {
        read_u8 write_u8 u8;
        read_u16 write_u16 u16;
        read_u32 write_u32 u32;
        read_u64 write_u64 u64;
    }

    /// Writes words one after the other, little-endian, at any alignment.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`].
    #[inline]
    pub fn write_words(&self, at: u32, words: &[u64]) -> Result<(), Trap> {
        let p = self.check(at, (words.len() * 8) as u64)?.cast::<u64>();
        for (i, w) in words.iter().enumerate() {
            // SAFETY: `check` has tested room for all of `words` from `p` on.
            unsafe { p.wrapping_add(i).write_unaligned(*w) };
        }
        Ok(())
    }

    /// Reads words one after the other, little-endian, at any alignment.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`].
    #[inline]
    pub fn read_words(&self, at: u32, words: &mut [u64]) -> Result<(), Trap> {
        let p = self.check(at, (words.len() * 8) as u64)?.cast::<u64>();
        for (i, w) in words.iter_mut().enumerate() {
            // SAFETY: `check` has tested that all of `words` lies in the window from `p` on.
            *w = unsafe { p.wrapping_add(i).read_unaligned() };
        }
        Ok(())
    }

    /// Copies bytes out of the memory.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`].
    #[inline]
    pub fn read(&self, at: u32, out: &mut [u8]) -> Result<(), Trap> {
        let p = self.check(at, out.len() as u64)?;
        // SAFETY: the source lies in the window; `out` is a Rust buffer, which no window overlaps.
        unsafe { ptr::copy_nonoverlapping(p, out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    /// Copies bytes into the memory.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`].
    #[inline]
    pub fn write(&self, at: u32, bytes: &[u8]) -> Result<(), Trap> {
        let p = self.check(at, bytes.len() as u64)?;
        // SAFETY: the destination lies in the window; `bytes` is a Rust buffer, which no window
        // overlaps.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), p, bytes.len()) };
        Ok(())
    }

    /// Returns a copy of `len` bytes; [`Trap::BadArgument`] if `len` exceeds `max`, so that no SIP
    /// can make the kernel allocate without bounds.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`], [`Trap::BadArgument`], or [`Trap::OutOfMemory`] if the kernel
    /// has no room.
    pub fn read_vec(&self, at: u32, len: u32, max: usize) -> Result<Vec<u8>, Trap> {
        self.check(at, u64::from(len))?;
        let len = len as usize;
        if len > max {
            return Err(Trap::BadArgument);
        }
        let mut out = Vec::new();
        out.try_reserve_exact(len).map_err(|_| Trap::OutOfMemory)?;
        #[expect(clippy::disallowed_methods, reason = "there is room")]
        out.resize(len, 0);
        self.read(at, &mut out)?;
        Ok(out)
    }

    /// `memory.copy`: the ranges may overlap.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`].
    #[inline]
    pub fn copy_within(&self, destination: u32, source: u32, len: u32) -> Result<(), Trap> {
        let from = self.check(source, u64::from(len))?;
        let to = self.check(destination, u64::from(len))?;
        // SAFETY: both ranges lie in the window; `copy` allows them to overlap.
        unsafe { ptr::copy(from, to, len as usize) };
        Ok(())
    }

    /// Copies `len` bytes from another window; they may overlap.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`], for either window.
    #[inline]
    pub fn copy_from(&self, at: u32, from: &SipMemory, source: u32, len: u32) -> Result<(), Trap> {
        let source = from.check(source, u64::from(len))?;
        let p = self.check(at, u64::from(len))?;
        // SAFETY: each range lies in its window; `copy` allows them to overlap.
        unsafe { ptr::copy(source, p, len as usize) };
        Ok(())
    }

    /// `memory.fill`: sets `len` bytes to `value`.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`].
    #[inline]
    pub fn fill(&self, at: u32, value: u8, len: u32) -> Result<(), Trap> {
        let p = self.check(at, u64::from(len))?;
        // SAFETY: the range lies in the window.
        unsafe { ptr::write_bytes(p, value, len as usize) };
        Ok(())
    }

    /// `memory.init`: copies `segment[source .. source + len]` into the memory.
    ///
    /// # Errors
    /// [`Trap::MemoryOutOfBounds`], for the segment as for the memory.
    #[inline]
    pub fn init(
        &self,
        segment: &[u8],
        destination: u32,
        source: u32,
        len: u32,
    ) -> Result<(), Trap> {
        let from = source as usize;
        let bytes = from
            .checked_add(len as usize)
            .and_then(|to| segment.get(from..to));
        self.write(destination, bytes.ok_or(Trap::MemoryOutOfBounds)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn window(bytes: &mut Vec<u8>) -> SipMemory {
        // SAFETY: the vector outlives the window in each test, which touches it only through the
        // window.
        unsafe { SipMemory::new(bytes.as_mut_ptr() as u64, bytes.len() as u64) }
    }

    #[test]
    fn accesses_end_at_the_length() {
        let mut bytes = vec![0; 64];
        let m = window(&mut bytes);
        assert_eq!(m.write_u64(56, 7), Ok(()));
        assert_eq!(m.write_u64(57, 7), Err(Trap::MemoryOutOfBounds));
        assert_eq!(m.read_u64(56), Ok(7));
        assert_eq!(m.read_u32(61), Err(Trap::MemoryOutOfBounds));
        assert_eq!(m.read_u8(u32::MAX), Err(Trap::MemoryOutOfBounds));
        assert_eq!(
            m.write(64, &[]),
            Ok(()),
            "nothing at the very end is inside"
        );
        assert_eq!(m.write(65, &[]), Err(Trap::MemoryOutOfBounds));
        assert_eq!(m.fill(60, 1, u32::MAX), Err(Trap::MemoryOutOfBounds));
        assert_eq!(m.write_words(48, &[1, 2]), Ok(()));
        assert_eq!(m.write_words(48, &[3, 4, 5]), Err(Trap::MemoryOutOfBounds));
        let mut words = [0; 2];
        assert_eq!(m.read_words(48, &mut words), Ok(()));
        assert_eq!(words, [1, 2], "a refused write has written nothing");
    }

    #[test]
    fn copies_overlap_either_way() {
        let mut bytes: Vec<u8> = (0..32).collect();
        let m = window(&mut bytes);
        m.copy_within(4, 0, 8).unwrap();
        let mut out = [0; 8];
        m.read(4, &mut out).unwrap();
        assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7]);
        m.copy_within(0, 4, 8).unwrap();
        m.read(0, &mut out).unwrap();
        assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(m.copy_within(0, 25, 8), Err(Trap::MemoryOutOfBounds));
        assert_eq!(m.copy_within(25, 0, 8), Err(Trap::MemoryOutOfBounds));
    }

    #[test]
    fn init_checks_the_segment_too() {
        let mut bytes = vec![0; 16];
        let m = window(&mut bytes);
        assert_eq!(m.init(b"abc", 0, 1, 2), Ok(()));
        assert_eq!(m.read_u16(0), Ok(u16::from_le_bytes(*b"bc")));
        assert_eq!(m.init(b"abc", 0, 1, 3), Err(Trap::MemoryOutOfBounds));
        assert_eq!(m.init(b"", 0, 0, 0), Ok(()));
        assert_eq!(m.init(b"", 0, 1, 0), Err(Trap::MemoryOutOfBounds));
        assert_eq!(m.init(b"abc", 15, 0, 3), Err(Trap::MemoryOutOfBounds));
        assert_eq!(
            m.init(b"abc", 0, u32::MAX, u32::MAX),
            Err(Trap::MemoryOutOfBounds)
        );
    }

    #[test]
    fn vectors_are_bounded() {
        let mut bytes = vec![9; 16];
        let m = window(&mut bytes);
        assert_eq!(m.read_vec(0, 16, 16), Ok(vec![9; 16]));
        assert_eq!(m.read_vec(0, 16, 15), Err(Trap::BadArgument));
        assert_eq!(
            m.read_vec(0, u32::MAX, usize::MAX),
            Err(Trap::MemoryOutOfBounds)
        );
    }
}
