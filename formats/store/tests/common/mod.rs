//! Disks for tests.
#![allow(
    dead_code,
    missing_docs,
    reason = "each test program uses a part of it, and nobody else does"
)]

pub mod faulty;
pub mod model;
pub mod recorded;

use sing_store::{Disk, DiskFault, FormatOptions, MountOptions, Store};

/// A disk in memory.
#[derive(Clone)]
pub struct Ram(pub Vec<u8>);

impl Ram {
    pub fn new(bytes: usize) -> Ram {
        // What a disk holds before is anything.
        Ram(vec![0xA5; bytes])
    }

    fn range(&self, offset: u64, bytes: usize) -> Result<std::ops::Range<usize>, DiskFault> {
        assert!(
            offset.is_multiple_of(512) && bytes.is_multiple_of(512),
            "{offset} {bytes}"
        );
        let start = offset as usize;
        let end = start.checked_add(bytes).ok_or(DiskFault::OutOfRange)?;
        if end <= self.0.len() {
            Ok(start..end)
        } else {
            Err(DiskFault::OutOfRange)
        }
    }
}

impl Disk for Ram {
    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskFault> {
        let range = self.range(offset, buffer.len())?;
        buffer.copy_from_slice(&self.0[range]);
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), DiskFault> {
        let range = self.range(offset, data.len())?;
        self.0[range].copy_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DiskFault> {
        Ok(())
    }
}

pub fn options() -> FormatOptions {
    FormatOptions {
        label: "test".into(),
        uuid: *b"0123456789abcdef",
        now: 1,
    }
}

/// A new file system, mounted.
pub fn mounted(bytes: usize) -> Store<Ram> {
    let disk = Store::format(Ram::new(bytes), &options()).expect("format");
    Store::mount(disk, &MountOptions::default()).expect("mount")
}
