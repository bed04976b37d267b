//! Why there is no disk of a file of the host: the file, the reason, the way out.

use super::disk::SECTOR;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The reason for which there is no disk of a file.
#[derive(Debug)]
pub struct DiskError {
    pub(super) path: PathBuf,
    pub(super) reason: Reason,
}

#[derive(Debug)]
pub(super) enum Reason {
    Open(io::Error),
    NoDisk,
    Size(u64),
    InUse,
    Thread(io::Error),
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "disk {}: ", self.path.display())?;
        match &self.reason {
            Reason::Open(error) => error.fmt(f),
            Reason::NoDisk => f.write_str("neither a file nor a block device"),
            Reason::Size(bytes) => write!(
                f,
                "its {bytes} bytes are no whole sectors of {SECTOR} bytes; `truncate -s 64M` makes a disk"
            ),
            Reason::InUse => f.write_str(
                "another system uses it, or this one twice; end that, or give each its own file",
            ),
            Reason::Thread(error) => write!(f, "no thread for it: {error}"),
        }
    }
}

impl std::error::Error for DiskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::Open(error) | Reason::Thread(error) => Some(error),
            _ => None,
        }
    }
}
