//! Files and directories, for clients ([O] 5.4).
//!
//! A [`File`] or [`Directory`] is an open one: a channel to its server. Programs get the first ones
//! by a path of the name space, through [`Names`], and others below a directory that they have;
//! paths there are relative to it and never lead above it.
//!
//! Invariants:
//! - After an error, a file or directory is as usable as before; only where its server has gone,
//!   every request says [`Error::Closed`]. A [`Reader`] opens its file again then.
//! - Content moves in blocks of bounded size, and entries of a directory in bounded pieces, however
//!   large the file or directory is.
//!
//! ```
//! use sing_sdk::fs::{Directory, File, Options};
//! use sing_sdk::names::Names;
//! use sing_sdk::prelude::*;
//! use sing_sdk::{print, println};
//!
//! fn note(names: &mut Names) -> Result<(), Error> {
//!     let mut notes = Directory::open(names, "/notes")?;
//!     let mut file = notes.open_with("today.txt", Options::create())?;
//!     file.append(b"It rains.\n")?;
//!     file.sync()?;
//!     for entry in notes.list() {
//!         println!("{}", entry?.name);
//!     }
//!     let bytes = File::open(names, "/notes/today.txt")?.read_to_end()?;
//!     print!("{}", String::from_utf8_lossy(&bytes));
//!     Ok(())
//! }
//! ```

mod changes;
mod directory;
mod entries;
mod file;
mod reader;
mod settle;
pub mod text;

pub use changes::{Changes, Moment};
pub use directory::{Directory, Options};
pub use entries::{Entries, Entry, pack, unpack};
pub use file::{File, Limits};
pub use reader::Reader;
pub use settle::settle;

use crate::Error;
use crate::contracts::{FileFault, ServiceContract};
use crate::names::Names;
use core::fmt;

type Service = ServiceContract::Exp<ServiceContract::Start>;

/// For a time that stays as it is.
pub const KEEP: u64 = u64::MAX;

/// The largest piece in which bytes are copied to and from files; every server takes as much.
pub const PIECE: usize = 64 << 10;

impl From<FileFault> for Error {
    fn from(fault: FileFault) -> Error {
        match fault {
            FileFault::NotFound => Error::NotFound,
            FileFault::NoResources => Error::NoResources,
            other => Error::File(other),
        }
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileFault::NotFound => "not found",
            FileFault::Exists => "exists already",
            FileFault::NotDirectory => "a part of the path is not a directory",
            FileFault::IsDirectory => "is a directory",
            FileFault::NotEmpty => "the directory is not empty",
            FileFault::BadName => "not a possible name",
            FileFault::Loop => "too many symbolic links, or a circle",
            FileFault::Outside => "the path leads out of the directory",
            FileFault::ReadOnly => "for reading only",
            FileFault::NoSpace => "the disk is full",
            FileFault::TooLarge => "larger than a file can be",
            FileFault::TooManyLinks => "the file has as many names as it can",
            FileFault::Medium => "the disk cannot read or write this",
            FileFault::Busy => "in use",
            FileFault::NoResources => "out of memory or handles",
            FileFault::NotSupported => "not possible in this file system",
            FileFault::BadRequest => "the block does not fit the request",
        })
    }
}

/// Whether a directory above may know better why a path cannot be bound.
pub(crate) fn may_know_above(error: Error) -> bool {
    use crate::contracts::Refusal;
    matches!(
        error,
        Error::NotFound | Error::Refused(Refusal::OtherContract | Refusal::NotADirectory)
    )
}

/// The reason that says more: a directory above does not know what is elsewhere in the name space.
pub(crate) fn better(from_names: Error, from_above: Error) -> Error {
    match from_above {
        Error::File(FileFault::Outside) => from_names,
        reason => reason,
    }
}

/// A path as the path of its directory and the last name in it; `None` for the root.
#[must_use]
pub fn split(path: &str) -> Option<(&str, &str)> {
    let path = path.trim_end_matches('/');
    let (parent, name) = path.rsplit_once('/')?;
    let parent = parent.trim_end_matches('/');
    let parent = if parent.is_empty() { "/" } else { parent };
    (!name.is_empty()).then_some((parent, name))
}

impl Names {
    /// Opens the file at this path, without asking more closely why it cannot be opened: a program
    /// that only reads files by their paths needs no directory for that ([`File::open`] does).
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is none, [`Error::NoResources`] where this program has its
    /// share of open files.
    pub fn open(&mut self, path: &str) -> Result<File, Error> {
        File::bind(self, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_at_its_last_name() {
        assert_eq!(split("/fs/a/b"), Some(("/fs/a", "b")));
        assert_eq!(split("/fs//a///"), Some(("/fs", "a")));
        assert_eq!(split("/fs"), Some(("/", "fs")));
        assert_eq!(split("//"), None);
        assert_eq!(split(""), None);
    }
}
