//! What the store's operations take and give.

use crate::error::Error;
use alloc::string::String;
use alloc::vec::Vec;

/// The unit of allocation: file data lies in whole blocks, aligned to them on the disk.
pub const BLOCK: u64 = 4096;
/// The longest name in bytes.
pub const LONGEST_NAME: usize = 255;
/// The longest target of a symbolic link in bytes.
pub const LONGEST_TARGET: usize = 4095;
/// The largest file in bytes.
pub const LARGEST_FILE: u64 = 1 << 48;
/// The most links of a node.
pub const MOST_LINKS: u32 = 65_000;
/// The most requests (mappings and writes) in flight at a time.
pub const MOST_IN_FLIGHT: usize = 1024;
/// The most pieces of one request.
pub const MOST_PIECES: usize = 64;

/// The number of a node: a file, directory or symbolic link. Numbers are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

/// The directory at the top.
pub const ROOT: NodeId = NodeId(1);

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes.
    File,
    /// Names of nodes.
    Directory,
    /// A symbolic link: a text that somebody else resolves.
    Link,
}

/// What is known of a node. Times are nanoseconds since 1970, UTC, as the callers gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The node.
    pub id: NodeId,
    /// What it is.
    pub kind: Kind,
    /// How many names it has; 0 if it lives only until it is released. A directory has one.
    pub links: u32,
    /// Bytes of a file or of a link's target; the number of names in a directory.
    pub size: u64,
    /// Bytes on the disk.
    pub allocated: u64,
    /// When it was last read. Set by [`Store::set_times`](crate::Store::set_times) alone.
    pub accessed: u64,
    /// When its contents last changed.
    pub modified: u64,
    /// When its contents or attributes last changed.
    pub changed: u64,
    /// When it was made.
    pub created: u64,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it names.
    pub node: NodeId,
    /// What that is.
    pub kind: Kind,
    /// Where a listing goes on after this entry.
    pub cookie: u64,
}

/// Blocks of a file that lie together on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where in the file, in bytes: a multiple of [`BLOCK`].
    pub offset: u64,
    /// How many bytes: a multiple of [`BLOCK`].
    pub bytes: u64,
    /// Where on the disk, in bytes. None: a hole, which reads as zeros.
    pub disk: Option<u64>,
    /// The blocks have never been written for this file: what they hold is somebody else's, so
    /// every byte of them must be written. Never set for reading.
    pub fresh: bool,
}

/// Blocks to read. They are not given to anybody else until
/// [`Store::done`](crate::Store::done) takes this.
#[derive(Debug)]
#[must_use = "give it back with Store::done"]
pub struct Reading {
    pub(crate) ticket: u64,
    /// The pieces in the order of the file. They cover the range from its beginning on, but
    /// perhaps not all of it: what is missing takes another call.
    pub pieces: Vec<Piece>,
    /// How many bytes of the range asked for are in the file, from its beginning on and as far as
    /// the pieces go; the rest of the last block is of no meaning.
    pub bytes: u64,
}

/// Blocks to write. Ends with [`Store::written`](crate::Store::written) or
/// [`Store::abandon`](crate::Store::abandon).
#[derive(Debug)]
#[must_use = "give it back with Store::written or Store::abandon"]
pub struct Writing {
    pub(crate) ticket: u64,
    pub(crate) node: NodeId,
    /// The pieces in the order of the file; no holes. They cover the range from its beginning on,
    /// but perhaps not all of it: what is missing takes another call.
    pub pieces: Vec<Piece>,
}

impl Writing {
    /// Where in the file the pieces end.
    pub fn end(&self) -> u64 {
        self.pieces.last().map_or(0, |p| p.offset + p.bytes)
    }
}

/// Whether an operation has more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// No.
    Done,
    /// Yes: call [`Store::tidy`](crate::Store::tidy) now and then until it says Done.
    More,
}

/// What there is on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// The name that its user gave it.
    pub label: String,
    /// Tells it from all others.
    pub uuid: [u8; 16],
    /// The version of the format.
    pub version: u32,
    /// The bytes of the disk that it was made for.
    pub bytes: u64,
}

/// How the space is used, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All there is for files and metadata.
    pub total: u64,
    /// Can be given to files.
    pub free: u64,
    /// Taken by metadata.
    pub metadata: u64,
    /// Files, directories and links.
    pub nodes: u64,
}

/// How a store is made.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// At most [`LONGEST_NAME`] bytes.
    pub label: String,
    /// Random bytes.
    pub uuid: [u8; 16],
    /// The time.
    pub now: u64,
}

/// How a store is mounted.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// Nothing is written to the disk, nor can anything be changed.
    pub read_only: bool,
    /// Reads all metadata and compares checksums before trusting any.
    pub verify: bool,
    /// Bytes of memory for metadata read from the disk.
    pub cache: usize,
    /// So many changes of records are gathered before an operation syncs by itself.
    pub changes: usize,
}

impl Default for MountOptions {
    fn default() -> Self {
        MountOptions {
            read_only: false,
            verify: true,
            cache: 2 << 20,
            changes: 4096,
        }
    }
}

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many problems.
    pub problems: u64,
    /// The first of them, in words.
    pub texts: Vec<String>,
    /// How many nodes were looked at.
    pub nodes: u64,
}

impl Report {
    /// Whether all is well.
    pub fn is_clean(&self) -> bool {
        self.problems == 0
    }
}

/// Whether these bytes may name an entry of a directory.
pub fn valid_name(name: &str) -> Result<(), Error> {
    let fits = (1..=LONGEST_NAME).contains(&name.len())
        && !matches!(name, "." | "..")
        && !name.bytes().any(|b| b == b'/' || b == 0);
    if fits { Ok(()) } else { Err(Error::BadName) }
}

/// Whether a symbolic link may lead there.
pub(crate) fn valid_target(target: &str) -> Result<(), Error> {
    if target.len() > LONGEST_TARGET {
        return Err(Error::TooLarge);
    }
    match target.is_empty() || target.bytes().any(|b| b == 0) {
        true => Err(Error::BadName),
        false => Ok(()),
    }
}
