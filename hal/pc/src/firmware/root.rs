//! The root pointer (RSDP), which leads to the list of all tables.

use crate::bootinfo::Physical;

/// Bytes of the structure since ACPI 2.0.
pub const SIZE: usize = 36;
/// Bytes of its first version, which the first checksum covers.
const SIZE_OF_FIRST: usize = 20;
/// Where a PC's BIOS puts the structure, on a multiple of 16.
const BIOS: core::ops::Range<u64> = 0xe_0000..0x10_0000;

/// The list of all tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Physical address of the table that lists the others.
    pub address: u64,
    /// Whether its entries have 64 bits (XSDT) or 32 (RSDT).
    pub wide: bool,
}

/// Reads a root pointer; `None` if the bytes are not valid, or name no list.
pub fn read(bytes: &[u8]) -> Option<Root> {
    let sum = |size: usize| -> Option<u8> {
        Some(
            bytes
                .get(..size)?
                .iter()
                .fold(0, |s: u8, b| s.wrapping_add(*b)),
        )
    };
    if bytes.get(..8)? != b"RSD PTR " || sum(SIZE_OF_FIRST)? != 0 {
        return None;
    }
    if bytes[15] >= 2 && sum(SIZE) == Some(0) {
        let address = u64::from_le_bytes(bytes.get(24..32)?.try_into().ok()?);
        if address != 0 {
            return Some(Root {
                address,
                wide: true,
            });
        }
    }
    let address = u64::from(u32::from_le_bytes(bytes.get(16..20)?.try_into().ok()?));
    (address != 0).then_some(Root {
        address,
        wide: false,
    })
}

/// Searches for a root pointer where a BIOS puts it, for loaders that do not pass it.
pub fn search(physical: Physical) -> Option<Root> {
    BIOS.step_by(16).find_map(|at| {
        if physical(at, 8)? != b"RSD PTR " {
            return None;
        }
        read(physical(at, SIZE).or_else(|| physical(at, SIZE_OF_FIRST))?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(revision: u8, list: u32, wide: u64) -> Vec<u8> {
        let mut bytes = b"RSD PTR \0BOCHS ".to_vec();
        bytes.push(revision);
        bytes.extend(list.to_le_bytes());
        bytes[8] = bytes.iter().fold(0u8, |s, b| s.wrapping_sub(*b));
        bytes.extend(36u32.to_le_bytes());
        bytes.extend(wide.to_le_bytes());
        let rest = bytes.iter().fold(0u8, |s, b| s.wrapping_sub(*b));
        bytes.extend([rest, 0, 0, 0]);
        bytes
    }

    #[test]
    fn both_versions_are_read() {
        let first = Root {
            address: 0x1234,
            wide: false,
        };
        assert_eq!(read(&pointer(0, 0x1234, 0)[..20]), Some(first));
        assert_eq!(read(&pointer(2, 0x1234, 0)), Some(first));
        let second = Root {
            address: 0x1_0000_0000,
            wide: true,
        };
        assert_eq!(read(&pointer(2, 0x1234, 0x1_0000_0000)), Some(second));
        // If it is cut short or damaged in its second half, the first half still counts.
        assert_eq!(read(&pointer(2, 0x1234, 0x1_0000_0000)[..30]), Some(first));
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        let good = pointer(2, 0x1234, 0x5678);
        for at in 0..20 {
            let mut bad = good.clone();
            bad[at] ^= 0x40;
            assert_eq!(read(&bad), None, "byte {at}");
        }
        for cut in 0..20 {
            assert_eq!(read(&good[..cut]), None);
        }
        assert_eq!(read(&pointer(0, 0, 0)), None);
    }

    #[test]
    fn a_bios_is_searched() {
        let mut memory = vec![0; 0x10_0000];
        memory[0xf_5a40..][..36].copy_from_slice(&pointer(0, 0x7fe_0000, 0));
        let found =
            |memory: &[u8]| search(&|at: u64, len: usize| memory.get(at as usize..)?.get(..len));
        assert_eq!(found(&memory).map(|r| r.address), Some(0x7fe_0000));
        memory[0xf_5a40] = 0;
        assert_eq!(found(&memory), None);
        assert_eq!(found(&[]), None);
    }
}
