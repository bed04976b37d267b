//! What the contracts ask of directories and files, by requests to the server.

use crate::faults::{Refused, changing};
use crate::session::{Session, Transport};
use crate::walk::Place;
use alloc::string::String;
use core::ops::Range;
use sing_p9::{Attributes, Change, LONGEST_TARGET, Qid, errno, mode, open};
use sing_sdk::contracts::{FileAttributes, FileFault, FileKind, OpenHow};
use sing_sdk::fs::KEEP;
use sing_sdk::path::LastLink;

/// Permissions of what is made; the host's mask applies.
const FILE_MODE: u32 = 0o666;
const DIRECTORY_MODE: u32 = 0o777;
/// The largest size of a file: Linux counts in signed numbers.
const LARGEST: u64 = i64::MAX as u64;
/// Requests for one client's read or write: a server that moves less than a page each time does not
/// want to.
const ROUNDS: usize = 512;
const NANOS: u64 = 1_000_000_000;

/// How a client wants something opened.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Whether it is made.
    pub how: OpenHow,
    /// Whether its content is thrown away.
    pub truncate: bool,
    /// Whether a link at the end of the path is followed.
    pub follow: bool,
    /// Whether it may be changed.
    pub write: bool,
    /// Whether the client wants a file, or else a directory.
    pub file: bool,
}

/// Something that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its fid, which is the caller's now.
    pub fid: u32,
    /// Whether it can be changed.
    pub write: bool,
}

/// What a qid says.
pub fn kind(qid: &Qid) -> FileKind {
    if qid.is_directory() {
        FileKind::Directory
    } else if qid.is_link() {
        FileKind::Link
    } else {
        FileKind::File
    }
}

/// Attributes as a message has them.
fn attributes(of: &Attributes) -> FileAttributes {
    let time = |(seconds, nanos): (u64, u64)| {
        let nanos = seconds.saturating_mul(NANOS).saturating_add(nanos);
        // The greatest number has a meaning of its own.
        nanos.min(KEEP - 1)
    };
    let kind = kind(&of.qid);
    FileAttributes {
        id: of.qid.path,
        kind,
        links: u32::try_from(of.links).unwrap_or(u32::MAX),
        bytes: match kind {
            FileKind::Directory => 0,
            _ => of.size,
        },
        allocated: of.blocks.saturating_mul(512),
        accessed: time(of.accessed),
        modified: time(of.modified),
        changed: time(of.changed),
        // The protocol has it, and hardly a server tells.
        created: 0,
    }
}

/// Times to set, from those of a message.
fn times(accessed: u64, modified: u64) -> Change {
    let time = |nanos: u64| (nanos != KEEP).then_some((nanos / NANOS, nanos % NANOS));
    Change {
        accessed: time(accessed),
        modified: time(modified),
        ..Change::default()
    }
}

impl<T: Transport> Session<T> {
    /// The attributes of what a path leads to.
    pub fn attributes_at(
        &mut self,
        base: u32,
        path: &str,
        follow: bool,
    ) -> Result<FileAttributes, FileFault> {
        self.with_place(base, path, LastLink::following(follow), |s, place| {
            let (fid, _) = place.existing()?;
            s.attributes_of(fid)
        })
    }

    /// The attributes of what a fid stands for.
    pub fn attributes_of(&mut self, fid: u32) -> Result<FileAttributes, FileFault> {
        Ok(attributes(&self.attributes(fid)?))
    }

    /// Opens a file, or a directory, or makes a file.
    pub fn open_at(&mut self, base: u32, path: &str, wish: Wish) -> Result<Opened, FileFault> {
        let makes = wish.how != OpenHow::Existing;
        if (makes || wish.truncate) && !wish.file {
            return Err(FileFault::BadRequest);
        }
        let follow = wish.follow && wish.how != OpenHow::Create;
        // A second time if somebody makes the file after the first look.
        for _ in 0..2 {
            let opened = self.with_place(base, path, LastLink::following(follow), |s, place| {
                s.open_place(place, wish, makes)
            });
            if opened != Err(FileFault::Exists) || wish.how == OpenHow::Create {
                return opened;
            }
        }
        Err(FileFault::Busy)
    }

    fn open_place(
        &mut self,
        place: &mut Place,
        wish: Wish,
        makes: bool,
    ) -> Result<Opened, FileFault> {
        let Some((fid, qid)) = place.node else {
            if !makes {
                return Err(FileFault::NotFound);
            }
            if !wish.write {
                return Err(FileFault::ReadOnly);
            }
            if place.directory {
                return Err(FileFault::IsDirectory);
            }
            let (above, name) = place.named()?;
            let fid = self.create(above, name, FILE_MODE).map_err(changing)?;
            return Ok(Opened { fid, write: true });
        };
        if wish.how == OpenHow::Create {
            return Err(FileFault::Exists);
        }
        let opened = match (kind(&qid), wish.file) {
            (FileKind::Link, _) => return Err(FileFault::Loop),
            (FileKind::Directory, true) => return Err(FileFault::IsDirectory),
            (FileKind::File, false) => return Err(FileFault::NotDirectory),
            // It is walked from, and not opened before it is listed.
            (FileKind::Directory, false) => Opened {
                fid,
                write: wish.write,
            },
            (FileKind::File, true) => self.open_file(fid, wish)?,
        };
        place.node = None;
        Ok(opened)
    }

    /// Whether this is a file here. Pipes, sockets and devices of the host are not, though their
    /// qids look like a file's: some servers would open them.
    pub(crate) fn is_plain(&mut self, fid: u32) -> Result<bool, FileFault> {
        Ok(self.attributes(fid)?.mode & mode::KIND == mode::FILE)
    }

    fn open_file(&mut self, fid: u32, wish: Wish) -> Result<Opened, FileFault> {
        if wish.truncate && !wish.write {
            return Err(FileFault::ReadOnly);
        }
        if !self.is_plain(fid)? {
            return Err(FileFault::NotSupported);
        }
        if wish.write {
            match self.open(fid, open::READ_WRITE) {
                Ok(()) if wish.truncate => {
                    self.resize(fid, 0)?;
                    return Ok(Opened { fid, write: true });
                }
                Ok(()) => return Ok(Opened { fid, write: true }),
                // It can be read all the same, unless more was asked for.
                Err(Refused(errno::EROFS | errno::EACCES | errno::EPERM | errno::ETXTBSY))
                    if !wish.truncate => {}
                Err(refused) => return Err(changing(refused)),
            }
        }
        self.open(fid, open::READ)?;
        Ok(Opened { fid, write: false })
    }

    /// Makes a directory.
    pub fn make_directory_at(&mut self, base: u32, path: &str) -> Result<(), FileFault> {
        self.with_place(base, path, LastLink::Name, |s, place| {
            let (above, name) = place.fresh()?;
            s.make_directory(above, name, DIRECTORY_MODE)
                .map_err(changing)
        })
    }

    /// Removes the name of a file or link.
    pub fn remove_at(&mut self, base: u32, path: &str) -> Result<(), FileFault> {
        self.with_place(base, path, LastLink::Name, |s, place| {
            if place.existing_name()?.1.is_directory() {
                return Err(FileFault::IsDirectory);
            }
            let (above, name) = place.named()?;
            s.unlink(above, name, false).map_err(changing)
        })
    }

    /// Removes an empty directory.
    pub fn remove_directory_at(&mut self, base: u32, path: &str) -> Result<(), FileFault> {
        self.with_place(base, path, LastLink::Name, |s, place| {
            if !place.existing()?.1.is_directory() {
                return Err(FileFault::NotDirectory);
            }
            let (above, name) = place.named()?;
            s.unlink(above, name, true).map_err(changing)
        })
    }

    /// Gives what is at one path another name.
    pub fn rename_at(&mut self, base: u32, from: &str, to: &str) -> Result<(), FileFault> {
        self.with_place(base, from, LastLink::Name, |s, from| {
            let (_, qid) = from.existing_name()?;
            s.with_place(base, to, LastLink::Name, |s, to| {
                if to.directory && !qid.is_directory() {
                    return Err(FileFault::NotDirectory);
                }
                if to.node.is_some() {
                    to.existing_name()?;
                }
                let renamed = s.rename(from.named()?, to.named()?);
                renamed.map_err(|refused| match refused {
                    // A directory would come to lie in itself.
                    Refused(errno::EINVAL) => FileFault::Loop,
                    refused => changing(refused),
                })
            })
        })
    }

    /// Gives a file or link a further name.
    pub fn link_at(&mut self, base: u32, from: &str, to: &str) -> Result<(), FileFault> {
        self.with_place(base, from, LastLink::Itself, |s, from| {
            let (fid, qid) = from.existing()?;
            if qid.is_directory() {
                return Err(FileFault::IsDirectory);
            }
            s.with_place(base, to, LastLink::Name, |s, to| {
                let (above, name) = to.fresh()?;
                if to.directory {
                    return Err(FileFault::NotFound);
                }
                s.link(fid, above, name).map_err(changing)
            })
        })
    }

    /// Makes a symbolic link.
    pub fn make_link_at(&mut self, base: u32, path: &str, target: &str) -> Result<(), FileFault> {
        if target.is_empty() || target.len() > LONGEST_TARGET || target.contains('\0') {
            return Err(FileFault::BadName);
        }
        self.with_place(base, path, LastLink::Name, |s, place| {
            let (above, name) = place.fresh()?;
            if place.directory {
                return Err(FileFault::NotFound);
            }
            s.make_link(above, name, target.as_bytes())
                .map_err(changing)
        })
    }

    /// The text of a symbolic link.
    pub fn read_link_at(&mut self, base: u32, path: &str) -> Result<String, FileFault> {
        self.with_place(base, path, LastLink::Itself, |s, place| {
            let (fid, qid) = place.existing()?;
            if !qid.is_link() {
                return Err(FileFault::BadRequest);
            }
            let target = s.read_link(fid)?;
            String::from_utf8(target).map_err(|_| FileFault::BadName)
        })
    }

    /// Sets the times of what a path leads to.
    pub fn set_times_at(
        &mut self,
        base: u32,
        path: &str,
        follow: bool,
        (accessed, modified): (u64, u64),
    ) -> Result<(), FileFault> {
        self.with_place(base, path, LastLink::following(follow), |s, place| {
            let (fid, _) = place.existing()?;
            s.set_times(fid, accessed, modified)
        })
    }

    /// Sets the times of what a fid stands for.
    pub fn set_times(&mut self, fid: u32, accessed: u64, modified: u64) -> Result<(), FileFault> {
        let change = times(accessed, modified);
        self.change(fid, change).map_err(changing)
    }

    /// Cuts an open file off, or lets it grow.
    pub fn resize(&mut self, fid: u32, bytes: u64) -> Result<(), FileFault> {
        if bytes > LARGEST {
            return Err(FileFault::TooLarge);
        }
        let change = Change {
            size: Some(bytes),
            ..Change::default()
        };
        self.change(fid, change).map_err(changing)
    }

    /// Makes what a fid stands for safe from a power cut. A directory is opened for that, as what
    /// is not open cannot be written down; and only for who may have changed something in it.
    pub fn sync_of(&mut self, open: Opened, is_directory: bool) -> Result<(), FileFault> {
        if !is_directory {
            return Ok(self.sync(open.fid)?);
        }
        if !open.write {
            return Err(FileFault::ReadOnly);
        }
        let (own, _) = self.walk(open.fid, &[])?;
        let own = own.ok_or(FileFault::Medium)?;
        let flags = open::READ | open::DIRECTORY;
        let synced = match self.open(own, flags) {
            Ok(()) => self.sync(own),
            Err(refused) => Err(refused),
        };
        self.clunk(own);
        Ok(synced?)
    }

    /// Fills a part of the data from a file, to its end; how many bytes. The data is gone if the
    /// session is lost.
    pub fn read_all(
        &mut self,
        fid: u32,
        offset: u64,
        mut data: T::Data,
        part: Range<u32>,
    ) -> (Option<T::Data>, Result<u32, FileFault>) {
        let mut done = 0;
        for _ in 0..ROUNDS {
            let left = part.end - part.start - done;
            let Some(at) = offset.checked_add(done.into()).filter(|at| *at < LARGEST) else {
                return (Some(data), Ok(done));
            };
            if left == 0 {
                return (Some(data), Ok(done));
            }
            let from = part.start + done;
            let now = from..from + left.min(self.most());
            let (back, read) = self.read(fid, at, data, now);
            let Some(back) = back else {
                return (None, Err(FileFault::Medium));
            };
            data = back;
            match read {
                Ok(0) => return (Some(data), Ok(done)),
                Ok(count) => done += count,
                Err(refused) => return (Some(data), Err(refused.into())),
            }
        }
        (Some(data), Err(FileFault::Medium))
    }

    /// Writes a part of the data to a file; how many bytes, fewer if the host has no room for more.
    /// The data is gone if the session is lost.
    pub fn write_all(
        &mut self,
        fid: u32,
        offset: u64,
        mut data: T::Data,
        part: Range<u32>,
    ) -> (Option<T::Data>, Result<u32, FileFault>) {
        let mut done = 0;
        let len = part.end - part.start;
        if offset > LARGEST - u64::from(len) {
            return (Some(data), Err(FileFault::TooLarge));
        }
        for _ in 0..ROUNDS {
            if done == len {
                return (Some(data), Ok(done));
            }
            let from = part.start + done;
            let now = from..from + (len - done).min(self.most());
            let (back, written) = self.write(fid, offset + u64::from(done), data, now);
            let Some(back) = back else {
                return (None, Err(FileFault::Medium));
            };
            data = back;
            match written {
                Ok(0) if done == 0 => return (Some(data), Err(FileFault::NoSpace)),
                Ok(0) => return (Some(data), Ok(done)),
                Ok(count) => done += count,
                // What is written is written.
                Err(_) if done > 0 => return (Some(data), Ok(done)),
                Err(refused) => return (Some(data), Err(changing(refused))),
            }
        }
        (Some(data), Ok(done))
    }

    /// The size of a file.
    pub fn size_of(&mut self, fid: u32) -> Result<u64, FileFault> {
        Ok(self.attributes(fid)?.size)
    }
}
