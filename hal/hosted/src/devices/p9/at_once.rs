//! Requests that are served by the system's own thread, which must not wait.
//!
//! Invariants:
//! - [`Server::serve_at_once`] answers only what Linux has in memory: names in its cache, contents in
//!   its page cache, and what it knows of files of a local file system. It has no effect on the
//!   host, but for the time of an access. For all else it answers nothing and changes nothing.
//! - That a listing is at its end is found with its last entries, and answered once without asking
//!   Linux: what comes to the directory between both requests may be in a listing or not.

use super::super::p9_files::{Patience, is_named, read_cached, which};
use super::{Fid, Server, put, room_in};
use rustix::io::Errno;
use sing_p9::{Reply, Request, open};
use std::os::fd::AsFd as _;

/// The most names of a walk that is served at once.
const NAMES: usize = 4;

impl Server {
    /// Serves a request as [`Server::serve`] does, if nothing is waited for; false if something may be,
    /// or anything is wrong with it: then nothing has been done.
    pub(in super::super) fn serve_at_once(
        &mut self,
        message: &[u8],
        room: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        let Ok((tag, request)) = Request::decode(message) else {
            return false;
        };
        let mut data = std::mem::take(&mut self.data);
        let answer = self.answer_at_once(request, room, &mut data);
        // Linux knows that there is no such name.
        let is_served = matches!(answer, Ok(_) | Err(Errno::NOENT));
        if is_served {
            put(answer, tag, room, out);
        }
        self.data = data;
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
}
