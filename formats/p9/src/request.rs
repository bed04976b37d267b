//! What the driver asks.

use crate::wire::{Malformed, Reader, Writer, open};
use crate::{HEAD, NAMES, NO_FID};
use alloc::vec::Vec;

/// Types of the requests. That of an answer is one more.
pub(crate) mod kind {
    pub(crate) const OPEN: u8 = 12;
    pub(crate) const CREATE: u8 = 14;
    pub(crate) const SYMLINK: u8 = 16;
    pub(crate) const READ_LINK: u8 = 22;
    pub(crate) const GET_ATTRIBUTES: u8 = 24;
    pub(crate) const SET_ATTRIBUTES: u8 = 26;
    pub(crate) const READ_DIRECTORY: u8 = 40;
    pub(crate) const SYNC: u8 = 50;
    pub(crate) const LINK: u8 = 70;
    pub(crate) const MAKE_DIRECTORY: u8 = 72;
    pub(crate) const RENAME: u8 = 74;
    pub(crate) const UNLINK: u8 = 76;
    pub(crate) const VERSION: u8 = 100;
    pub(crate) const ATTACH: u8 = 104;
    pub(crate) const FLUSH: u8 = 108;
    pub(crate) const WALK: u8 = 110;
    pub(crate) const READ: u8 = 116;
    pub(crate) const WRITE: u8 = 118;
    pub(crate) const CLUNK: u8 = 120;
}

/// Bits of a change of attributes: what is to be set.
mod valid {
    pub(super) const SIZE: u32 = 1 << 3;
    pub(super) const ACCESSED: u32 = 1 << 4 | 1 << 7;
    pub(super) const MODIFIED: u32 = 1 << 5 | 1 << 8;
}

/// What of a file's attributes is to change. A time is seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The size.
    pub size: Option<u64>,
    /// The time of the last access.
    pub accessed: Option<(u64, u64)>,
    /// The time of the last change.
    pub modified: Option<(u64, u64)>,
    /// Bits for what is not understood here: owners, modes, times of the server's clock.
    pub others: u32,
}

/// A request. A *fid* is a number of the driver's choice that stands for a file at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The fields are those of the protocol.
pub enum Request<'a> {
    /// Begins a session: no message is longer than this, and all fids are given up.
    Version {
        most: u32,
        version: &'a [u8],
    },
    /// The fid stands for the root from now on.
    Attach {
        fid: u32,
    },
    /// Whether an earlier request, of this tag, has been answered.
    Flush {
        tag: u16,
    },
    /// The new fid stands for what lies along the names from the fid's place on.
    Walk {
        fid: u32,
        new: u32,
        names: Vec<&'a [u8]>,
    },
    Open {
        fid: u32,
        flags: u32,
    },
    /// Makes and opens a file in the fid's directory; the fid stands for the file then.
    Create {
        fid: u32,
        name: &'a [u8],
        flags: u32,
        mode: u32,
    },
    Symlink {
        fid: u32,
        name: &'a [u8],
        target: &'a [u8],
    },
    ReadLink {
        fid: u32,
    },
    GetAttributes {
        fid: u32,
    },
    SetAttributes {
        fid: u32,
        change: Change,
    },
    ReadDirectory {
        fid: u32,
        offset: u64,
        count: u32,
    },
    Sync {
        fid: u32,
    },
    Link {
        directory: u32,
        fid: u32,
        name: &'a [u8],
    },
    MakeDirectory {
        fid: u32,
        name: &'a [u8],
        mode: u32,
    },
    Rename {
        from: u32,
        name: &'a [u8],
        to: u32,
        new: &'a [u8],
    },
    Unlink {
        fid: u32,
        name: &'a [u8],
        flags: u32,
    },
    Read {
        fid: u32,
        offset: u64,
        count: u32,
    },
    Write {
        fid: u32,
        offset: u64,
        data: &'a [u8],
    },
    /// Gives the fid up.
    Clunk {
        fid: u32,
    },
}

/// Bytes of a write before its data.
pub const WRITE_HEAD: usize = HEAD + 16;

/// A write's bytes before its data, which lies elsewhere.
#[must_use]
pub fn write_head(tag: u16, fid: u32, offset: u64, count: u32) -> [u8; WRITE_HEAD] {
    let mut out = Vec::with_capacity(WRITE_HEAD);
    Writer::begin(&mut out, kind::WRITE, tag)
        .u32(fid)
        .u64(offset)
        .u32(count);
    let mut head = [0; WRITE_HEAD];
    head.copy_from_slice(&out);
    let len = (WRITE_HEAD as u32).saturating_add(count);
    head[..4].copy_from_slice(&len.to_le_bytes());
    head
}

impl<'a> Request<'a> {
    /// The type of its answer, unless that is an error.
    #[must_use]
    pub fn answer(&self) -> u8 {
        self.kind() + 1
    }

    fn kind(&self) -> u8 {
        match self {
            Request::Version { .. } => kind::VERSION,
            Request::Attach { .. } => kind::ATTACH,
            Request::Flush { .. } => kind::FLUSH,
            Request::Walk { .. } => kind::WALK,
            Request::Open { .. } => kind::OPEN,
            Request::Create { .. } => kind::CREATE,
            Request::Symlink { .. } => kind::SYMLINK,
            Request::ReadLink { .. } => kind::READ_LINK,
            Request::GetAttributes { .. } => kind::GET_ATTRIBUTES,
            Request::SetAttributes { .. } => kind::SET_ATTRIBUTES,
            Request::ReadDirectory { .. } => kind::READ_DIRECTORY,
            Request::Sync { .. } => kind::SYNC,
            Request::Link { .. } => kind::LINK,
            Request::MakeDirectory { .. } => kind::MAKE_DIRECTORY,
            Request::Rename { .. } => kind::RENAME,
            Request::Unlink { .. } => kind::UNLINK,
            Request::Read { .. } => kind::READ,
            Request::Write { .. } => kind::WRITE,
            Request::Clunk { .. } => kind::CLUNK,
        }
    }

    /// Writes the message in place of what was there. Of a walk, the first [`NAMES`] names.
    pub fn encode(&self, tag: u16, out: &mut Vec<u8>) {
        /// The basic attributes.
        const BASIC: u64 = 0x7ff;
        let mut to = Writer::begin(out, self.kind(), tag);
        match self {
            Request::Version { most, version } => to.u32(*most).text(version),
            Request::Attach { fid } => to.u32(*fid).u32(NO_FID).text(b"").text(b"").u32(0),
            Request::Flush { tag } => to.u16(*tag),
            Request::Walk { fid, new, names } => {
                let names = &names[..names.len().min(NAMES)];
                to.u32(*fid).u32(*new).u16(names.len() as u16);
                for name in names {
                    to.text(name);
                }
                &mut to
            }
            Request::Open { fid, flags } => to.u32(*fid).u32(*flags),
            Request::Create {
                fid,
                name,
                flags,
                mode,
            } => to.u32(*fid).text(name).u32(*flags).u32(*mode).u32(0),
            Request::Symlink { fid, name, target } => to.u32(*fid).text(name).text(target).u32(0),
            Request::ReadLink { fid } => to.u32(*fid),
            Request::GetAttributes { fid } => to.u32(*fid).u64(BASIC),
            Request::SetAttributes { fid, change } => {
                let bit = |set: bool, bits: u32| if set { bits } else { 0 };
                let bits = bit(change.size.is_some(), valid::SIZE)
                    | bit(change.accessed.is_some(), valid::ACCESSED)
                    | bit(change.modified.is_some(), valid::MODIFIED)
                    | change.others;
                to.u32(*fid).u32(bits).u32(0).u32(0).u32(0);
                to.u64(change.size.unwrap_or(0));
                for time in [change.accessed, change.modified] {
                    let (seconds, nanoseconds) = time.unwrap_or_default();
                    to.u64(seconds).u64(nanoseconds);
                }
                &mut to
            }
            Request::ReadDirectory { fid, offset, count }
            | Request::Read { fid, offset, count } => to.u32(*fid).u64(*offset).u32(*count),
            // The data too, not the attributes alone, which a number here would leave out.
            Request::Sync { fid } => to.u32(*fid).u32(0),
            Request::Link {
                directory,
                fid,
                name,
            } => to.u32(*directory).u32(*fid).text(name),
            Request::MakeDirectory { fid, name, mode } => to.u32(*fid).text(name).u32(*mode).u32(0),
            Request::Rename {
                from,
                name,
                to: target,
                new,
            } => to.u32(*from).text(name).u32(*target).text(new),
            Request::Unlink { fid, name, flags } => to.u32(*fid).text(name).u32(*flags),
            Request::Write { fid, offset, data } => to.u32(*fid).u64(*offset).data(data),
            Request::Clunk { fid } => to.u32(*fid),
        };
        to.end();
    }

    /// Reads a message: its tag, and the request.
    ///
    /// # Errors
    /// If it is none that is understood.
    pub fn decode(message: &'a [u8]) -> Result<(u16, Request<'a>), Malformed> {
        let (kind, tag, mut from) = open(message)?;
        let request = Request::read(kind, &mut from)?;
        if from.0.is_empty() {
            Ok((tag, request))
        } else {
            Err(Malformed)
        }
    }

    fn read(kind: u8, from: &mut Reader<'a>) -> Result<Request<'a>, Malformed> {
        Ok(match kind {
            kind::VERSION => Request::Version {
                most: from.u32()?,
                version: from.text()?,
            },
            kind::ATTACH => {
                let fid = from.u32()?;
                // Who asks, and for which tree: there is one of both.
                let _ = (from.u32()?, from.text()?, from.text()?, from.u32()?);
                Request::Attach { fid }
            }
            kind::FLUSH => Request::Flush { tag: from.u16()? },
            kind::WALK => {
                let (fid, new, count) = (from.u32()?, from.u32()?, from.u16()?);
                if usize::from(count) > NAMES {
                    return Err(Malformed);
                }
                let names = (0..count).map(|_| from.text()).collect::<Result<_, _>>()?;
                Request::Walk { fid, new, names }
            }
            kind::OPEN => Request::Open {
                fid: from.u32()?,
                flags: from.u32()?,
            },
            kind::CREATE => {
                let (fid, name) = (from.u32()?, from.text()?);
                let (flags, mode, _) = (from.u32()?, from.u32()?, from.u32()?);
                Request::Create {
                    fid,
                    name,
                    flags,
                    mode,
                }
            }
            kind::SYMLINK => {
                let (fid, name, target, _) = (from.u32()?, from.text()?, from.text()?, from.u32()?);
                Request::Symlink { fid, name, target }
            }
            kind::READ_LINK => Request::ReadLink { fid: from.u32()? },
            kind::GET_ATTRIBUTES => {
                let (fid, _) = (from.u32()?, from.u64()?);
                Request::GetAttributes { fid }
            }
            kind::SET_ATTRIBUTES => set_attributes(from)?,
            kind::READ_DIRECTORY => Request::ReadDirectory {
                fid: from.u32()?,
                offset: from.u64()?,
                count: from.u32()?,
            },
            kind::SYNC => {
                let (fid, _) = (from.u32()?, from.u32()?);
                Request::Sync { fid }
            }
            kind::LINK => Request::Link {
                directory: from.u32()?,
                fid: from.u32()?,
                name: from.text()?,
            },
            kind::MAKE_DIRECTORY => {
                let (fid, name, mode, _) = (from.u32()?, from.text()?, from.u32()?, from.u32()?);
                Request::MakeDirectory { fid, name, mode }
            }
            kind::RENAME => Request::Rename {
                from: from.u32()?,
                name: from.text()?,
                to: from.u32()?,
                new: from.text()?,
            },
            kind::UNLINK => Request::Unlink {
                fid: from.u32()?,
                name: from.text()?,
                flags: from.u32()?,
            },
            kind::READ => Request::Read {
                fid: from.u32()?,
                offset: from.u64()?,
                count: from.u32()?,
            },
            kind::WRITE => Request::Write {
                fid: from.u32()?,
                offset: from.u64()?,
                data: from.data()?,
            },
            kind::CLUNK => Request::Clunk { fid: from.u32()? },
            _ => return Err(Malformed),
        })
    }
}

fn set_attributes<'a>(from: &mut Reader<'a>) -> Result<Request<'a>, Malformed> {
    let (fid, bits) = (from.u32()?, from.u32()?);
    // Mode, owner and group.
    let _ = (from.u32()?, from.u32()?, from.u32()?);
    let size = from.u64()?;
    let accessed = (from.u64()?, from.u64()?);
    let modified = (from.u64()?, from.u64()?);
    let set = |wanted: u32| bits & wanted == wanted;
    let mut understood = 0;
    for bit in [valid::SIZE, valid::ACCESSED, valid::MODIFIED] {
        if set(bit) {
            understood |= bit;
        }
    }
    let change = Change {
        size: set(valid::SIZE).then_some(size),
        accessed: set(valid::ACCESSED).then_some(accessed),
        modified: set(valid::MODIFIED).then_some(modified),
        others: bits & !understood,
    };
    Ok(Request::SetAttributes { fid, change })
}
