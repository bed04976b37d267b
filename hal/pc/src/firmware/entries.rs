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

/// A device or bridge of segment 0 that a remapping unit serves, named by its place on a bus that
/// is not behind another bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whether it is a bridge, and all that is behind it is served.
    pub bridge: bool,
    /// Its bus.
    pub bus: u8,
    /// Device and function: 5 and 3 bits.
    pub number: u8,
}

/// The devices that units in a DMAR table name. Stops at the first invalid entry.
pub fn scopes(bytes: &[u8]) -> impl Iterator<Item = Scope> + '_ {
    named(bytes).filter_map(|named| {
        matches!(named.kind, 1 | 2).then_some(Scope {
            bridge: named.kind == 2,
            bus: named.bus,
            number: named.number,
        })
    })
}

/// The I/O APICs that units in a DMAR table name: the id of each, and the number by which it sends
/// interrupts (bus, device and function). Stops at the first invalid entry.
pub fn io_apic_sources(bytes: &[u8]) -> impl Iterator<Item = (u8, u16)> + '_ {
    named(bytes).filter_map(|named| {
        let source = u16::from_be_bytes([named.bus, named.number]);
        (named.kind == 3).then_some((named.id, source))
    })
}

/// What a unit names: its kind, its id if it is an interrupt controller, its place.
struct Named {
    kind: u8,
    id: u8,
    bus: u8,
    number: u8,
}

fn named(mut bytes: &[u8]) -> impl Iterator<Item = Named> + '_ {
    let mut within: &[u8] = &[];
    core::iter::from_fn(move || {
        loop {
            if let [kind, length, _, _, id, bus, ..] = *within {
                let length = usize::from(length);
                let scope = within.get(..length).filter(|s| s.len() >= 8)?;
                within = &within[length..];
                // A longer path leads through bridges.
                if let [device, function] = &scope[6..]
                    && *device < 32
                    && *function < 8
                {
                    return Some(Named {
                        kind,
                        id,
                        bus,
                        number: device << 3 | function,
                    });
                }
                continue;
            }
            let kind = u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?);
            let length = usize::from(u16::from_le_bytes(bytes.get(2..4)?.try_into().ok()?));
            let entry = bytes.get(..length).filter(|e| e.len() >= 4)?;
            bytes = &bytes[length..];
            if kind == 0 && entry.get(6..8) == Some(&[0, 0]) {
                within = entry.get(16..)?;
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
    fn devices_of_units_are_found() {
        let mut bytes = vec![0, 0, 16 + 8 + 8 + 10 + 8, 0, 0, 0, 0, 0];
        bytes.extend([0; 8]);
        // An interrupt controller, a device, one behind a bridge, and a bridge.
        bytes.extend([3, 8, 0, 0, 9, 0xff, 2, 1]);
        bytes.extend([1, 8, 0, 0, 0, 0, 31, 2]);
        bytes.extend([1, 10, 0, 0, 0, 0, 1, 0, 5, 0]);
        bytes.extend([2, 8, 0, 0, 0, 0, 28, 1]);
        // A unit of another segment, with a device.
        bytes.extend([0, 0, 24, 0, 0, 0, 1, 0]);
        bytes.extend([0; 8]);
        bytes.extend([1, 8, 0, 0, 0, 0, 3, 0]);
        let device = Scope {
            bridge: false,
            bus: 0,
            number: 31 << 3 | 2,
        };
        let bridge = Scope {
            bridge: true,
            bus: 0,
            number: 28 << 3 | 1,
        };
        assert!(scopes(&bytes).eq([device, bridge]));
        assert!(io_apic_sources(&bytes).eq([(9, 0xff11)]));
        for cut in 0..bytes.len() {
            assert!(scopes(&bytes[..cut]).count() <= 2);
        }
        assert_eq!(scopes(&[0; 64]).count(), 0);
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
