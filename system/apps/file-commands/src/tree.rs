//! A directory with all below it, as copying and removing see it.

use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::Error;
use sing_sdk::contracts::{FileAttributes, FileFault, FileKind};
use sing_sdk::fs::{Directory, Entry, File, Options};

/// How many entries are asked for before something is done with them.
pub const PIECE: usize = 64;

/// Requests to a directory. Paths are relative to it; links that are their last part are not
/// followed.
pub trait Tree {
    /// A file that is open.
    type File;

    /// What a path is.
    ///
    /// # Errors
    /// As the file system says; so with all requests.
    fn attributes(&mut self, path: &str) -> Result<FileAttributes, Error>;

    /// Some entries of a directory from a place on; none at the end.
    ///
    /// # Errors
    /// As [`Tree::attributes`].
    fn entries(&mut self, path: &str, from: u64) -> Result<Vec<Entry>, Error>;

    /// Removes a file or link.
    ///
    /// # Errors
    /// As [`Tree::attributes`].
    fn remove(&mut self, path: &str) -> Result<(), Error>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// As [`Tree::attributes`].
    fn remove_directory(&mut self, path: &str) -> Result<(), Error>;

    /// Makes an empty directory.
    ///
    /// # Errors
    /// As [`Tree::attributes`].
    fn make_directory(&mut self, path: &str) -> Result<(), Error>;

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// As [`Tree::attributes`].
    fn make_link(&mut self, path: &str, target: &str) -> Result<(), Error>;

    /// The text of a symbolic link.
    ///
    /// # Errors
    /// As [`Tree::attributes`].
    fn read_link(&mut self, path: &str) -> Result<String, Error>;

    /// Sets the times of a file or directory.
    ///
    /// # Errors
    /// As [`Tree::attributes`].
    fn set_times(&mut self, path: &str, accessed: u64, modified: u64) -> Result<(), Error>;

    /// Opens a file.
    ///
    /// # Errors
    /// As [`Tree::attributes`].
    fn open(&mut self, path: &str, options: Options) -> Result<Self::File, Error>;
}

impl Tree for Directory {
    type File = File;

    fn attributes(&mut self, path: &str) -> Result<FileAttributes, Error> {
        self.attributes_of_link(path)
    }

    fn entries(&mut self, path: &str, from: u64) -> Result<Vec<Entry>, Error> {
        let mut directory = self.open_directory_to_read(path)?;
        let entries = directory.list_from(from).take(PIECE);
        entries.map(|entry| entry.and_then(one_part)).collect()
    }

    fn remove(&mut self, path: &str) -> Result<(), Error> {
        Directory::remove(self, path)
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Error> {
        Directory::remove_directory(self, path)
    }

    fn make_directory(&mut self, path: &str) -> Result<(), Error> {
        Directory::make_directory(self, path)
    }

    fn make_link(&mut self, path: &str, target: &str) -> Result<(), Error> {
        Directory::make_link(self, path, target)
    }

    fn read_link(&mut self, path: &str) -> Result<String, Error> {
        Directory::read_link(self, path)
    }

    fn set_times(&mut self, path: &str, accessed: u64, modified: u64) -> Result<(), Error> {
        Directory::set_times(self, path, accessed, modified)
    }

    fn open(&mut self, path: &str, options: Options) -> Result<File, Error> {
        self.open_with(path, options)
    }
}

/// An entry whose name is the name of something in the directory, and no path that leads elsewhere:
/// a file system may be damaged.
fn one_part(entry: Entry) -> Result<Entry, Error> {
    match entry.name.as_str() {
        "" | "." | ".." => Err(Error::File(FileFault::Medium)),
        name if name.contains('/') => Err(Error::File(FileFault::Medium)),
        _ => Ok(entry),
    }
}

/// Whether both are attributes of one file or directory. Ids are of one file system, so that files
/// of two could share one; two that were also made in the same nanosecond are taken for one.
#[must_use]
pub fn same(a: &FileAttributes, b: &FileAttributes) -> bool {
    (a.id, a.created, a.kind) == (b.id, b.created, b.kind)
}

/// The path of a name in a directory.
#[must_use]
pub fn join(directory: &str, name: &str) -> String {
    let mut path = String::from(directory);
    push(&mut path, name);
    path
}

/// Goes down to a name.
pub(crate) fn push(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(name);
}

/// Goes back up.
pub(crate) fn pop(path: &mut String) {
    path.truncate(path.rfind('/').unwrap_or(0));
}

/// Whether it is a directory.
#[must_use]
pub fn is_directory(attributes: &FileAttributes) -> bool {
    attributes.kind == FileKind::Directory
}

/// Whether it is a symbolic link.
#[must_use]
pub fn is_link(attributes: &FileAttributes) -> bool {
    attributes.kind == FileKind::Link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_leads_elsewhere_is_damage() {
        let entry = |name: &str| Entry {
            next: 1,
            id: 1,
            kind: FileKind::File,
            name: name.into(),
        };
        for bad in ["", ".", "..", "../x", "/", "a/b"] {
            let damaged = Err(Error::File(FileFault::Medium));
            assert_eq!(one_part(entry(bad)), damaged, "{bad}");
        }
        assert!(one_part(entry("..a")).is_ok());
    }

    #[test]
    fn down_and_up_again() {
        let mut path = String::new();
        push(&mut path, "a");
        push(&mut path, "b");
        assert_eq!(path, "a/b");
        pop(&mut path);
        assert_eq!(path, "a");
        pop(&mut path);
        assert_eq!(path, "");
        assert_eq!(join("a", "b"), "a/b");
        assert_eq!(join("", "b"), "b");
    }
}
