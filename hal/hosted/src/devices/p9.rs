//! A server of 9P2000.L for a directory of the host: requests of a driver, who may be hostile.
//!
//! Invariants:
//! - Any bytes get an answer, which is no longer than there is room for; what a driver can make
//!   large (fids, names, counts, messages) is bounded before anything is done.
//! - Each fid has one descriptor, and each server of the process has a share of its own, of
//!   [`MOST_DESCRIPTORS`] or of more ([`more_fids`]), so that none takes those of another.
//! - What is reached of the host is the business of `p9_files`.
//! - What is served without waiting is the business of `at_once`.

mod at_once;
mod listing;

use super::p9_ahead::Ahead;
use super::p9_files::{Entity, Opened, Patience, Root, read, read_link, which, write};
pub(super) use super::p9_shares::{MOST_DESCRIPTORS, more_fids};
use listing::list;
use rustix::io::Errno;
use sing_p9::{
    DATA_HEAD, LONGEST_TARGET, NO_TAG, Qid, REMOVE_DIRECTORY, Reply, Request, VERSION, open,
};
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The longest message, with 256 KiB of data.
pub(super) const MOST: u32 = (256 << 10) + 64;
/// The shortest message that a session can be limited to: a walk of 16 long names fits.
const LEAST: u32 = 8 << 10;

/// What a fid stands for.
enum Stands {
    /// A file that is not open.
    For(OwnedFd),
    /// An open one.
    Open(Opened),
}

impl Stands {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Stands::For(fd) => fd.as_fd(),
            Stands::Open(open) => open.file.as_fd(),
        }
    }

    fn open(&self) -> Option<&Opened> {
        match self {
            Stands::For(_) => None,
            Stands::Open(open) => Some(open),
        }
    }
}

/// A fid.
struct Fid {
    stands: Stands,
    /// Whether what Linux knows of it is had without waiting.
    is_quick: bool,
    /// Whether something of the file was changed by it, which Linux may do more for when it is closed.
    has_changed: bool,
    /// The place behind the last entry, after a listing that has come to the end.
    end: Option<u64>,
}

impl Fid {
    fn of(found: Entity) -> Fid {
        Fid {
            stands: Stands::For(found.fd),
            is_quick: found.is_quick,
            has_changed: false,
            end: None,
        }
    }
}

/// A server of one directory.
pub(super) struct Server {
    root: Root,
    fids: HashMap<u32, Fid>,
    /// How many fids there can be.
    most_fids: usize,
    /// What was written and may not be on the disk.
    ahead: Ahead,
    /// The longest message that is agreed on.
    longest: u32,
    /// The one that was; 0 before a session.
    most: u32,
    /// Data of an answer, kept for its room.
    data: Vec<u8>,
}

impl Server {
    /// A server that has so many fids (`p9_shares`).
    pub(super) fn new(root: Root, most_fids: usize) -> Server {
        Server {
            root,
            fids: HashMap::new(),
            ahead: Ahead::default(),
            most_fids,
            longest: MOST,
            most: 0,
            data: Vec::new(),
        }
    }

    /// The same with messages of so many bytes at the most.
    pub(super) fn within(self, longest: u32) -> Server {
        Server { longest, ..self }
    }

    /// Serves a request; the answer has at most `room` bytes, and is empty where not even an error
    /// fits.
    pub(super) fn serve(&mut self, message: &[u8], room: usize, out: &mut Vec<u8>) {
        let mut tag = match message {
            [_, _, _, _, _, a, b, ..] => u16::from_le_bytes([*a, *b]),
            _ => NO_TAG,
        };
        let mut data = std::mem::take(&mut self.data);
        let answer = match Request::decode(message) {
            Ok((its, request)) => {
                tag = its;
                self.answer(request, room, &mut data)
            }
            Err(_) => Err(Errno::PROTO),
        };
        put(answer, tag, room, out);
        self.data = data;
    }

    #[cfg(test)]
    pub(super) fn ahead(&self) -> &Ahead {
        &self.ahead
    }

    fn known(&self, fid: u32) -> Result<&Fid, Errno> {
        self.fids.get(&fid).ok_or(Errno::BADF)
    }

    /// Something of the file is changed by this fid.
    fn changes(&mut self, fid: u32) {
        if let Some(known) = self.fids.get_mut(&fid) {
            known.has_changed = true;
        }
    }

    fn fid(&self, fid: u32) -> Result<&Stands, Errno> {
        self.known(fid).map(|fid| &fid.stands)
    }

    fn at(&self, fid: u32) -> Result<BorrowedFd<'_>, Errno> {
        self.fid(fid).map(Stands::fd)
    }

    /// A file that is open.
    fn opened(&self, fid: u32, directory: bool) -> Result<&Opened, Errno> {
        let open = self.fid(fid)?.open().ok_or(Errno::BADF)?;
        match (open.is_directory, directory) {
            (true, false) => Err(Errno::ISDIR),
            (false, true) => Err(Errno::NOTDIR),
            _ => Ok(open),
        }
    }

    /// Refuses a fid that stands for something already, or one too many.
    fn is_fresh(&self, fid: u32) -> Result<(), Errno> {
        if self.fids.contains_key(&fid) {
            Err(Errno::INVAL)
        } else if self.fids.len() >= self.most_fids {
            Err(Errno::NFILE)
        } else {
            Ok(())
        }
    }

    /// How much data an answer may have, of what is asked for.
    fn room(&self, count: u32, room: usize) -> usize {
        let room = room.min(self.most as usize).saturating_sub(DATA_HEAD);
        room.min(count as usize)
    }

    fn answer<'a>(
        &mut self,
        request: Request,
        room: usize,
        data: &'a mut Vec<u8>,
    ) -> Result<Reply<'a>, Errno> {
        let done = Reply::Done(request.answer());
        if self.most == 0 && !matches!(request, Request::Version { .. }) {
            return Err(Errno::PROTO);
        }
        match request {
            Request::Version { most, version } => Ok(self.begin(most, version)),
            Request::Attach { fid } => self.attach(fid, Patience::Any),
            // Requests are served one after the other: the earlier one has been answered.
            Request::Flush { .. } => Ok(done),
            Request::Walk { fid, new, names } => self.walk(fid, new, &names, Patience::Any),
            Request::Open { fid, flags } => self.open(fid, flags),
            Request::Create {
                fid,
                name,
                flags,
                mode,
            } => self.create(fid, name, flags, mode),
            Request::Symlink { fid, name, target } => {
                if target.len() > LONGEST_TARGET {
                    return Err(Errno::NAMETOOLONG);
                }
                let qid = self.root.make_link(self.at(fid)?, name, target)?;
                Ok(Reply::Symlink(qid))
            }
            Request::ReadLink { fid } => {
                *data = read_link(self.at(fid)?)?;
                Ok(Reply::ReadLink(data))
            }
            Request::GetAttributes { fid } => {
                let attributes = self.root.attributes(self.at(fid)?)?;
                Ok(Reply::Attributes(attributes))
            }
            Request::SetAttributes { fid, change } => {
                self.changes(fid);
                let fid = self.fid(fid)?;
                self.root.change(fid.fd(), fid.open(), &change)?;
                Ok(done)
            }
            Request::ReadDirectory { fid, offset, count } => {
                let room = self.room(count, room);
                if let Some(known) = self.fids.get_mut(&fid) {
                    known.end = None;
                }
                let open = self.opened(fid, true)?;
                let end = list(&self.root, open, offset, room, data)?;
                if let Some(known) = self.fids.get_mut(&fid) {
                    known.end = end;
                }
                Ok(Reply::Directory(data))
            }
            Request::Sync { fid } => {
                let fid = self.fid(fid)?;
                self.root.sync(fid.fd(), fid.open())?;
                let file = which(fid.fd())?;
                self.ahead.is_safe(file);
                Ok(done)
            }
            Request::Link {
                directory,
                fid,
                name,
            } => {
                let (fd, at) = (self.at(fid)?, self.at(directory)?);
                self.root.link(fd, at, name)?;
                Ok(done)
            }
            Request::MakeDirectory { fid, name, mode } => {
                let qid = self.root.make_directory(self.at(fid)?, name, mode)?;
                Ok(Reply::MakeDirectory(qid))
            }
            Request::Rename {
                from,
                name,
                to,
                new,
            } => {
                let (from, to) = (self.at(from)?, self.at(to)?);
                self.root.rename(from, name, to, new)?;
                Ok(done)
            }
            Request::Unlink { fid, name, flags } => {
                if flags & !REMOVE_DIRECTORY != 0 {
                    return Err(Errno::INVAL);
                }
                let directory = flags & REMOVE_DIRECTORY != 0;
                self.root.unlink(self.at(fid)?, name, directory)?;
                Ok(done)
            }
            Request::Read { fid, offset, count } => {
                let room = self.room(count, room);
                let open = self.opened(fid, false)?;
                let count = read(&open.file, room_in(data, room), offset)?;
                Ok(Reply::Read(&data[..count]))
            }
            Request::Write {
                fid,
                offset,
                data: written,
            } => {
                let open = self.opened(fid, false)?;
                if !open.writes {
                    return Err(Errno::BADF);
                }
                let count = write(&open.file, written, offset)?;
                let file = which(open.file.as_fd())?;
                self.changes(fid);
                if self.ahead.wrote(file, count as u64) {
                    self.root.sync_data(self.at(fid)?)?;
                    self.ahead.is_safe(file);
                }
                Ok(Reply::Write(count as u32))
            }
            Request::Clunk { fid } => {
                self.fids.remove(&fid).ok_or(Errno::BADF)?;
                Ok(done)
            }
        }
    }

    /// Begins a session: what was before is forgotten.
    fn begin<'a>(&mut self, most: u32, version: &[u8]) -> Reply<'a> {
        self.fids.clear();
        if version == VERSION && most >= LEAST {
            self.most = most.min(self.longest);
            Reply::Version {
                most: self.most,
                version: VERSION,
            }
        } else {
            self.most = 0;
            Reply::Version {
                most: most.min(self.longest),
                version: b"unknown",
            }
        }
    }

    fn attach<'a>(&mut self, fid: u32, patience: Patience) -> Result<Reply<'a>, Errno> {
        self.is_fresh(fid)?;
        let found = self.root.attach(patience)?;
        let qid = found.qid;
        self.fids.insert(fid, Fid::of(found));
        Ok(Reply::Attach(qid))
    }

    /// Goes along the names. Where the first of them leads to nothing, that is an error; where a
    /// later one does, the answer is shorter, and the new fid stands for nothing.
    fn walk<'a>(
        &mut self,
        fid: u32,
        new: u32,
        names: &[&[u8]],
        patience: Patience,
    ) -> Result<Reply<'a>, Errno> {
        if new != fid {
            self.is_fresh(new)?;
        }
        let from = self.known(fid)?;
        // What is open stays what it is.
        if new == fid && from.stands.open().is_some() {
            return Err(Errno::INVAL);
        }
        let mut qids: Vec<Qid> = Vec::new();
        let mut here: Option<Entity> = None;
        for name in names {
            let at = here.as_ref().map_or(from.stands.fd(), |at| at.fd.as_fd());
            match self.root.find(at, name, patience) {
                Ok(found) => {
                    qids.push(found.qid);
                    here = Some(found);
                }
                Err(error) if qids.is_empty() => return Err(error),
                // What is not in memory is looked for by who may wait.
                Err(error) if patience == Patience::None && error != Errno::NOENT => {
                    return Err(Errno::AGAIN);
                }
                Err(_) => return Ok(Reply::Walk(qids)),
            }
        }
        let found = match here {
            Some(found) => Fid::of(found),
            None => Fid {
                stands: Stands::For(rustix::io::fcntl_dupfd_cloexec(from.stands.fd(), 0)?),
                is_quick: from.is_quick,
                has_changed: false,
                end: None,
            },
        };
        self.fids.insert(new, found);
        Ok(Reply::Walk(qids))
    }

    fn open<'a>(&mut self, fid: u32, flags: u32) -> Result<Reply<'a>, Errno> {
        let known = self.fid(fid)?;
        if known.open().is_some() {
            return Err(Errno::INVAL);
        }
        let writes = flags & open::ACCESS != open::READ || flags & open::TRUNCATE != 0;
        if writes {
            self.root.may_change()?;
        }
        let opened = self.root.reopen(known.fd(), writes)?;
        if flags & open::DIRECTORY != 0 && !opened.is_directory {
            return Err(Errno::NOTDIR);
        }
        if flags & open::TRUNCATE != 0 {
            rustix::fs::ftruncate(&opened.file, 0)?;
            self.changes(fid);
        }
        self.put_open(fid, opened)
    }

    /// Has a fid stand for a file or directory that was opened.
    fn put_open<'a>(&mut self, fid: u32, opened: Opened) -> Result<Reply<'a>, Errno> {
        let qid = self.root.attributes(opened.file.as_fd())?.qid;
        if let Some(known) = self.fids.get_mut(&fid) {
            known.stands = Stands::Open(opened);
        }
        Ok(Reply::Open(qid))
    }

    fn create<'a>(
        &mut self,
        fid: u32,
        name: &[u8],
        flags: u32,
        mode: u32,
    ) -> Result<Reply<'a>, Errno> {
        let known = self.fid(fid)?;
        if known.open().is_some() {
            return Err(Errno::INVAL);
        }
        // Without that, what is there already would be opened, whatever it is.
        if flags & open::EXCLUSIVE == 0 {
            return Err(Errno::OPNOTSUPP);
        }
        let (file, qid) = self.root.create(known.fd(), name, mode)?;
        if let Some(known) = self.fids.get_mut(&fid) {
            known.has_changed = true;
            known.stands = Stands::Open(Opened {
                file,
                is_directory: false,
                writes: true,
            });
        }
        Ok(Reply::Create(qid))
    }
}

/// Puts the answer to a request, or why there is none, which has at most `room` bytes.
fn put(answer: Result<Reply<'_>, Errno>, tag: u16, room: usize, out: &mut Vec<u8>) {
    let refused = |error: Errno| Reply::Error(error.raw_os_error().cast_unsigned());
    answer.unwrap_or_else(refused).encode(tag, out);
    fit(tag, room, out);
}

/// Makes an error of an answer that is longer than there is room, and nothing where not even that fits.
fn fit(tag: u16, room: usize, out: &mut Vec<u8>) {
    if out.len() > room {
        Reply::Error(sing_p9::errno::EPROTO).encode(tag, out);
        out.truncate(if out.len() > room { 0 } else { out.len() });
    }
}

/// So many bytes for data that is read, whatever they hold.
fn room_in(data: &mut Vec<u8>, room: usize) -> &mut [u8] {
    if data.len() < room {
        data.resize(room, 0);
    }
    &mut data[..room]
}
