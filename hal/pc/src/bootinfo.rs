//! The loader's information: memory, command line, system image; the same data from PVH and
//! multiboot2.
//!
//! Everything but the system image is copied, so that the loader's memory can be reused.

use crate::firmware::root::{self, Root};
use crate::regions::{REACH, Regions};
use core::ops::Range;

/// Entered by PVH (Xen's direct boot, QEMU's `-kernel`).
pub const PVH: u32 = 1;
/// Entered by multiboot2 (GRUB).
pub const MULTIBOOT2: u32 = 2;

/// Longest command line.
pub const LINE: usize = 4096;
/// Memory of this type is usable, to either loader.
const USABLE: u32 = 1;

/// The loader's information.
pub struct BootInfo {
    /// Usable memory, as reported, below [`REACH`].
    pub memory: Regions,
    /// Bytes of usable memory beyond that.
    pub beyond: u64,
    /// The first module: the system image.
    pub module: Option<Range<u64>>,
    /// The list of the firmware's tables.
    pub root: Option<Root>,
    line: [u8; LINE],
    /// Its length, where it fits.
    line_len: Option<usize>,
}

/// Why there is no command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineError {
    /// It is longer than [`LINE`].
    TooLong,
    /// It is no UTF-8.
    NotText,
}

/// Why there is no boot information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The loader is neither of the two.
    UnknownLoader,
    /// Its information is not what its protocol promises.
    Malformed,
    /// The system image lies beyond [`REACH`].
    ImageBeyond,
}

/// Reads physical memory: `len` bytes at an address, or `None` if that is not possible.
pub type Physical<'a> = &'a dyn Fn(u64, usize) -> Option<&'a [u8]>;

impl BootInfo {
    /// Reads the information at physical address `at`.
    pub fn read(protocol: u32, at: u64, physical: Physical) -> Result<BootInfo, Error> {
        let mut info = BootInfo {
            memory: Regions::new(),
            beyond: 0,
            module: None,
            root: None,
            line: [0; LINE],
            line_len: Some(0),
        };
        match protocol {
            PVH => info.pvh(at, physical),
            MULTIBOOT2 => info.multiboot2(at, physical),
            _ => return Err(Error::UnknownLoader),
        }
        .ok_or(Error::Malformed)?;
        info.beyond = info.memory.cut(REACH);
        if info.module.as_ref().is_some_and(|m| m.end > REACH) {
            return Err(Error::ImageBeyond);
        }
        info.root = info.root.or_else(|| root::search(physical));
        Ok(info)
    }

    /// The command line, whole.
    pub fn command_line(&self) -> Result<&str, LineError> {
        let len = self.line_len.ok_or(LineError::TooLong)?;
        core::str::from_utf8(&self.line[..len]).map_err(|_| LineError::NotText)
    }

    /// Takes over a line that ends with a zero byte.
    fn set_line(&mut self, at: u64, physical: Physical) -> Option<()> {
        self.line_len = None;
        for len in 0..=LINE {
            let &[byte] = physical(at.checked_add(len as u64)?, 1)? else {
                return None;
            };
            if byte == 0 {
                self.line_len = Some(len);
                break;
            }
            if let Some(place) = self.line.get_mut(len) {
                *place = byte;
            }
        }
        Some(())
    }

    /// Takes over a memory map of entries at these addresses, which may overlap: what any entry of
    /// another type names is not usable.
    fn map(
        &mut self,
        entries: impl Iterator<Item = u64> + Clone,
        physical: Physical,
    ) -> Option<()> {
        for usable in [true, false] {
            for entry in entries.clone() {
                if (word(physical, entry.checked_add(16)?)? == USABLE) != usable {
                    continue;
                }
                let (at, len) = (long(physical, entry)?, long(physical, entry + 8)?);
                match at.checked_add(len) {
                    Some(end) if usable => self.memory.add(at..end),
                    end if !usable => self.memory.subtract(at..end.unwrap_or(u64::MAX)),
                    _ => {}
                }
            }
        }
        Some(())
    }

    fn pvh(&mut self, at: u64, physical: Physical) -> Option<()> {
        if word(physical, at)? != 0x336e_c578 {
            return None;
        }
        if word(physical, at + 12)? > 0 {
            let module = long(physical, at + 16)?;
            let start = long(physical, module)?;
            self.module = Some(start..start.checked_add(long(physical, module + 8)?)?);
        }
        let line = long(physical, at + 24)?;
        if line != 0 {
            self.set_line(line, physical)?;
        }
        self.root = physical(long(physical, at + 32)?, root::SIZE).and_then(root::read);
        let map = long(physical, at + 40)?;
        let count = u64::from(word(physical, at + 48)?);
        let end = map.checked_add(count * 24)?;
        self.map((map..end).step_by(24), physical)
    }

    fn multiboot2(&mut self, at: u64, physical: Physical) -> Option<()> {
        let end = at + u64::from(word(physical, at)?);
        let mut tag = at + 8;
        let mut mapped = false;
        while tag < end {
            let size = u64::from(word(physical, tag + 4)?);
            match word(physical, tag)? {
                0 => break,
                1 => self.set_line(tag + 8, physical)?,
                3 if self.module.is_none() => {
                    let start = u64::from(word(physical, tag + 8)?);
                    self.module = Some(start..u64::from(word(physical, tag + 12)?));
                }
                6 if !mapped => {
                    mapped = true;
                    let step = u64::from(word(physical, tag + 8)?).max(24);
                    let last = (tag + size).saturating_sub(24);
                    self.map((tag + 16..=last).step_by(step as usize), physical)?;
                }
                // Copies of the root pointer, in its first version and in the later one, which is
                // preferred.
                kind @ (14 | 15) if size > 8 && (kind == 15 || self.root.is_none()) => {
                    let copy = physical(tag + 8, (size - 8).min(root::SIZE as u64) as usize)?;
                    self.root = root::read(copy).or(self.root);
                }
                _ => {}
            }
            tag += size.max(8).next_multiple_of(8);
        }
        Some(())
    }
}

fn word(physical: Physical, at: u64) -> Option<u32> {
    Some(u32::from_le_bytes(physical(at, 4)?.try_into().ok()?))
}

fn long(physical: Physical, at: u64) -> Option<u64> {
    Some(u64::from_le_bytes(physical(at, 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(protocol: u32, memory: &[u8]) -> Result<BootInfo, Error> {
        let physical = |at: u64, len: usize| memory.get(at as usize..)?.get(..len);
        BootInfo::read(protocol, 0, &physical)
    }

    fn pvh() -> Vec<u8> {
        let mut m = vec![0; 256];
        m[0..4].copy_from_slice(&0x336e_c578u32.to_le_bytes());
        m[12] = 1; // one module, described at 64
        m[16] = 64;
        m[24] = 128; // command line
        m[40] = 160; // memory map of two entries
        m[48] = 2;
        m[64..72].copy_from_slice(&0x7000u64.to_le_bytes());
        m[72..80].copy_from_slice(&0x123u64.to_le_bytes());
        m[128..133].copy_from_slice(b"a \"b\"");
        m[168..176].copy_from_slice(&0x10_0000u64.to_le_bytes());
        m[176] = 1;
        m[184..192].copy_from_slice(&0x8000u64.to_le_bytes());
        m[192..200].copy_from_slice(&0x8000u64.to_le_bytes());
        m[200] = 2; // reserved, in the midst of it
        m
    }

    /// The same with this command line.
    fn pvh_with(line: &[u8]) -> Vec<u8> {
        let mut m = pvh();
        let at = m.len() as u16;
        m[24..26].copy_from_slice(&at.to_le_bytes());
        m.extend(line);
        m.push(0);
        m
    }

    fn multiboot2() -> Vec<u8> {
        let mut m: Vec<u8> = Vec::new();
        let mut words = |w: &[u32]| w.iter().for_each(|w| m.extend(w.to_le_bytes()));
        words(&[0, 0]);
        words(&[1, 11, u32::from_le_bytes(*b"hi\0\0"), 0]); // 11 bytes, padded to 16
        words(&[3, 17, 0x5000, 0x6001, 0, 0]);
        words(&[6, 40, 24, 0, 0x1000, 0, 0x2000, 0, 1, 0]);
        words(&[0, 8]);
        let len = m.len() as u32;
        m[0..4].copy_from_slice(&len.to_le_bytes());
        m
    }

    #[test]
    fn reads_pvh() {
        let info = read(PVH, &pvh()).ok().unwrap();
        assert_eq!(info.command_line(), Ok("a \"b\""));
        assert_eq!(info.module, Some(0x7000..0x7123));
        assert!(info.memory.iter().eq([0..0x8000, 0x1_0000..0x10_0000]));
    }

    #[test]
    fn reads_multiboot2() {
        let info = read(MULTIBOOT2, &multiboot2()).ok().unwrap();
        assert_eq!(info.command_line(), Ok("hi"));
        assert_eq!(info.module, Some(0x5000..0x6001));
        assert!(info.memory.iter().eq(core::iter::once(0x1000..0x3000)));
    }

    #[test]
    fn memory_that_any_entry_reserves_is_not_usable() {
        const MIB: u64 = 1 << 20;
        let maps = |entries: &[(u64, u64, u32)]| {
            let mut pvh = pvh();
            pvh.truncate(160);
            pvh[48] = entries.len() as u8;
            let mut multiboot2: Vec<u8> = Vec::new();
            let size = 16 + 24 * entries.len() as u32;
            let words = [0, 0, 6, size, 24, 0];
            words
                .iter()
                .for_each(|w: &u32| multiboot2.extend(w.to_le_bytes()));
            for (start, len, kind) in entries {
                let entry = [
                    start.to_le_bytes(),
                    len.to_le_bytes(),
                    u64::from(*kind).to_le_bytes(),
                ];
                pvh.extend(entry.as_flattened());
                multiboot2.extend(entry.as_flattened());
            }
            multiboot2.extend([0, 8].map(u32::to_le_bytes).as_flattened());
            let len = multiboot2.len() as u32;
            multiboot2[0..4].copy_from_slice(&len.to_le_bytes());
            [(PVH, pvh), (MULTIBOOT2, multiboot2)].map(|(protocol, memory)| {
                let info = read(protocol, &memory).ok().unwrap();
                info.memory
                    .iter()
                    .map(|r| (r.start, r.end))
                    .collect::<Vec<_>>()
            })
        };
        let usable = (MIB, 4095 * MIB, USABLE);
        // In either order, and of every other type, a part of a page included.
        for kind in [0, 2, 3, 4, 5, 7, 12, u32::MAX] {
            let reserved = (3072 * MIB, 1024 * MIB, kind);
            for map in [[usable, reserved], [reserved, usable]] {
                for found in maps(&map) {
                    assert_eq!(found, [(MIB, 3072 * MIB)], "type {kind}");
                }
            }
        }
        let holes = [
            (8 * MIB, 4 * MIB, 2),
            usable,
            (10 * MIB, 4 * MIB, 4),
            (20 * MIB + 100, 1, 5),
            (0, 2 * MIB, 2),
            (4096 * MIB - 1, u64::MAX, 2),
            (30 * MIB, 0, 2),
        ];
        for found in maps(&holes) {
            let expected = [
                (2 * MIB, 8 * MIB),
                (14 * MIB, 20 * MIB + 100),
                (20 * MIB + 101, 4096 * MIB - 1),
            ];
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_command_line_is_taken_whole_or_not_at_all() {
        let long = vec![b'a'; LINE];
        let info = read(PVH, &pvh_with(&long)).ok().unwrap();
        assert_eq!(info.command_line().map(str::len), Ok(LINE));
        let info = read(PVH, &pvh_with(&[b'a'; LINE + 1])).ok().unwrap();
        assert_eq!(info.command_line(), Err(LineError::TooLong));
        // A character across the end.
        let wide = [&long[1..], "\u{e9}".as_bytes()].concat();
        let info = read(PVH, &pvh_with(&wide)).ok().unwrap();
        assert_eq!(info.command_line(), Err(LineError::TooLong));
        let info = read(PVH, &pvh_with(b"-- caf\xe9")).ok().unwrap();
        assert_eq!(info.command_line(), Err(LineError::NotText));
        let info = read(PVH, &pvh_with("-- caf\u{e9}".as_bytes()))
            .ok()
            .unwrap();
        assert_eq!(info.command_line(), Ok("-- caf\u{e9}"));
        // One that does not end where memory does.
        let mut cut = pvh_with(b"--");
        cut.pop();
        assert_eq!(read(PVH, &cut).err(), Some(Error::Malformed));
    }

    #[test]
    fn memory_beyond_reach_is_cut_and_counted() {
        let with = |start: u64, len: u64| {
            let mut m = pvh();
            m[184..192].copy_from_slice(&start.to_le_bytes());
            m[192..200].copy_from_slice(&len.to_le_bytes());
            m[200] = 1;
            read(PVH, &m).ok().unwrap()
        };
        let low = 0x10_0000;
        let info = with(1 << 46, 1 << 30);
        assert_eq!((info.memory.bytes(), info.beyond), (low, 1 << 30));
        let info = with(REACH - 0x1000, 0x3000);
        assert_eq!((info.memory.bytes(), info.beyond), (low + 0x1000, 0x2000));
        let info = with(u64::MAX - 10, 10);
        assert_eq!((info.memory.bytes(), info.beyond), (low, 10));
        let mut image = pvh();
        image[64..72].copy_from_slice(&REACH.to_le_bytes());
        assert_eq!(read(PVH, &image).err(), Some(Error::ImageBeyond));
    }

    #[test]
    fn refuses_what_is_not_boot_information() {
        assert_eq!(read(0, &pvh()).err(), Some(Error::UnknownLoader));
        assert_eq!(read(PVH, &[0; 256]).err(), Some(Error::Malformed));
        for (protocol, memory) in [(PVH, pvh()), (MULTIBOOT2, multiboot2())] {
            for cut in 0..memory.len() {
                let _ = read(protocol, &memory[..cut]);
            }
        }
        // Tags of size 0 must not keep the reader in a loop.
        let mut endless = vec![0; 64];
        endless[0] = 64;
        endless[8] = 9;
        assert!(read(MULTIBOOT2, &endless).is_ok());
    }
}
