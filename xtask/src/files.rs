//! Files that others may read while they are made, and that several commands make at a time.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Writes a file.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    sing_files::write(path, bytes.as_ref())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Copies a file with its permissions.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    make(to, |place| Ok(fs::copy(from, place).map(|_| ())?))
}

/// Has a file made at another place, then puts it where it belongs.
pub fn make(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    sing_files::make(path, make).with_context(|| format!("cannot write {}", path.display()))
}
