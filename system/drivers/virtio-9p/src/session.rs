//! A session with the server: one request at a time, and its answer.
//!
//! Invariant: after an answer that is none, or without one, the session is lost, and every further
//! request fails at once.

use crate::faults::Refused;
use crate::recent::Recent;
use alloc::vec::Vec;
use core::ops::Range;
use sing_p9::{
    Attributes, Change, DATA_HEAD, Qid, Reply, Request, VERSION, errno, read_head, write_head,
};

/// The most data of a message.
pub const DATA: u32 = 256 << 10;
/// The longest answer without data that moves: it has entries of a directory.
pub const ANSWER: usize = 20 << 10;
/// The longest request without such data: it has a link's target, and a name.
pub const REQUEST: usize = 8 << 10;
/// Of a message beside its data, in the session's limit.
const HEADS: u32 = 64;
/// The tag of all requests: there is one at a time.
const TAG: u16 = 1;
/// The directory that is served.
pub const ROOT: u32 = 0;

/// The server does not answer, or not in this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// There is none, and will be none.
    Lost,
    /// The request could not be sent, for want of memory or because it is too long.
    NotSent,
}

/// What comes back of data that has moved to the server or from it, which is nothing if the server
/// is lost, and how many bytes the server says it has written, the answer's head among them.
pub type Moved<D> = (Option<D>, Result<u32, Failed>);

/// The way to the server. In all three, what is in `reply` gives way to the answer, as far as it is
/// no data that moves. It has room for [`ANSWER`] bytes; a longer answer is none.
pub trait Transport {
    /// Data that moves to the server or from it without a copy.
    type Data;

    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// Why there is none.
    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Failed>;

    /// The same for a request that ends with these bytes of the data.
    fn send(
        &mut self,
        head: &[u8],
        data: Self::Data,
        part: Range<u32>,
        reply: &mut Vec<u8>,
    ) -> Moved<Self::Data>;

    /// The same for a request whose answer's data goes to these bytes.
    fn fill(
        &mut self,
        request: &[u8],
        data: Self::Data,
        part: Range<u32>,
        reply: &mut Vec<u8>,
    ) -> Moved<Self::Data>;
}

/// Whether names may come or go by a request.
fn changes_names(request: &Request) -> bool {
    matches!(
        request,
        Request::Create { .. }
            | Request::MakeDirectory { .. }
            | Request::Symlink { .. }
            | Request::Link { .. }
            | Request::Rename { .. }
            | Request::Unlink { .. }
    )
}

/// A session.
#[derive(Debug)]
pub struct Session<T> {
    transport: T,
    request: Vec<u8>,
    reply: Vec<u8>,
    /// Fids that are given up and can be used again, and the first that none ever was.
    free: Vec<u32>,
    next: u32,
    /// Fids that are given up, and of which the server has not been told.
    untold: Vec<u32>,
    /// The last request has not been sent.
    unsent: bool,
    data: u32,
    lost: bool,
    /// Names that were listed just now.
    pub(crate) recent: Recent,
}

impl<T: Transport> Session<T> {
    /// Begins a session: the fid [`ROOT`] stands for the directory.
    ///
    /// # Errors
    /// If the server does not speak this protocol, or refuses, or there is no memory for messages.
    pub fn begin(transport: T) -> Result<Session<T>, Lost> {
        // Once for all: an exchange that has begun does not end for want of memory.
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        request.try_reserve_exact(REQUEST).map_err(|_| Lost)?;
        reply.try_reserve_exact(ANSWER).map_err(|_| Lost)?;
        let mut session = Session {
            transport,
            request,
            reply,
            free: Vec::new(),
            next: ROOT + 1,
            untold: Vec::new(),
            unsent: false,
            data: 0,
            lost: false,
            recent: Recent::default(),
        };
        let most = DATA + HEADS;
        let version = VERSION;
        let agreed = match session.call(&Request::Version { most, version }) {
            Ok(Reply::Version { most: its, version }) if version == VERSION && its <= most => its,
            _ => return Err(Lost),
        };
        // With less, not even names fit.
        session.data = agreed
            .checked_sub(HEADS)
            .filter(|n| *n >= 4096)
            .ok_or(Lost)?;
        match session.call(&Request::Attach { fid: ROOT }) {
            Ok(Reply::Attach(qid)) if qid.is_directory() => Ok(session),
            _ => Err(Lost),
        }
    }

    /// Whether there is nothing to be expected from the server any more.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// The most data that is moved at once.
    pub fn most(&self) -> u32 {
        self.data
    }

    /// The way to the server.
    pub fn transport(&mut self) -> &mut T {
        &mut self.transport
    }

    fn lose<V>(&mut self) -> Result<V, Refused> {
        self.lost = true;
        Err(Refused(errno::EIO))
    }

    fn call(&mut self, request: &Request) -> Result<Reply<'_>, Refused> {
        self.unsent = false;
        if self.lost {
            return Err(Refused(errno::EIO));
        }
        let tag = match request {
            Request::Version { .. } => sing_p9::NO_TAG,
            _ => TAG,
        };
        if changes_names(request) {
            self.recent.clear();
        }
        request.encode(tag, &mut self.request);
        if let Err(failed) = self.transport.exchange(&self.request, &mut self.reply) {
            return Err(self.failed(failed));
        }
        // Lost, until it turns out that this is an answer.
        self.lost = true;
        let answer = self.reply.get(4).copied();
        match Reply::decode(&self.reply) {
            Ok((its, Reply::Error(reason))) if its == tag => {
                self.lost = false;
                Err(Refused(reason))
            }
            Ok((its, reply)) if its == tag && answer == Some(request.answer()) => {
                self.lost = false;
                Ok(reply)
            }
            _ => Err(Refused(errno::EIO)),
        }
    }

    /// Notes why there is no answer.
    fn failed(&mut self, failed: Failed) -> Refused {
        match failed {
            Failed::Lost => {
                self.lost = true;
                Refused(errno::EIO)
            }
            Failed::NotSent => {
                self.unsent = true;
                Refused(errno::ENOMEM)
            }
        }
    }

    /// The same for a request that is answered without anything more.
    fn done(&mut self, request: &Request) -> Result<(), Refused> {
        self.call(request).map(drop)
    }

    fn fid(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let fid = self.next;
            self.next += 1;
            fid
        })
    }

    /// Gives a fid up.
    pub fn clunk(&mut self, fid: u32) {
        self.untold.push(fid);
        // Each that could not be told is told with a later one; there are no more than fids.
        while let Some(fid) = self.untold.pop() {
            let _ = self.done(&Request::Clunk { fid });
            if self.unsent {
                self.untold.push(fid);
                return;
            }
            // The server forgets it, whatever it answers.
            self.free.push(fid);
        }
    }

    /// Goes along names from a fid's place on, as far as they lead: a fid of what is there if all
    /// of them do, and the kinds of what was found on the way.
    pub fn walk(&mut self, from: u32, names: &[&[u8]]) -> Result<(Option<u32>, Vec<Qid>), Refused> {
        let new = self.fid();
        let request = Request::Walk {
            fid: from,
            new,
            names: names.to_vec(),
        };
        let qids = match self.call(&request) {
            Ok(Reply::Walk(qids)) => Ok(qids),
            Ok(_) => Err(Refused(errno::EIO)),
            Err(refused) => Err(refused),
        };
        match qids {
            Ok(qids) if qids.len() == names.len() => Ok((Some(new), qids)),
            // A server that finds nothing says so by an error.
            Ok(qids) if qids.len() > names.len() || qids.is_empty() => self.lose(),
            Ok(qids) => {
                self.free.push(new);
                Ok((None, qids))
            }
            Err(refused) => {
                self.free.push(new);
                Err(refused)
            }
        }
    }

    /// Opens what a fid stands for.
    pub fn open(&mut self, fid: u32, flags: u32) -> Result<(), Refused> {
        self.done(&Request::Open { fid, flags })
    }

    /// Makes a file in a directory and opens it; its fid.
    pub fn create(&mut self, at: u32, name: &[u8], mode: u32) -> Result<u32, Refused> {
        use sing_p9::open::{CREATE, EXCLUSIVE, READ_WRITE};
        let (fid, _) = self.walk(at, &[])?;
        let Some(fid) = fid else { return self.lose() };
        let flags = READ_WRITE | CREATE | EXCLUSIVE;
        let made = self.done(&Request::Create {
            fid,
            name,
            flags,
            mode,
        });
        if made.is_err() {
            self.clunk(fid);
        }
        made.map(|()| fid)
    }

    /// The text of a symbolic link.
    pub fn read_link(&mut self, fid: u32) -> Result<Vec<u8>, Refused> {
        match self.call(&Request::ReadLink { fid })? {
            Reply::ReadLink(text) => Ok(text.to_vec()),
            _ => self.lose(),
        }
    }

    /// A file's attributes.
    pub fn attributes(&mut self, fid: u32) -> Result<Attributes, Refused> {
        match self.call(&Request::GetAttributes { fid })? {
            Reply::Attributes(attributes) => Ok(attributes),
            _ => self.lose(),
        }
    }

    /// Changes a file's attributes.
    pub fn change(&mut self, fid: u32, change: Change) -> Result<(), Refused> {
        self.done(&Request::SetAttributes { fid, change })
    }

    /// Packed entries of an open directory from a place on; none at the end.
    pub fn list(&mut self, fid: u32, offset: u64, count: u32) -> Result<&[u8], Refused> {
        let count = count.min(self.data);
        let request = Request::ReadDirectory { fid, offset, count };
        // Looked at twice, as a borrow that may be returned lasts for both ways.
        match self.call(&request)? {
            Reply::Directory(data) if data.len() <= count as usize => {}
            _ => return self.lose(),
        }
        match Reply::decode(&self.reply) {
            Ok((_, Reply::Directory(data))) => Ok(data),
            _ => Err(Refused(errno::EIO)),
        }
    }

    /// Makes what was written to a file safe, or the names of a directory.
    pub fn sync(&mut self, fid: u32) -> Result<(), Refused> {
        self.done(&Request::Sync { fid })
    }

    /// Makes a directory.
    pub fn make_directory(&mut self, fid: u32, name: &[u8], mode: u32) -> Result<(), Refused> {
        self.done(&Request::MakeDirectory { fid, name, mode })
    }

    /// Makes a symbolic link.
    pub fn make_link(&mut self, fid: u32, name: &[u8], target: &[u8]) -> Result<(), Refused> {
        self.done(&Request::Symlink { fid, name, target })
    }

    /// Gives what a fid stands for a further name.
    pub fn link(&mut self, fid: u32, directory: u32, name: &[u8]) -> Result<(), Refused> {
        self.done(&Request::Link {
            directory,
            fid,
            name,
        })
    }

    /// Gives what has a name in a directory another one.
    pub fn rename(
        &mut self,
        (from, name): (u32, &[u8]),
        (to, new): (u32, &[u8]),
    ) -> Result<(), Refused> {
        self.done(&Request::Rename {
            from,
            name,
            to,
            new,
        })
    }

    /// Removes a name.
    pub fn unlink(&mut self, fid: u32, name: &[u8], directory: bool) -> Result<(), Refused> {
        let flags = if directory {
            sing_p9::REMOVE_DIRECTORY
        } else {
            0
        };
        self.done(&Request::Unlink { fid, name, flags })
    }

    /// Fills a part of the data from a file, at most [`Session::most`] bytes; how many there were.
    /// The data is gone if the session is lost.
    pub fn read(
        &mut self,
        fid: u32,
        offset: u64,
        data: T::Data,
        part: Range<u32>,
    ) -> (Option<T::Data>, Result<u32, Refused>) {
        let lost = Err(Refused(errno::EIO));
        let count = part.end - part.start;
        if self.lost {
            return (Some(data), lost);
        }
        Request::Read { fid, offset, count }.encode(TAG, &mut self.request);
        let filled = self
            .transport
            .fill(&self.request, data, part, &mut self.reply);
        let (data, written) = match filled {
            (data, Ok(written)) => (data, written),
            (data, Err(failed)) => return (data, Err(self.failed(failed))),
        };
        let outcome = match read_head(&self.reply) {
            Ok((TAG, Ok(read))) if read <= count && written >= DATA_HEAD as u32 + read => Ok(read),
            Ok((TAG, Err(reason))) => Err(Refused(reason)),
            _ => self.lose(),
        };
        (data, outcome)
    }

    /// Writes a part of the data to a file, at most [`Session::most`] bytes; how many were written.
    /// The data is gone if the session is lost.
    pub fn write(
        &mut self,
        fid: u32,
        offset: u64,
        data: T::Data,
        part: Range<u32>,
    ) -> (Option<T::Data>, Result<u32, Refused>) {
        let lost = Err(Refused(errno::EIO));
        let count = part.end - part.start;
        if self.lost {
            return (Some(data), lost);
        }
        let head = write_head(TAG, fid, offset, count);
        let data = match self.transport.send(&head, data, part, &mut self.reply) {
            (data, Ok(_)) => data,
            (data, Err(failed)) => return (data, Err(self.failed(failed))),
        };
        let outcome = match Reply::decode(&self.reply) {
            Ok((TAG, Reply::Write(written))) if written <= count => Ok(written),
            Ok((TAG, Reply::Error(reason))) => Err(Refused(reason)),
            _ => self.lose(),
        };
        (data, outcome)
    }
}
