//! Files that others may read while they are made, and that several commands make at a time.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Writes a file.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    sing_files::write(path, bytes.as_ref())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Fails if no file can be made at this place: asked before what takes minutes to make.
pub fn expect_place(path: &Path) -> Result<()> {
    // Devices and pipes are written in their place.
    if path.metadata().is_ok_and(|there| !there.is_file()) {
        return Ok(());
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.into());
    let folder = sing_files::Folder::beside(&target);
    folder
        .map(drop)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_no_folder_is_refused_and_the_folder_is_not_made() {
        let folder = std::env::temp_dir().join(format!("xtask-none-{}", std::process::id()));
        let file = folder.join("x.iso");
        let error = format!("{:#}", expect_place(&file).unwrap_err());
        assert!(
            error.contains("cannot write") && error.contains("x.iso"),
            "{error}"
        );
        assert!(write(&file, "").is_err() && !folder.exists());
        fs::create_dir(&folder).unwrap();
        expect_place(&file).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(&folder).unwrap();
    }
}
