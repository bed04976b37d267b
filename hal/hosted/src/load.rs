//! The system image: read into memory of the process and sealed there.
//!
//! It is copied and not mapped from its file, so that a change of the file beneath a running system
//! cannot change verified contents.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The reason for which there is no image.
#[derive(Debug)]
pub(crate) enum Error {
    /// The file cannot be opened or read.
    Unreadable(PathBuf, io::Error),
    /// The file is no system image.
    NoImage(PathBuf),
}

impl Error {
    /// Whether the file could not even be read.
    pub(crate) fn unreadable(&self) -> bool {
        matches!(self, Self::Unreadable(..))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => {
                write!(
                    f,
                    "cannot read the system image {}: {error}",
                    path.display()
                )
            }
            Self::NoImage(path) => write!(
                f,
                "{} is not a system image (or one of another version); `sing image` builds one",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Error {}

/// Reads the image at `path`.
pub(crate) fn image(path: &Path) -> Result<&'static [u8], Error> {
    let unreadable = |error| Error::Unreadable(path.to_owned(), error);
    let mut file = File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if about.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    let magic = sing_image::system::MAGIC;
    let len = about.len() as usize;
    if !about.is_file() || len < magic.len() {
        return Err(Error::NoImage(path.to_owned()));
    }
    // SAFETY: a new mapping that overlaps no other.
    let memory = unsafe {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE)
    };
    let memory = memory.map_err(|errno| unreadable(errno.into()))?;
    // SAFETY: the mapping above, `len` bytes of zeros without another user.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), len) };
    file.read_exact(bytes).map_err(unreadable)?;
    // SAFETY: the mapping above, whose only writer has finished.
    unsafe { mprotect(memory, len, MprotectFlags::READ) }.map_err(|e| unreadable(e.into()))?;
    // SAFETY: the mapping above, which is never unmapped, nor ever written to again.
    let bytes: &'static [u8] = unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), len) };
    if !bytes.starts_with(magic) {
        return Err(Error::NoImage(path.to_owned()));
    }
    Ok(bytes)
}
