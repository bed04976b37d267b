//! What the loader says: memory, command line, system image; from PVH or multiboot2 alike.
//!
//! Everything but the system image is copied, so that the loader's memory can be used for something else.

use crate::firmware::root::{self, Root};
use crate::regions::Regions;
use core::ops::Range;

/// Entered by PVH (Xen's direct boot, QEMU's `-kernel`).
pub const PVH: u32 = 1;
/// Entered by multiboot2 (GRUB).
pub const MULTIBOOT2: u32 = 2;

/// Longest command line that is kept.
const LINE: usize = 4096;
/// Memory of this type is usable, to either loader.
const USABLE: u32 = 1;

/// What the loader said.
pub struct BootInfo {
    /// Usable memory, as reported.
    pub memory: Regions,
    /// The first module: the system image.
    pub module: Option<Range<u64>>,
    /// Where the firmware's tables are listed.
    pub root: Option<Root>,
    line: [u8; LINE],
    line_len: usize,
}

/// Why there is no boot information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The loader is neither of the two.
    UnknownLoader,
    /// Its information is not what its protocol promises.
    Malformed,
}

/// Reads physical memory: `len` bytes at an address, or `None` where that is not possible.
pub type Physical<'a> = &'a dyn Fn(u64, usize) -> Option<&'a [u8]>;

impl BootInfo {
    /// Reads what the loader left at `at`.
    pub fn read(protocol: u32, at: u64, physical: Physical) -> Result<BootInfo, Error> {
        let mut info = BootInfo {
            memory: Regions::new(),
            module: None,
            root: None,
            line: [0; LINE],
            line_len: 0,
        };
        match protocol {
            PVH => info.pvh(at, physical),
            MULTIBOOT2 => info.multiboot2(at, physical),
            _ => return Err(Error::UnknownLoader),
        }
        .ok_or(Error::Malformed)?;
        info.root = info.root.or_else(|| root::search(physical));
        Ok(info)
    }

    /// The command line.
    pub fn command_line(&self) -> &str {
        core::str::from_utf8(&self.line[..self.line_len]).unwrap_or("")
    }

    fn set_line(&mut self, at: u64, physical: Physical) {
        self.line_len = 0;
        while self.line_len < LINE {
            match physical(at + self.line_len as u64, 1) {
                Some([byte]) if *byte != 0 => self.line[self.line_len] = *byte,
                _ => break,
            }
            self.line_len += 1;
        }
    }

    fn add(&mut self, at: u64, len: u64) {
        if let Some(end) = at.checked_add(len) {
            self.memory.add(at..end);
        }
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
            self.set_line(line, physical);
        }
        self.root = physical(long(physical, at + 32)?, root::SIZE).and_then(root::read);
        let map = long(physical, at + 40)?;
        for i in 0..u64::from(word(physical, at + 48)?) {
            let entry = map + i * 24;
            if word(physical, entry + 16)? == USABLE {
                self.add(long(physical, entry)?, long(physical, entry + 8)?);
            }
        }
        Some(())
    }

    fn multiboot2(&mut self, at: u64, physical: Physical) -> Option<()> {
        let end = at + u64::from(word(physical, at)?);
        let mut tag = at + 8;
        while tag < end {
            let size = u64::from(word(physical, tag + 4)?);
            match word(physical, tag)? {
                0 => break,
                1 => self.set_line(tag + 8, physical),
                3 if self.module.is_none() => {
                    let start = u64::from(word(physical, tag + 8)?);
                    self.module = Some(start..u64::from(word(physical, tag + 12)?));
                }
                6 => {
                    let step = u64::from(word(physical, tag + 8)?).max(24);
                    let mut entry = tag + 16;
                    while entry + 24 <= tag + size {
                        if word(physical, entry + 16)? == USABLE {
                            self.add(long(physical, entry)?, long(physical, entry + 8)?);
                        }
                        entry += step;
                    }
                }
                // Copies of the root pointer, of its first version and of the later one, which is better.
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
        m[200] = 2; // reserved
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
        assert_eq!(info.command_line(), "a \"b\"");
        assert_eq!(info.module, Some(0x7000..0x7123));
        assert!(info.memory.iter().eq(core::iter::once(0..0x10_0000)));
    }

    #[test]
    fn reads_multiboot2() {
        let info = read(MULTIBOOT2, &multiboot2()).ok().unwrap();
        assert_eq!(info.command_line(), "hi");
        assert_eq!(info.module, Some(0x5000..0x6001));
        assert!(info.memory.iter().eq(core::iter::once(0x1000..0x3000)));
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
        // Tags of size 0 must not hold the reader up.
        let mut endless = vec![0; 64];
        endless[0] = 64;
        endless[8] = 9;
        assert!(read(MULTIBOOT2, &endless).is_ok());
    }
}
