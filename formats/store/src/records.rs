//! The records of the metadata: keys that sort as the store looks for them, and values.
//!
//! | key | value |
//! |---|---|
//! | `c` directory, cookie | the entry: node, kind, name |
//! | `d` directory, name | the entry: node, kind, cookie |
//! | `e` file, block in the file | an extent: block on the disk, number of blocks |
//! | `n` node | attributes |
//! | `s` group | a bit for each block of the group that a file has |
//! | `t` link | its target |
//! | `v` | the volume: label, counters |
//! | `x` node | it has blocks or itself to give back |
//!
//! Numbers in keys are big-endian, so that they sort; those in values little-endian. Whatever is
//! read is taken apart here, and is an error if it is not what we would have written.

use crate::error::Error;
use crate::layout::{u32_at, u64_at};
use crate::types::{Kind, LARGEST_FILE, LONGEST_NAME, NodeId, valid_name};
use alloc::string::String;
use alloc::vec::Vec;

/// Blocks of a group, whose bitmap is one record.
pub const GROUP: u64 = 2048;

/// No entry of a directory has a higher cookie.
pub const LAST_COOKIE: u64 = u64::MAX / 2;

/// A bitmap of a group.
pub type Bitmap = [u64; GROUP as usize / 64];

/// What a record is of: the first byte of its key.
pub mod tag {
    pub const COOKIE: u8 = b'c';
    pub const ENTRY: u8 = b'd';
    pub const EXTENT: u8 = b'e';
    pub const NODE: u8 = b'n';
    pub const SPACE: u8 = b's';
    pub const TARGET: u8 = b't';
    pub const VOLUME: u8 = b'v';
    pub const TIDY: u8 = b'x';
}

/// The key of the volume's record.
pub const VOLUME_KEY: &[u8] = &[tag::VOLUME];

/// A key of a tag and a number.
pub fn key(tag: u8, number: u64) -> [u8; 9] {
    let mut key = [tag; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

/// A key of a tag and two numbers.
pub fn key2(tag: u8, number: u64, second: u64) -> [u8; 17] {
    let mut key = [tag; 17];
    key[1..9].copy_from_slice(&number.to_be_bytes());
    key[9..].copy_from_slice(&second.to_be_bytes());
    key
}

/// The key of a directory's entry.
pub fn entry_key(directory: NodeId, name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(9 + name.len());
    key.push(tag::ENTRY);
    key.extend_from_slice(&directory.0.to_be_bytes());
    key.extend_from_slice(name.as_bytes());
    key
}

/// The first number of a key, if it has one.
pub fn number(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(1..9)?.try_into().ok()?))
}

/// The second number of a key, if that is all it has.
pub fn second(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(9..)?.try_into().ok()?))
}

/// A node's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    pub links: u32,
    pub size: u64,
    pub blocks: u64,
    pub accessed: u64,
    pub modified: u64,
    pub changed: u64,
    pub created: u64,
    /// Of a directory: where it lies. Otherwise 0.
    pub parent: u64,
    /// Of a directory: the last cookie given to an entry. Otherwise 0.
    pub cookie: u64,
}

const NODE_BYTES: usize = 1 + 4 + 8 * 8;

impl Node {
    /// A new node with one name.
    pub fn new(kind: Kind, parent: NodeId, now: u64) -> Node {
        Node {
            kind,
            links: 1,
            size: 0,
            blocks: 0,
            accessed: now,
            modified: now,
            changed: now,
            created: now,
            parent: if kind == Kind::Directory { parent.0 } else { 0 },
            cookie: 0,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(NODE_BYTES);
        value.push(kind_code(self.kind));
        value.extend_from_slice(&self.links.to_le_bytes());
        for number in [
            self.size,
            self.blocks,
            self.accessed,
            self.modified,
            self.changed,
            self.created,
            self.parent,
            self.cookie,
        ] {
            value.extend_from_slice(&number.to_le_bytes());
        }
        value
    }

    pub fn decode(value: &[u8]) -> Result<Node, Error> {
        if value.len() != NODE_BYTES {
            return Err(Error::Corrupt("the record of a node has a wrong length"));
        }
        let at = |index: usize| u64_at(value, 5 + index * 8);
        let node = Node {
            kind: kind_of(value[0])?,
            links: u32_at(value, 1),
            size: at(0),
            blocks: at(1),
            accessed: at(2),
            modified: at(3),
            changed: at(4),
            created: at(5),
            parent: at(6),
            cookie: at(7),
        };
        if node.size > LARGEST_FILE || node.blocks > LARGEST_FILE {
            return Err(Error::Corrupt("a node is larger than a file can be"));
        }
        Ok(node)
    }
}

fn kind_code(kind: Kind) -> u8 {
    match kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Link => 2,
    }
}

fn kind_of(code: u8) -> Result<Kind, Error> {
    Ok(match code {
        0 => Kind::File,
        1 => Kind::Directory,
        2 => Kind::Link,
        _ => return Err(Error::Corrupt("a node is of no kind")),
    })
}

/// The value of a directory's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryValue {
    pub node: NodeId,
    pub kind: Kind,
    pub cookie: u64,
}

impl EntryValue {
    pub fn encode(&self) -> [u8; 17] {
        let mut value = [kind_code(self.kind); 17];
        value[..8].copy_from_slice(&self.node.0.to_le_bytes());
        value[9..].copy_from_slice(&self.cookie.to_le_bytes());
        value
    }

    pub fn decode(value: &[u8]) -> Result<EntryValue, Error> {
        if value.len() != 17 {
            return Err(Error::Corrupt(
                "the entry of a directory has a wrong length",
            ));
        }
        Ok(EntryValue {
            node: NodeId(u64_at(value, 0)),
            kind: kind_of(value[8])?,
            cookie: u64_at(value, 9),
        })
    }

    /// The value of the entry's other record, which is found by its cookie.
    pub fn encode_named(&self, name: &str) -> Vec<u8> {
        let mut value = self.encode()[..9].to_vec();
        value.extend_from_slice(name.as_bytes());
        value
    }

    /// Takes that apart.
    pub fn decode_named(value: &[u8], cookie: u64) -> Result<(EntryValue, String), Error> {
        let wrong = Error::Corrupt("the entry of a directory has no name");
        if !(10..=9 + LONGEST_NAME).contains(&value.len()) {
            return Err(wrong);
        }
        let name = core::str::from_utf8(&value[9..]).map_err(|_| wrong)?;
        valid_name(name).map_err(|_| wrong)?;
        let entry = EntryValue {
            node: NodeId(u64_at(value, 0)),
            kind: kind_of(value[8])?,
            cookie,
        };
        Ok((entry, String::from(name)))
    }
}

/// Blocks of a file that lie together on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first block in the file.
    pub first: u64,
    /// The first block on the disk.
    pub start: u64,
    pub blocks: u64,
}

impl Extent {
    /// The block in the file after the last one.
    pub fn end(&self) -> u64 {
        self.first + self.blocks
    }

    pub fn key(&self, file: NodeId) -> [u8; 17] {
        key2(tag::EXTENT, file.0, self.first)
    }

    pub fn encode(&self) -> [u8; 16] {
        let mut value = [0; 16];
        value[..8].copy_from_slice(&self.start.to_le_bytes());
        value[8..].copy_from_slice(&self.blocks.to_le_bytes());
        value
    }

    pub fn decode(first: u64, value: &[u8]) -> Result<Extent, Error> {
        if value.len() != 16 {
            return Err(Error::Corrupt("the record of an extent has a wrong length"));
        }
        let extent = Extent {
            first,
            start: u64_at(value, 0),
            blocks: u64_at(value, 8),
        };
        let end = first.checked_add(extent.blocks);
        if extent.blocks == 0 || end.is_none_or(|end| end > LARGEST_FILE) {
            return Err(Error::Corrupt("an extent is larger than a file can be"));
        }
        Ok(extent)
    }
}

/// The counters of the volume's record. They change with nearly every operation, so they are kept
/// in memory and written by a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The number of the next node.
    pub next: u64,
    /// Nodes there are.
    pub nodes: u64,
    /// Blocks that files have.
    pub used: u64,
}

impl State {
    pub fn encode(&self, label: &str) -> Vec<u8> {
        let mut value = Vec::with_capacity(24 + label.len());
        for number in [self.next, self.nodes, self.used] {
            value.extend_from_slice(&number.to_le_bytes());
        }
        value.extend_from_slice(label.as_bytes());
        value
    }

    pub fn decode(value: &[u8]) -> Result<(State, String), Error> {
        if !(24..=24 + LONGEST_NAME).contains(&value.len()) {
            return Err(Error::Corrupt("the volume's record has a wrong length"));
        }
        let label = core::str::from_utf8(&value[24..])
            .map_err(|_| Error::Corrupt("the label is not UTF-8"))?;
        let state = State {
            next: u64_at(value, 0),
            nodes: u64_at(value, 8),
            used: u64_at(value, 16),
        };
        if state.next > u64::MAX / 2 || state.nodes > state.next || state.used > LARGEST_FILE {
            return Err(Error::Corrupt("the volume's counters are wrong"));
        }
        Ok((state, label.into()))
    }
}

/// A bitmap as it is stored.
pub fn encode_bitmap(bits: &Bitmap) -> [u8; GROUP as usize / 8] {
    let mut value = [0; GROUP as usize / 8];
    for (place, word) in value.chunks_exact_mut(8).zip(bits) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    value
}

/// Takes that apart.
pub fn decode_bitmap(value: &[u8]) -> Result<Bitmap, Error> {
    if value.len() != GROUP as usize / 8 {
        return Err(Error::Corrupt("a bitmap has a wrong length"));
    }
    let mut bits = [0; GROUP as usize / 64];
    for (index, word) in bits.iter_mut().enumerate() {
        *word = u64_at(value, index * 8);
    }
    Ok(bits)
}
