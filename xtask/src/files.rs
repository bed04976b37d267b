//! Files that others may read while they are made: each is made beside its place and renamed, so that its readers get the old
//! one or the new one whole. Several commands may run at a time.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes a file.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    make(path, |beside| {
        fs::write(beside, bytes).with_context(|| format!("cannot write {}", path.display()))
    })
}

/// Copies a file with its permissions.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    make(to, |beside| {
        fs::copy(from, beside)
            .map(|_| ())
            .with_context(|| format!("cannot write {}", to.display()))
    })
}

/// Has a file made under another name in the same folder, then gives it its own.
pub fn make(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    // A device or a pipe is not replaced.
    let there = fs::metadata(path);
    if there.as_ref().is_ok_and(|there| !there.is_file()) {
        return make(path);
    }
    let beside = beside(path);
    let made = make(&beside).and_then(|()| {
        let renamed = || -> std::io::Result<()> {
            if let Ok(there) = there {
                fs::set_permissions(&beside, there.permissions())?;
            }
            fs::rename(&beside, path)
        };
        renamed().with_context(|| format!("cannot write {}", path.display()))
    });
    if made.is_err() {
        let _ = fs::remove_file(&beside);
    }
    made
}

/// Another name in the same folder, used by nobody else, with the same ending.
fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(format!(".{}-{number}-", std::process::id()));
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::read_to_string;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_reader_keeps_the_old_file_until_the_new_one_is_whole() {
        let folder = std::env::temp_dir().join(format!("xtask-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("disc.iso");
        write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let reader = fs::File::open(&file).unwrap();
        make(&file, |beside| {
            fs::write(beside, "half")?;
            assert_eq!(fs::read_to_string(&file)?, "old");
            assert_eq!(beside.extension(), file.extension());
            fs::write(beside, "whole").map_err(Into::into)
        })
        .unwrap();
        assert_eq!(read_to_string(reader).unwrap(), "old");
        assert_eq!(fs::read_to_string(&file).unwrap(), "whole");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert!(make(&file, |_| anyhow::bail!("not made")).is_err());
        let copied = folder.join("copy");
        copy(&file, &copied).unwrap();
        assert_eq!(fs::read_to_string(&copied).unwrap(), "whole");
        let left = fs::read_dir(&folder).unwrap().count();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(left, 2, "nothing is left beside");
    }
}
