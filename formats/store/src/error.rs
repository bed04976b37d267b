//! Why an operation of the store was refused.

use crate::disk::DiskFault;
use core::fmt;

/// Why the store does not do what it was asked. An operation that fails has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// No such name, or the node does not exist (any more).
    NotFound,
    /// The name is taken.
    Exists,
    /// The operation needs a directory.
    NotDirectory,
    /// The operation does not work on directories.
    IsDirectory,
    /// The operation needs a file.
    NotFile,
    /// The directory has entries.
    NotEmpty,
    /// Not a name: empty, over 255 bytes, `.`, `..`, or it contains `/` or NUL.
    BadName,
    /// A directory would be moved below itself.
    Loop,
    /// The store was mounted read-only.
    ReadOnly,
    /// The disk is full. If [`Store::reclaim`](crate::Store::reclaim) says that it has got
    /// something back, trying again may succeed.
    NoSpace,
    /// The size or offset is beyond what a file may have, or a link's target is too long.
    TooLarge,
    /// The node has as many links as a node may have.
    TooManyLinks,
    /// An earlier truncation still gives blocks back, or too many requests are in flight: call
    /// [`Store::tidy`](crate::Store::tidy) or finish requests, then try again.
    Busy,
    /// An argument that no caller should give: not aligned, empty, or not of this store.
    Invalid,
    /// The disk is too small to hold a store.
    TooSmall,
    /// The disk holds no store: its first block does not begin as one.
    NotStore,
    /// The disk holds a store of a version that this library does not know.
    Version(u32),
    /// What is on the disk contradicts itself; says where.
    Corrupt(&'static str),
    /// The disk has failed.
    Disk(DiskFault),
}

impl From<DiskFault> for Error {
    fn from(fault: DiskFault) -> Self {
        Error::Disk(fault)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Error::NotFound => "it does not exist",
            Error::Exists => "it exists already",
            Error::NotDirectory => "it is not a directory",
            Error::IsDirectory => "it is a directory",
            Error::NotFile => "it is not a file",
            Error::NotEmpty => "the directory is not empty",
            Error::BadName => {
                "this is not a name: 1 to 255 bytes of UTF-8 without '/' and NUL, not . or .."
            }
            Error::Loop => "a directory cannot be moved below itself",
            Error::ReadOnly => "the file system is mounted read-only",
            Error::NoSpace => "there is no space left on the disk",
            Error::TooLarge => "it is larger than a file can be",
            Error::TooManyLinks => "it has as many links as it can have",
            Error::Busy => "an earlier request on it is not finished",
            Error::Invalid => "an argument is out of its bounds",
            Error::TooSmall => "the disk is too small: a file system needs 1 MiB",
            Error::NotStore => "there is no file system of ours on the disk",
            Error::Version(version) => {
                return write!(f, "the file system's format {version} is not known here");
            }
            Error::Corrupt(place) => return write!(f, "the file system is damaged: {place}"),
            Error::Disk(fault) => return fault.fmt(f),
        };
        f.write_str(text)
    }
}

impl core::error::Error for Error {}
