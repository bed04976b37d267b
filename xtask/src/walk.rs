//! The files below a folder: the one way in which the commands and checks look through trees.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder, sorted by path. Folders that `enters` refuses are left out, and so are links to
/// folders.
///
/// # Errors
/// If a folder cannot be read.
pub fn files(folder: &Path, enters: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        let unread = || format!("cannot read {}", next.display());
        for entry in fs::read_dir(&next).with_context(unread)? {
            let entry = entry.with_context(unread)?;
            let path = entry.path();
            if !entry.file_type().with_context(unread)?.is_dir() {
                if !path.is_dir() {
                    found.push(path);
                }
            } else if enters(&path) {
                folders.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a folder has what people have written: it is not hidden, and not what builds leave.
pub fn is_written(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    name != "target" && !name.as_encoded_bytes().starts_with(b".")
}

/// Whether a file has this extension.
pub fn is(path: &Path, extension: &str) -> bool {
    path.extension() == Some(OsStr::new(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_but_for_refused_folders_and_links() {
        let root = std::env::temp_dir().join(format!("xtask-walk-{}", std::process::id()));
        for folder in ["a/b", "target", ".hidden"] {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("x.rs"), "").unwrap();
        }
        std::os::unix::fs::symlink("a", root.join("linked")).unwrap();
        std::os::unix::fs::symlink("a/b/x.rs", root.join("other")).unwrap();
        let found = files(&root, is_written).unwrap();
        let wanted = ["a/b/x.rs", "other"].map(|name| root.join(name));
        assert_eq!(found, wanted);
        assert!(is(&found[0], "rs") && !is(&found[1], "rs"));
        fs::remove_dir_all(&root).unwrap();
        let error = files(&root, is_written).unwrap_err().to_string();
        assert!(error.contains("xtask-walk"), "{error}");
    }
}
