//! Entries of a directory, as `DirectoryContract` packs them into blocks.
//!
//! Invariant: whatever bytes a server sends, they become whole entries or an end.

use super::Directory;
use crate::Error;
use crate::contracts::{FileFault, FileKind};
use crate::rt::Vector;
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes of an entry before its name.
const HEAD: usize = 24;
/// The block in which entries are asked for.
const BLOCK: usize = 4 << 10;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The place behind it, from which a listing can go on.
    pub next: u64,
    /// The `id` of its attributes.
    pub id: u64,
    /// What it is.
    pub kind: FileKind,
    /// Its name.
    pub name: String,
}

const fn number(kind: FileKind) -> u8 {
    match kind {
        FileKind::File => 0,
        FileKind::Directory => 1,
        FileKind::Link => 2,
    }
}

const fn kind(number: u8) -> Option<FileKind> {
    match number {
        0 => Some(FileKind::File),
        1 => Some(FileKind::Directory),
        2 => Some(FileKind::Link),
        _ => None,
    }
}

/// Packs one more entry for a reader whose block has `room` bytes in all; false, and nothing done,
/// where it does not fit.
#[must_use]
pub fn pack(out: &mut Vec<u8>, room: usize, next: u64, id: u64, of: FileKind, name: &str) -> bool {
    let Ok(len) = u32::try_from(name.len()) else {
        return false;
    };
    if room.saturating_sub(out.len()) < HEAD + name.len() {
        return false;
    }
    out.extend_from_slice(&next.to_le_bytes());
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&[number(of), 0, 0, 0]);
    out.extend_from_slice(name.as_bytes());
    true
}

/// The first of packed entries, and how many bytes it takes; `None` for what is none.
#[must_use]
pub fn unpack(bytes: &[u8]) -> Option<(Entry, usize)> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let word = |at: usize| head[at..at + 8].try_into().map(u64::from_le_bytes).ok();
    let len = u32::from_le_bytes(head[16..20].try_into().ok()?) as usize;
    let name = core::str::from_utf8(rest.get(..len)?).ok()?;
    let entry = Entry {
        next: word(0)?,
        id: word(8)?,
        kind: kind(head[20])?,
        name: name.into(),
    };
    Some((entry, HEAD + len))
}

/// Entries of a directory, asked for piece by piece. After an error there are no more.
#[derive(Debug)]
pub struct Entries<'a> {
    directory: &'a mut Directory,
    from: u64,
    piece: Vec<u8>,
    used: usize,
    ended: bool,
}

impl<'a> Entries<'a> {
    pub(super) fn new(directory: &'a mut Directory, from: u64) -> Entries<'a> {
        Entries {
            directory,
            from,
            piece: Vec::new(),
            used: 0,
            ended: false,
        }
    }

    fn more(&mut self) -> Result<bool, Error> {
        let (block, count) = self.directory.list_into(self.from, Vector::new(BLOCK)?)?;
        self.piece = block.block().prefix(count);
        self.used = 0;
        Ok(count > 0)
    }

    fn entry(&mut self) -> Result<Option<Entry>, Error> {
        if self.used >= self.piece.len() && !self.more()? {
            return Ok(None);
        }
        let damaged = Error::File(FileFault::Medium);
        let (entry, len) = unpack(&self.piece[self.used..]).ok_or(damaged)?;
        self.used += len;
        self.from = entry.next;
        Ok(Some(entry))
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let entry = self.entry();
        self.ended = !matches!(entry, Ok(Some(_)));
        entry.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_packed_whole_and_unpacked_again() {
        let mut bytes = Vec::new();
        assert!(pack(&mut bytes, 60, 7, 42, FileKind::Directory, "täg"));
        assert!(!pack(
            &mut bytes,
            60,
            8,
            43,
            FileKind::File,
            "a longer name"
        ));
        assert!(pack(&mut bytes, 60, 9, 44, FileKind::Link, "x"));
        let (first, used) = unpack(&bytes).unwrap();
        assert_eq!(
            (first.next, first.id, first.kind),
            (7, 42, FileKind::Directory)
        );
        assert_eq!((first.name.as_str(), used), ("täg", HEAD + 4));
        let (second, rest) = unpack(&bytes[used..]).unwrap();
        assert_eq!((second.name.as_str(), used + rest), ("x", bytes.len()));
    }

    #[test]
    fn what_is_no_entry_is_none() {
        let mut bytes = Vec::new();
        assert!(pack(&mut bytes, 100, 1, 2, FileKind::File, "name"));
        for cut in 0..bytes.len() {
            assert_eq!(unpack(&bytes[..cut]), None, "{cut}");
        }
        for (at, value) in [(20, 3), (16, 5), (19, 0xff), (HEAD, 0xff)] {
            let mut wrong = bytes.clone();
            wrong[at] = value;
            assert_eq!(unpack(&wrong), None, "{at}");
        }
    }
}
