//! What the device answers.

use crate::request::kind;
use crate::wire::{Malformed, Reader, Writer, open};
use crate::{DATA_HEAD, NAMES, Qid};
use alloc::vec::Vec;

/// The type of an answer that is an error.
const ERROR: u8 = 7;
/// The type of an answer with what was read.
const READ: u8 = kind::READ + 1;
/// Bytes of an entry before its name.
const ENTRY: usize = 13 + 8 + 1 + 2;

/// A file's attributes. A time is seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// What it is.
    pub qid: Qid,
    /// Its kind and permissions ([`crate::mode`]).
    pub mode: u32,
    /// Names that it has.
    pub links: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Blocks of 512 bytes that it takes.
    pub blocks: u64,
    /// The last access.
    pub accessed: (u64, u64),
    /// The last change of the content.
    pub modified: (u64, u64),
    /// The last change of the content or the attributes.
    pub changed: (u64, u64),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The fields are those of the protocol.
pub enum Reply<'a> {
    /// The request has failed, for this reason ([`crate::errno`]).
    Error(u32),
    Version {
        most: u32,
        version: &'a [u8],
    },
    Attach(Qid),
    /// One for each name that was found; fewer than asked for: the new fid stands for nothing.
    Walk(Vec<Qid>),
    Open(Qid),
    Create(Qid),
    Symlink(Qid),
    ReadLink(&'a [u8]),
    Attributes(Attributes),
    /// Packed entries ([`Entries`]).
    Directory(&'a [u8]),
    MakeDirectory(Qid),
    Read(&'a [u8]),
    Write(u32),
    /// The request with this type of answer is done, and there is nothing more to say.
    Done(u8),
}

impl<'a> Reply<'a> {
    fn kind(&self) -> u8 {
        match self {
            Reply::Error(_) => ERROR,
            Reply::Version { .. } => kind::VERSION + 1,
            Reply::Attach(_) => kind::ATTACH + 1,
            Reply::Walk(_) => kind::WALK + 1,
            Reply::Open(_) => kind::OPEN + 1,
            Reply::Create(_) => kind::CREATE + 1,
            Reply::Symlink(_) => kind::SYMLINK + 1,
            Reply::ReadLink(_) => kind::READ_LINK + 1,
            Reply::Attributes(_) => kind::GET_ATTRIBUTES + 1,
            Reply::Directory(_) => kind::READ_DIRECTORY + 1,
            Reply::MakeDirectory(_) => kind::MAKE_DIRECTORY + 1,
            Reply::Read(_) => kind::READ + 1,
            Reply::Write(_) => kind::WRITE + 1,
            Reply::Done(kind) => *kind,
        }
    }

    /// Writes the message in place of what was there.
    pub fn encode(&self, tag: u16, out: &mut Vec<u8>) {
        /// The basic attributes are valid.
        const BASIC: u64 = 0x7ff;
        let mut to = Writer::begin(out, self.kind(), tag);
        match self {
            Reply::Error(reason) => {
                to.u32(*reason);
            }
            Reply::Version { most, version } => {
                to.u32(*most).text(version);
            }
            Reply::Attach(qid) | Reply::Symlink(qid) | Reply::MakeDirectory(qid) => {
                to.qid(qid);
            }
            Reply::Walk(qids) => {
                to.u16(qids.len().min(NAMES) as u16);
                for qid in qids.iter().take(NAMES) {
                    to.qid(qid);
                }
            }
            // Behind it, the size of the best request: the driver knows.
            Reply::Open(qid) | Reply::Create(qid) => {
                to.qid(qid).u32(0);
            }
            Reply::ReadLink(target) => {
                to.text(target);
            }
            Reply::Attributes(of) => {
                to.u64(BASIC).qid(&of.qid).u32(of.mode).u32(0).u32(0);
                // Between the size and the blocks stands the best size of requests.
                to.u64(of.links)
                    .u64(0)
                    .u64(of.size)
                    .u64(4096)
                    .u64(of.blocks);
                for (seconds, nanoseconds) in [of.accessed, of.modified, of.changed, (0, 0)] {
                    to.u64(seconds).u64(nanoseconds);
                }
                to.u64(0).u64(0);
            }
            Reply::Directory(data) | Reply::Read(data) => {
                to.data(data);
            }
            Reply::Write(count) => {
                to.u32(*count);
            }
            Reply::Done(_) => {}
        }
        to.end();
    }

    /// Reads a message: its tag, and the answer.
    ///
    /// # Errors
    /// If it is none that is understood.
    pub fn decode(message: &'a [u8]) -> Result<(u16, Reply<'a>), Malformed> {
        let (kind, tag, mut from) = open(message)?;
        let reply = Reply::read(kind, &mut from)?;
        if from.0.is_empty() {
            Ok((tag, reply))
        } else {
            Err(Malformed)
        }
    }

    fn read(kind: u8, from: &mut Reader<'a>) -> Result<Reply<'a>, Malformed> {
        let Some(asked) = kind.checked_sub(1) else {
            return Err(Malformed);
        };
        if kind == ERROR {
            return Ok(Reply::Error(from.u32()?));
        }
        Ok(match asked {
            kind::VERSION => Reply::Version {
                most: from.u32()?,
                version: from.text()?,
            },
            kind::ATTACH => Reply::Attach(from.qid()?),
            kind::WALK => {
                let count = from.u16()?;
                if usize::from(count) > NAMES {
                    return Err(Malformed);
                }
                let qids = (0..count).map(|_| from.qid()).collect::<Result<_, _>>()?;
                Reply::Walk(qids)
            }
            kind::OPEN | kind::CREATE => {
                let (qid, _) = (from.qid()?, from.u32()?);
                match asked {
                    kind::OPEN => Reply::Open(qid),
                    _ => Reply::Create(qid),
                }
            }
            kind::SYMLINK => Reply::Symlink(from.qid()?),
            kind::READ_LINK => Reply::ReadLink(from.text()?),
            kind::GET_ATTRIBUTES => Reply::Attributes(attributes(from)?),
            kind::READ_DIRECTORY => Reply::Directory(from.data()?),
            kind::MAKE_DIRECTORY => Reply::MakeDirectory(from.qid()?),
            kind::READ => Reply::Read(from.data()?),
            kind::WRITE => Reply::Write(from.u32()?),
            kind::FLUSH
            | kind::SET_ATTRIBUTES
            | kind::SYNC
            | kind::LINK
            | kind::RENAME
            | kind::UNLINK
            | kind::CLUNK => Reply::Done(kind),
            _ => return Err(Malformed),
        })
    }
}

/// The head of the answer to a read, whose data lies elsewhere: its tag, and how many bytes were
/// read or why none were.
///
/// # Errors
/// If it is no such head.
pub fn read_head(head: &[u8]) -> Result<(u16, Result<u32, u32>), Malformed> {
    let mut from = Reader(head);
    let (len, kind, tag, value) = (from.u32()?, from.u8()?, from.u16()?, from.u32()?);
    let bytes = match kind {
        ERROR => 0,
        READ => value,
        _ => return Err(Malformed),
    };
    if u64::from(len) != DATA_HEAD as u64 + u64::from(bytes) {
        return Err(Malformed);
    }
    Ok((tag, if kind == ERROR { Err(value) } else { Ok(value) }))
}

fn attributes(from: &mut Reader<'_>) -> Result<Attributes, Malformed> {
    let (_valid, qid, mode) = (from.u64()?, from.qid()?, from.u32()?);
    let _owner = (from.u32()?, from.u32()?);
    let (links, _device, size) = (from.u64()?, from.u64()?, from.u64()?);
    let (_best, blocks) = (from.u64()?, from.u64()?);
    let mut time = || Ok((from.u64()?, from.u64()?));
    let (accessed, modified, changed, _made) = (time()?, time()?, time()?, time()?);
    let _version = (from.u64()?, from.u64()?);
    Ok(Attributes {
        qid,
        mode,
        links,
        size,
        blocks,
        accessed,
        modified,
        changed,
    })
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it is.
    pub qid: Qid,
    /// The place behind it, from which a listing can go on.
    pub next: u64,
    /// Its name, which may be anything.
    pub name: &'a [u8],
}

/// Packs one more entry where `room` bytes are meant for all; false, and nothing done, if it does
/// not fit. `kind` is Linux's number for the kind of an entry.
#[must_use]
pub fn pack(out: &mut Vec<u8>, room: usize, kind: u8, entry: &Entry) -> bool {
    let fits = out.len() + ENTRY + entry.name.len() <= room;
    if fits {
        let mut to = Writer(out);
        to.qid(&entry.qid).u64(entry.next).u8(kind).text(entry.name);
    }
    fits
}

/// Reads packed entries. After bytes that are no entry, there are no more.
#[derive(Clone, Debug)]
pub struct Entries<'a>(Reader<'a>);

impl<'a> Entries<'a> {
    /// The entries in these bytes.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Entries<'a> {
        Entries(Reader(bytes))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.0.is_empty() {
            return None;
        }
        let mut read = || {
            let (qid, next, _kind) = (self.0.qid()?, self.0.u64()?, self.0.u8()?);
            let name = self.0.text()?;
            Ok(Entry { qid, next, name })
        };
        let entry = read();
        if entry.is_err() {
            self.0 = Reader(&[]);
        }
        Some(entry)
    }
}
