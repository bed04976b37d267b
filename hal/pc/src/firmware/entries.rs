//! Lists of entries with their own lengths, as in the tables MADT and DMAR.

/// Whether entries (a kind of one byte, a length of one byte) fill the bytes exactly, so that
/// following the lengths stays inside and ends; `size` is the least length of each kind.
pub fn are_whole(mut bytes: &[u8], size: impl Fn(u8) -> usize) -> bool {
    while let [kind, length, ..] = *bytes {
        let length = usize::from(length);
        if length < size(kind).max(2) || length > bytes.len() {
            return false;
        }
        bytes = &bytes[length..];
    }
    bytes.is_empty()
}

/// A DMA remapping unit (IOMMU).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemappingUnit {
    /// Physical address of its registers.
    pub registers: u64,
    /// The PCI segment whose devices it serves.
    pub segment: u16,
    /// Whether it serves all devices that no other unit names.
    pub all: bool,
}

/// The units among the entries of a DMAR table; each entry has a kind and a length of 16 bits.
/// Stops at the first invalid entry.
pub fn remapping_units(mut bytes: &[u8]) -> impl Iterator<Item = RemappingUnit> + '_ {
    core::iter::from_fn(move || {
        loop {
            let kind = u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?);
            let length = usize::from(u16::from_le_bytes(bytes.get(2..4)?.try_into().ok()?));
            let entry = bytes.get(..length).filter(|e| e.len() >= 4)?;
            bytes = &bytes[length..];
            if kind == 0 {
                return Some(RemappingUnit {
                    all: entry.get(4)? & 1 != 0,
                    segment: u16::from_le_bytes(entry.get(6..8)?.try_into().ok()?),
                    registers: u64::from_le_bytes(entry.get(8..16)?.try_into().ok()?),
                });
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_fill_their_table() {
        let size = |kind| if kind == 0 { 8 } else { 2 };
        assert!(are_whole(&[], size));
        assert!(are_whole(&[0, 8, 0, 0, 1, 0, 0, 0, 9, 3, 0], size));
        for bad in [
            &[0][..],
            &[0, 0],
            &[9, 1],
            &[9, 4, 0],
            &[0, 7, 0, 0, 0, 0, 0],
        ] {
            assert!(!are_whole(bad, size), "{bad:?}");
        }
    }

    #[test]
    fn units_are_found_between_other_entries() {
        let mut bytes = vec![1, 0, 6, 0, 0, 0];
        bytes.extend([0, 0, 16, 0, 1, 0, 2, 0]);
        bytes.extend(0xfed9_0000u64.to_le_bytes());
        let unit = RemappingUnit {
            registers: 0xfed9_0000,
            segment: 2,
            all: true,
        };
        assert!(remapping_units(&bytes).eq([unit]));
        for cut in 0..bytes.len() {
            assert_eq!(remapping_units(&bytes[..cut]).count(), 0);
        }
        assert_eq!(remapping_units(&[0; 64]).count(), 0);
    }
}
