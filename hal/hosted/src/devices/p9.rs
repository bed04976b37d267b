//! A server of 9P2000.L for a directory of the host: requests of a driver, who may be hostile.
//!
//! Invariants:
//! - Any bytes get an answer, which is no longer than there is room for; what a driver can make
//!   large (fids, names, counts, messages) is bounded before anything is done.
//! - Each fid has one descriptor, and each server of the process has a share of its own, of
//!   [`MOST_DESCRIPTORS`] or of more ([`more_fids`]), so that none takes those of another.
//! - What is reached of the host is the business of `p9_files`.
//! - [`Server::serve_at_once`] answers only what Linux has in memory: names in its cache, contents in
//!   its page cache, and what it knows of files of a local file system. It has no effect on the
//!   host, but for the time of an access. For all else it answers nothing and changes nothing.
//! - That a listing is at its end is found with its last entries, and answered once without asking
//!   Linux: what comes to the directory between both requests may be in a listing or not.

use super::p9_ahead::Ahead;
use super::p9_files::{
    Entity, Opened, Patience, Root, is_named, kind, read, read_cached, read_link, which, write,
};
pub(super) use super::p9_shares::{MOST_DESCRIPTORS, more_fids};
use rustix::fs::{FileType, RawDir, SeekFrom, fstat, seek, statat};
use rustix::io::Errno;
use sing_p9::{
    DATA_HEAD, Entry, LONGEST_TARGET, NO_TAG, Qid, REMOVE_DIRECTORY, Reply, Request, VERSION, open,
    pack,
};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The longest message, with 256 KiB of data.
pub(super) const MOST: u32 = (256 << 10) + 64;
/// The shortest message that a session can be limited to: a walk of 16 long names fits.
const LEAST: u32 = 8 << 10;
/// The most names of a walk that is served at once.
const NAMES: usize = 4;
/// The most bytes of entries of one answer.
const ENTRIES: usize = 64 << 10;

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

    /// Serves a request as [`Server::serve`] does, if nothing is waited for; false if something may be,
    /// or anything is wrong with it: then nothing has been done.
    pub(super) fn serve_at_once(&mut self, message: &[u8], room: usize, out: &mut Vec<u8>) -> bool {
        let Ok((tag, request)) = Request::decode(message) else {
            return false;
        };
        let mut data = std::mem::take(&mut self.data);
        let answer = self.answer_at_once(request, room, &mut data);
        let is_served = match answer {
            Ok(reply) => {
                reply.encode(tag, out);
                true
            }
            // Linux knows that there is no such name.
            Err(Errno::NOENT) => {
                Reply::Error(Errno::NOENT.raw_os_error().cast_unsigned()).encode(tag, out);
                true
            }
            Err(_) => false,
        };
        self.data = data;
        if is_served {
            fit(tag, room, out);
        }
        is_served
    }

    fn answer_at_once<'a>(
        &mut self,
        request: Request,
        room: usize,
        data: &'a mut Vec<u8>,
    ) -> Result<Reply<'a>, Errno> {
        let done = Reply::Done(request.answer());
        let quick = |fid: &Fid| match fid.is_quick {
            true => Ok(()),
            false => Err(Errno::AGAIN),
        };
        match request {
            // A session that ends closes its files.
            Request::Version { most, version } if self.fids.is_empty() => {
                Ok(self.begin(most, version))
            }
            _ if self.most == 0 => Err(Errno::AGAIN),
            Request::Attach { fid } => self.attach(fid, Patience::None),
            Request::Walk { fid, new, names } if names.len() <= NAMES => {
                quick(self.known(fid)?)?;
                // What the new fid stood for would be closed.
                if new == fid {
                    return Err(Errno::AGAIN);
                }
                self.walk(fid, new, &names, Patience::None)
            }
            Request::Open {
                fid,
                flags: flags @ (open::READ | open::READ_WRITE),
            } => {
                let known = self.known(fid)?;
                quick(known)?;
                if known.stands.open().is_some() {
                    return Err(Errno::INVAL);
                }
                let (fd, writes) = (known.stands.fd(), flags == open::READ_WRITE);
                let opened = self.root.reopen_at_once(fd, writes)?;
                self.put_open(fid, opened)
            }
            Request::GetAttributes { fid } => {
                let known = self.known(fid)?;
                quick(known)?;
                let attributes = self.root.attributes(known.stands.fd())?;
                Ok(Reply::Attributes(attributes))
            }
            Request::Read { fid, offset, count } => {
                quick(self.known(fid)?)?;
                let room = self.room(count, room);
                let open = self.opened(fid, false)?;
                let into = room_in(data, room);
                let count = read_cached(&open.file, into, offset)?;
                Ok(Reply::Read(&data[..count]))
            }
            Request::ReadDirectory { fid, offset, .. } => {
                let known = self.fids.get_mut(&fid).ok_or(Errno::AGAIN)?;
                known
                    .end
                    .take_if(|end| *end == offset)
                    .ok_or(Errno::AGAIN)?;
                Ok(Reply::Directory(&[]))
            }
            Request::Clunk { fid } => {
                let known = self.known(fid)?;
                quick(known)?;
                if known.has_changed || !is_named(known.stands.fd()) {
                    return Err(Errno::AGAIN);
                }
                // Whoever closes a file first may start the writing of what another fid changed.
                if let Some(open) = known.stands.open()
                    && self.ahead.has(which(open.file.as_fd())?)
                {
                    return Err(Errno::AGAIN);
                }
                self.fids.remove(&fid);
                Ok(done)
            }
            _ => Err(Errno::AGAIN),
        }
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
        match answer {
            Ok(reply) => reply.encode(tag, out),
            Err(error) => Reply::Error(error.raw_os_error().cast_unsigned()).encode(tag, out),
        }
        self.data = data;
        fit(tag, room, out);
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

/// Packs entries of a directory from a place on, as many as there is room for. If the last one is among them,
/// the place behind it.
fn list(
    root: &Root,
    open: &Opened,
    offset: u64,
    room: usize,
    out: &mut Vec<u8>,
) -> Result<Option<u64>, Errno> {
    out.clear();
    let mut end = None;
    let room = room.min(ENTRIES);
    let fd = open.file.as_fd();
    // What no entry's place can be is behind the last.
    if i64::try_from(offset).is_err() {
        return Ok(None);
    }
    match seek(fd, SeekFrom::Start(offset)) {
        Err(Errno::INVAL) => return Ok(None),
        found => found?,
    };
    let device = fstat(fd)?.st_dev;
    // Linux gives no fewer bytes for an entry than it takes here.
    let mut buffer = vec![MaybeUninit::uninit(); room.max(4096)];
    let mut entries = RawDir::new(fd, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        let mut of = entry.file_type();
        if of == FileType::Unknown {
            let stat = statat(fd, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
            of = stat.map_or(FileType::Unknown, |s| FileType::from_raw_mode(s.st_mode));
        }
        let qid = Qid {
            kind: kind(of),
            version: 0,
            path: root.path(device, entry.ino()),
        };
        let packed = Entry {
            qid,
            next: entry.next_entry_cookie(),
            name: name.to_bytes(),
        };
        if !pack(out, room, of.as_raw_mode().wrapping_shr(12) as u8, &packed) {
            if out.is_empty() {
                return Err(Errno::INVAL);
            }
            return Ok(None);
        }
        end = Some(packed.next);
    }
    Ok(end)
}
