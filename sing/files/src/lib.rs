//! Files that others may read while they are made: a file is made in a folder beside its place and
//! renamed. Who reads it meanwhile gets the old contents or the new ones whole, and where the disk
//! is full or the command is ended, the old ones stay.
//!
//! The folder is new and this user's alone, so that nobody else can put a link there for the file
//! to be written through; its name does not depend on the file's, which may be as long as names can
//! be.
#![forbid(unsafe_code)]

pub mod near;
pub mod standard;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The most links that are followed to a file that does not exist yet, as on Linux.
const MOST_LINKS: usize = 40;

/// Writes a file whole, with the permissions of the one that is there.
///
/// # Errors
/// Whatever keeps it from being written; the one that is there has not changed then.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make(path, |place| fs::write(place, bytes))
}

/// Has a file made at a place with the same name, in another folder; then puts it where it belongs,
/// with the permissions of the one that is there.
///
/// # Errors
/// Those of `make`, and whatever keeps the file from being put there; the one that is there has not
/// changed then.
pub fn make<E: From<io::Error>>(
    path: &Path,
    make: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let (path, there) = match fs::metadata(path) {
        // A device or a pipe, which stays; and a folder, which is refused.
        Ok(there) if !there.is_file() => return make(path),
        Ok(there) => (fs::canonicalize(path)?, Some(there)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => (end_of_links(path)?, None),
        Err(e) => return Err(e.into()),
    };
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput);
    let name = name.map_err(io::Error::from)?;
    let folder = Folder::beside(&path)?;
    let place = folder.0.join(name);
    make(&place)?;
    if let Some(there) = there {
        fs::set_permissions(&place, there.permissions())?;
    }
    fs::rename(&place, &path)?;
    Ok(())
}

/// Whether two paths lead to one file, by whatever names.
#[must_use]
pub fn are_one(path: &Path, other: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
    matches!((identity(path), identity(other)), (Ok(one), Ok(two)) if one == two)
}

/// The path that links lead to, at which there is nothing.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            // Relative to the folder of the link.
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// A new folder of this command's own, removed with all that is in it when this is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one in the folder that holds this file, or would.
    ///
    /// # Errors
    /// Whatever keeps it from being made.
    pub fn beside(path: &Path) -> io::Result<Folder> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let folder = path.with_file_name(format!(".{}-{number}.new", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Folder(folder)),
                // Left by a command that was ended, or somebody else's.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Returns where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    /// A folder for a test.
    fn folder(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("sing-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn entries(folder: &Folder) -> usize {
        fs::read_dir(&folder.0).unwrap().count()
    }

    #[test]
    fn a_reader_keeps_the_old_file_until_the_new_one_is_whole() {
        let folder = folder("replaced");
        let file = folder.0.join("disc.iso");
        write(&file, b"old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let mut reader = fs::File::open(&file).unwrap();
        make(&file, |place| -> io::Result<()> {
            fs::write(place, "half")?;
            assert_eq!(fs::read_to_string(&file)?, "old");
            assert_eq!(place.file_name(), file.file_name());
            fs::write(place, "whole")
        })
        .unwrap();
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "old");
        assert_eq!(fs::read(&file).unwrap(), b"whole");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        let not_made = make(&file, |place| {
            fs::write(place, "half")?;
            Err(io::Error::other("not made"))
        });
        assert!(not_made.is_err());
        assert_eq!(fs::read(&file).unwrap(), b"whole");
        assert_eq!(entries(&folder), 1, "nothing is left beside");
    }

    #[test]
    fn links_stay_and_devices_and_folders_are_not_replaced() {
        let folder = folder("links");
        let (file, link) = (folder.0.join("file"), folder.0.join("link"));
        write(&file, b"old").unwrap();
        symlink("file", &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(write(&folder.0, b"").is_err() && folder.0.is_dir());
        assert!(write(&folder.0.join("no/such"), b"").is_err());
        assert!(write(Path::new(""), b"").is_err());
    }

    #[test]
    fn a_file_is_recognised_under_other_names() {
        let folder = folder("one");
        let [file, link, name, other] = ["file", "link", "name", "other"].map(|n| folder.0.join(n));
        fs::write(&file, "same").unwrap();
        fs::write(&other, "same").unwrap();
        symlink("file", &link).unwrap();
        fs::hard_link(&file, &name).unwrap();
        for same in [&file, &link, &name, &folder.0.join("./file")] {
            assert!(are_one(&file, same), "{}", same.display());
        }
        let missing = folder.0.join("missing");
        assert!(!are_one(&file, &other) && !are_one(&file, &missing));
        assert!(!are_one(&missing, &missing));
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there_yet_makes_it() {
        let folder = folder("dangling");
        fs::create_dir(folder.0.join("sub")).unwrap();
        let (link, next) = (folder.0.join("link"), folder.0.join("sub/next"));
        symlink("sub/next", &link).unwrap();
        symlink("file", &next).unwrap();
        write(&link, b"made").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::symlink_metadata(&next).unwrap().is_symlink());
        assert_eq!(fs::read(folder.0.join("sub/file")).unwrap(), b"made");
        let endless = folder.0.join("endless");
        symlink("endless", &endless).unwrap();
        assert!(write(&endless, b"").is_err());
        assert!(fs::symlink_metadata(&endless).unwrap().is_symlink());
    }

    #[test]
    fn the_longest_name_that_a_folder_allows_can_be_written() {
        let folder = folder("long");
        let file = folder.0.join("n".repeat(255));
        write(&file, b"long").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"long");
        assert_eq!(entries(&folder), 1);
    }

    #[test]
    fn nothing_is_written_through_a_link_that_somebody_put_beside() {
        let folder = folder("beside");
        let foreign = folder.0.join("foreign");
        fs::write(&foreign, "theirs").unwrap();
        fs::create_dir(folder.0.join("taken")).unwrap();
        let before = Folder::beside(&foreign).unwrap();
        let name = before.0.file_name().unwrap().to_str().unwrap().to_owned();
        let number: u32 = name
            .rsplit_once('-')
            .and_then(|(_, end)| end.strip_suffix(".new")?.parse().ok())
            .unwrap();
        drop(before);
        // Tests beside this one count, too.
        for next in number..number + 50 {
            let name = format!(".{}-{next}.new", std::process::id());
            let to = if next % 2 == 0 { "foreign" } else { "taken" };
            symlink(to, folder.0.join(name)).unwrap();
        }
        write(&folder.0.join("file"), b"mine").unwrap();
        assert_eq!(fs::read(folder.0.join("file")).unwrap(), b"mine");
        assert_eq!(fs::read(&foreign).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(folder.0.join("taken")).unwrap().count(), 0);
    }
}
