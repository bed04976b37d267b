//! The instructions of an image that can trap: a list in the form that it has in the file, in which a
//! place is looked up without reading the rest. An image has one for nearly every access to memory,
//! so that a kernel that starts leaves them where they are.
//!
//! Each is five bytes: the offset in the code (the least byte first), and the `Trap` code.

use alloc::borrow::Cow;
use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Bytes of an entry.
pub(super) const ENTRY: usize = 5;

/// Instructions that can trap: offset in the code and `Trap` code, sorted by offset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traps(Cow<'static, [u8]>);

/// An entry's parts.
pub(super) fn parts(entry: &[u8; ENTRY]) -> (u32, u8) {
    let [a, b, c, d, code] = *entry;
    (u32::from_le_bytes([a, b, c, d]), code)
}

impl Traps {
    /// Those of bytes that stay where they are.
    pub(super) fn in_place(bytes: &'static [u8]) -> Traps {
        Traps(Cow::Borrowed(bytes))
    }

    /// Makes room for so many bytes more.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), TryReserveError> {
        self.0.to_mut().try_reserve_exact(bytes)
    }

    /// Adds entries, for which there is room.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.0.to_mut().extend_from_slice(bytes);
    }

    fn entries(&self) -> &[[u8; ENTRY]] {
        self.0.as_chunks().0
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u8)> {
        self.entries().iter().map(parts)
    }

    /// The last one.
    #[must_use]
    pub fn last(&self) -> Option<(u32, u8)> {
        self.entries().last().map(parts)
    }

    /// The code of the one at this offset.
    #[must_use]
    pub fn at(&self, offset: u32) -> Option<u8> {
        let entries = self.entries();
        let found = entries.binary_search_by_key(&offset, |entry| parts(entry).0);
        found.ok().map(|i| parts(&entries[i]).1)
    }
}

impl FromIterator<(u32, u8)> for Traps {
    fn from_iter<I: IntoIterator<Item = (u32, u8)>>(all: I) -> Traps {
        let all = all.into_iter();
        let mut bytes = Vec::with_capacity(all.size_hint().0.saturating_mul(ENTRY));
        for (offset, code) in all {
            bytes.extend_from_slice(&offset.to_le_bytes());
            bytes.push(code);
        }
        Traps(Cow::Owned(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_at_its_offset() {
        let all = [(0, 1), (7, 2), (0x1234_5678, 3), (u32::MAX, 255)];
        let traps: Traps = all.into_iter().collect();
        assert_eq!(traps.len(), 4);
        assert!(traps.iter().eq(all));
        for (offset, code) in all {
            assert_eq!(traps.at(offset), Some(code));
        }
        assert_eq!((traps.at(1), traps.at(8)), (None, None));
        assert_eq!(traps.last(), Some((u32::MAX, 255)));
        assert_eq!(Traps::default().last(), None);
        assert_eq!(Traps::default().at(0), None);
    }
}
