//! A disk image: an ordinary file of this machine, which one command at a time uses.

use sing_store::{BLOCK, Disk, DiskFault};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Opening does not wait for whoever is at the other end of a pipe.
const NONBLOCK: i32 = 0o4000;

/// An open image.
pub struct ImageFile {
    file: File,
    bytes: u64,
}

impl ImageFile {
    /// Opens an image.
    pub fn open(path: &Path, read_only: bool) -> Result<ImageFile, String> {
        let mut options = OpenOptions::new();
        options.read(true).write(!read_only).custom_flags(NONBLOCK);
        let file = options
            .open(path)
            .map_err(|e| format!("it cannot be opened: {e}"))?;
        let bytes = regular(&file)?;
        lock(&file, read_only)?;
        Ok(ImageFile { file, bytes })
    }

    /// Makes an image of this size; `force`: in the place of a file that is there.
    pub fn create(path: &Path, bytes: u64, force: bool) -> Result<ImageFile, String> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(NONBLOCK);
        if force {
            options.create(true).truncate(false);
        } else {
            options.create_new(true);
        }
        let file = options.open(path).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => {
                "it exists already; with --force, its contents are lost".into()
            }
            _ => format!("it cannot be made: {e}"),
        })?;
        regular(&file)?;
        lock(&file, false)?;
        file.set_len(bytes)
            .map_err(|e| format!("it cannot be made as large: {e}"))?;
        Ok(ImageFile { file, bytes })
    }
}

fn regular(file: &File) -> Result<u64, String> {
    let found = file
        .metadata()
        .map_err(|e| format!("it cannot be looked at: {e}"))?;
    if found.is_file() {
        Ok(found.len())
    } else {
        Err("it is not an ordinary file".into())
    }
}

fn lock(file: &File, shared: bool) -> Result<(), String> {
    let locked = if shared {
        file.try_lock_shared()
    } else {
        file.try_lock()
    };
    match locked {
        Err(TryLockError::WouldBlock) => Err("another command uses it; try again later".into()),
        // Some file systems know no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn fault(error: &io::Error) -> DiskFault {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => DiskFault::OutOfRange,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DiskFault::NoResources,
        _ => DiskFault::Medium,
    }
}

impl Disk for ImageFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskFault> {
        self.file
            .read_exact_at(buffer, offset)
            .map_err(|e| fault(&e))
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), DiskFault> {
        let end = offset.checked_add(data.len() as u64);
        if end.is_none_or(|end| end > self.bytes / BLOCK * BLOCK) {
            return Err(DiskFault::OutOfRange);
        }
        self.file.write_all_at(data, offset).map_err(|e| fault(&e))
    }

    fn flush(&mut self) -> Result<(), DiskFault> {
        self.file.sync_data().map_err(|e| fault(&e))
    }
}
