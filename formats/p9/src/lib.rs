//! Messages of 9P2000.L, the protocol by which directories of a host are served to a virtual
//! machine: what the driver asks ([`Request`]) and what the device answers ([`Reply`]).
//!
//! The driver and the hosted machine's model of the device share it, so that neither has a reader
//! of its own.
//!
//! Invariants:
//! - Any bytes become a whole message or [`Malformed`]; nothing is read beyond them, and nothing
//!   that they say is allocated but the list of at most [`NAMES`] names or their ids.
//! - What is encoded is decoded to the same.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod mount;
mod reply;
mod request;
mod wire;

pub use mount::{BadMount, BadPath, Mount, is_within, mount_path, overlap};
pub use reply::{Attributes, Entries, Entry, Reply, pack, read_head};
pub use request::{Change, Request, WRITE_HEAD, write_head};
pub use wire::Malformed;

/// The version of the protocol.
pub const VERSION: &[u8] = b"9P2000.L";
/// The tag of the message that agrees on a version.
pub const NO_TAG: u16 = 0xffff;
/// No fid: nobody is authenticated.
pub const NO_FID: u32 = u32::MAX;
/// Bytes before a message's own: its length, its type, its tag.
pub const HEAD: usize = 7;
/// Bytes of an answer to a read, or of an error, before and without data.
pub const DATA_HEAD: usize = 11;
/// The most names of a walk.
pub const NAMES: usize = 16;
/// The longest name in bytes.
pub const LONGEST_NAME: usize = 255;
/// The longest text of a symbolic link.
pub const LONGEST_TARGET: usize = 4095;
/// The device's feature: its configuration has a mount tag, two bytes of length and the text.
pub const MOUNT_TAG: u64 = 1;
/// The longest mount tag: QEMU takes no longer one.
pub const LONGEST_TAG: usize = 31;

/// A file as the server knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qid {
    /// What it is: [`Qid::DIRECTORY`], [`Qid::LINK`], or neither.
    pub kind: u8,
    /// Changes when the file does, on some servers.
    pub version: u32,
    /// Tells it from all others of the server.
    pub path: u64,
}

impl Qid {
    /// A directory.
    pub const DIRECTORY: u8 = 0x80;
    /// A symbolic link.
    pub const LINK: u8 = 0x02;

    /// Whether it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.kind & Qid::DIRECTORY != 0
    }

    /// Whether it is a symbolic link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.kind & Qid::LINK != 0
    }
}

/// Flags of an open, those of Linux.
pub mod open {
    /// To read only.
    pub const READ: u32 = 0;
    /// To read and write.
    pub const READ_WRITE: u32 = 2;
    /// The bits that say which of both, or to write only.
    pub const ACCESS: u32 = 3;
    /// The file is made.
    pub const CREATE: u32 = 0o100;
    /// It must not be there yet.
    pub const EXCLUSIVE: u32 = 0o200;
    /// It is cut to nothing.
    pub const TRUNCATE: u32 = 0o1000;
    /// It must be a directory.
    pub const DIRECTORY: u32 = 0o200_000;
}

/// The flag by which an unlink removes a directory.
pub const REMOVE_DIRECTORY: u32 = 0x200;

/// The kind of file in a mode.
pub mod mode {
    /// The bits that say it.
    pub const KIND: u32 = 0o170_000;
    /// A directory.
    pub const DIRECTORY: u32 = 0o040_000;
    /// A file.
    pub const FILE: u32 = 0o100_000;
    /// A symbolic link.
    pub const LINK: u32 = 0o120_000;
}

/// Reasons of errors, numbered as Linux does.
#[allow(missing_docs)] // Their names are POSIX's.
pub mod errno {
    pub const EPERM: u32 = 1;
    pub const ENOENT: u32 = 2;
    pub const EIO: u32 = 5;
    pub const EBADF: u32 = 9;
    pub const ENOMEM: u32 = 12;
    pub const EACCES: u32 = 13;
    pub const EBUSY: u32 = 16;
    pub const EEXIST: u32 = 17;
    pub const ENOTDIR: u32 = 20;
    pub const EISDIR: u32 = 21;
    pub const EINVAL: u32 = 22;
    pub const ENFILE: u32 = 23;
    pub const EMFILE: u32 = 24;
    pub const ETXTBSY: u32 = 26;
    pub const EFBIG: u32 = 27;
    pub const ENOSPC: u32 = 28;
    pub const EROFS: u32 = 30;
    pub const EMLINK: u32 = 31;
    pub const ENAMETOOLONG: u32 = 36;
    pub const ENOTEMPTY: u32 = 39;
    pub const ELOOP: u32 = 40;
    pub const EPROTO: u32 = 71;
    pub const EILSEQ: u32 = 84;
    pub const EOPNOTSUPP: u32 = 95;
    pub const EDQUOT: u32 = 122;
}

/// Whether a name can be a file's: not empty, neither `.` nor `..`, without `/` and zeros, and not
/// too long.
#[must_use]
pub fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..")
        && name.len() <= LONGEST_NAME
        && !name.iter().any(|b| matches!(b, b'/' | 0))
}

/// The length that a message claims, and its type, if it has a head.
#[must_use]
pub fn head(message: &[u8]) -> Option<(usize, u8)> {
    let [a, b, c, d, kind, _, _, ..] = message else {
        return None;
    };
    Some((u32::from_le_bytes([*a, *b, *c, *d]) as usize, *kind))
}
