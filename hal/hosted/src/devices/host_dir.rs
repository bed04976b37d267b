//! A directory of the host ("9P Transport"): messages of 9P2000.L in the requests of a queue.
//!
//! What may wait for the host is done by a thread of the device's own, in the order of the requests,
//! with a copy of the message; the answer is copied into the request's memory when it is given back, if
//! the device has not been reset meanwhile. The thread is made for the first request of that kind.
//! What Linux has in memory ([`Server::serve_at_once`]) is answered on the kernel's thread: to go to
//! another thread and back takes longer than most of these requests.
//!
//! Invariants:
//! - What waits is bounded ([`WAITING`], [`MOST_JOBS`]); beyond that, requests are answered at once
//!   with an error.
//! - Requests are served in their order: at once only if none waits or is being served.
//! - What is served at once in a turn is bounded ([`AT_ONCE`]), as the whole system waits for it.

use super::mmio::{Model, Ticket, Transport};
use super::p9::{MOST, Server};
use super::p9_files::Root;
use super::queue::{Chain, bytes};
use crate::signals;
use crate::thread::{Kernel, quiet_thread_for};
use rustix::io::Errno;
use sing_p9::{BadMount, MOUNT_TAG, Mount, NO_TAG, Reply, overlap};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

/// Stack of a directory's thread.
const STACK: usize = 256 << 10;
/// Bytes of messages that wait.
const WAITING: usize = 4 << 20;
/// Messages that wait.
const MOST_JOBS: usize = 512;
/// The most bytes that are served at once in a turn, beside the last request's, each of which counts as
/// [`LEAST`] bytes at least: so much is copied in the time of a few calls of Linux.
const AT_ONCE: usize = 64 << 10;
const LEAST: usize = 4 << 10;

/// A directory of the host, and where the system is asked to have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDirectory {
    /// The directory.
    pub path: PathBuf,
    /// The path in the system's name space.
    pub at: String,
    /// Whether nothing below it can be changed.
    pub read_only: bool,
}

impl HostDirectory {
    /// Reads `HOST::PATH` or `HOST::PATH,rw` from a command line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn named(text: OsString) -> Result<HostDirectory, DirectoryError> {
        let error = |reason| DirectoryError {
            path: PathBuf::from(&text),
            reason,
        };
        let mount = Mount::named(text.as_bytes()).map_err(|bad| error(Reason::Named(bad)))?;
        Ok(HostDirectory {
            path: OsString::from_vec(mount.host.to_vec()).into(),
            at: mount.at.into(),
            read_only: mount.read_only,
        })
    }

    /// Whether both would be at one path, or one below the other.
    #[must_use]
    pub fn overlaps(&self, other: &HostDirectory) -> bool {
        overlap(&self.at, &other.at)
    }
}

/// The reason for which a directory is not served.
#[derive(Debug)]
pub struct DirectoryError {
    path: PathBuf,
    reason: Reason,
}

#[derive(Debug)]
pub(super) enum Reason {
    Named(BadMount),
    Open(Errno),
    Thread(std::io::Error),
    TooMany(usize),
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--dir {}: {}", self.path.display(), self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Named(bad) => bad.fmt(f),
            Reason::Open(Errno::NOENT) => {
                f.write_str("there is no such directory; `mkdir` makes one")
            }
            Reason::Open(Errno::NOTDIR) => {
                f.write_str("it is not a directory; give the one that it is in")
            }
            Reason::Open(Errno::NOSYS) => {
                f.write_str("this Linux cannot confine it (openat2 is there from version 5.6 on)")
            }
            Reason::Open(error) => std::io::Error::from(*error).fmt(f),
            Reason::Thread(error) => write!(f, "no thread for it: {error}"),
            Reason::TooMany(most) => write!(
                f,
                "{most} directories are given to calls already; wait until one is over"
            ),
        }
    }
}

impl DirectoryError {
    pub(super) fn new(path: &Path, reason: Reason) -> DirectoryError {
        let path = path.into();
        DirectoryError { path, reason }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong with it, without its name.
    #[must_use]
    pub fn reason(&self) -> String {
        self.reason.to_string()
    }
}

impl std::error::Error for DirectoryError {}

/// Opens a directory, of which so many fids may be in use, and starts its thread, which gives requests back
/// to this transport.
pub(super) fn start(
    directory: &HostDirectory,
    most_fids: usize,
    transport: &Arc<Transport>,
) -> Result<Box<dyn Model>, DirectoryError> {
    let error = |reason| DirectoryError {
        path: directory.path.clone(),
        reason,
    };
    let root = Root::open(&directory.path, directory.read_only);
    let server = Server::new(root.map_err(|e| error(Reason::Open(e)))?, most_fids);
    let mut config = (directory.at.len() as u16).to_le_bytes().to_vec();
    config.extend_from_slice(directory.at.as_bytes());
    Ok(Box::new(DirectoryModel {
        config,
        jobs: Arc::default(),
        server: Arc::new(Mutex::new(server)),
        worker: Some((Kernel::this(), Arc::downgrade(transport))),
        left: 0,
        message: Vec::new(),
        answer: Vec::new(),
    }))
}

/// What the thread does next.
enum Next {
    /// Serve this message, with an answer of so many bytes at most.
    Serve(Vec<u8>, usize, Ticket),
    /// Further turns of what the queue holds.
    Resume,
}

#[derive(Default)]
struct Queue {
    list: VecDeque<Next>,
    bytes: usize,
    resuming: bool,
    /// Whether the thread serves a message.
    serving: bool,
}

/// What waits for the thread, in order.
#[derive(Default)]
struct Jobs {
    queue: Mutex<Queue>,
    more: Condvar,
}

impl Jobs {
    /// Puts a message behind the others, unless too much waits; whether it did.
    fn serve(&self, chain: &Chain, ticket: Ticket) -> bool {
        let len = bytes(&chain.readable);
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.bytes + len > WAITING || queue.list.len() >= MOST_JOBS {
            return false;
        }
        queue.bytes += len;
        let next = Next::Serve(chain.copy(), bytes(&chain.writable), ticket);
        queue.list.push_back(next);
        drop(queue);
        self.more.notify_one();
        true
    }

    /// Whether the thread has nothing to do.
    fn is_idle(&self) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.list.is_empty() && !queue.serving
    }

    fn resume(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut queue.resuming, true) {
            queue.list.push_back(Next::Resume);
            drop(queue);
            self.more.notify_one();
        }
    }

    fn next(&self) -> Next {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.serving = false;
        loop {
            match queue.list.pop_front() {
                Some(Next::Serve(message, room, ticket)) => {
                    queue.bytes -= message.len();
                    queue.serving = true;
                    return Next::Serve(message, room, ticket);
                }
                Some(Next::Resume) => {
                    queue.resuming = false;
                    return Next::Resume;
                }
                None => {}
            }
            queue = self
                .more
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn work(jobs: &Jobs, server: &Mutex<Server>, transport: &Transport, kernel: Kernel) {
    let mut answer = Vec::new();
    loop {
        match jobs.next() {
            Next::Serve(message, room, ticket) => {
                let mut server = server.lock().unwrap_or_else(PoisonError::into_inner);
                server.serve(&message, room, &mut answer);
                drop(server);
                if transport.finish(ticket, |chain| chain.fill(&answer) as u32) {
                    kernel.signal(signals::DEVICE);
                }
            }
            Next::Resume => loop {
                let (tell, more) = transport.resume();
                if tell {
                    kernel.signal(signals::DEVICE);
                }
                if !more {
                    break;
                }
            },
        }
    }
}

struct DirectoryModel {
    /// The length of the mount tag, and the tag.
    config: Vec<u8>,
    jobs: Arc<Jobs>,
    /// Locked by the thread while it serves a message, and else by who has the device's state.
    server: Arc<Mutex<Server>>,
    /// What the thread is told when it is made.
    worker: Option<(Kernel, Weak<Transport>)>,
    /// What may still be served at once in this turn.
    left: usize,
    /// The last message that was served at once, and its answer, kept for their room.
    message: Vec<u8>,
    answer: Vec<u8>,
}

impl DirectoryModel {
    /// Serves a request without waiting; the bytes written, or `None` if it is left to the thread.
    fn serve_at_once(&mut self, chain: &mut Chain) -> Option<u32> {
        // What is served at once is short.
        let is_short = bytes(&chain.readable) <= LEAST;
        if self.left == 0 || !is_short || !self.jobs.is_idle() {
            return None;
        }
        let mut server = self.server.try_lock().ok()?;
        chain.copy_to(&mut self.message);
        let room = bytes(&chain.writable);
        if !server.serve_at_once(&self.message, room, &mut self.answer) {
            self.left = self.left.saturating_sub(LEAST);
            return None;
        }
        self.left = self.left.saturating_sub(self.answer.len().max(LEAST));
        Some(chain.fill(&self.answer) as u32)
    }

    /// Makes the thread, if there is none; whether there is one.
    fn has_worker(&mut self) -> bool {
        let Some((kernel, transport)) = &self.worker else {
            return true;
        };
        let Some(transport) = transport.upgrade() else {
            return false;
        };
        let (jobs, server) = (Arc::clone(&self.jobs), Arc::clone(&self.server));
        let made = quiet_thread_for(*kernel, "directory", STACK, move |kernel| {
            work(&jobs, &server, &transport, kernel);
        });
        if made.is_ok() {
            self.worker = None;
        }
        made.is_ok()
    }
}

impl Model for DirectoryModel {
    fn id(&self) -> u32 {
        9
    }

    fn features(&self) -> u64 {
        MOUNT_TAG
    }

    fn config(&self) -> &[u8] {
        &self.config
    }

    fn most(&self) -> usize {
        // Answers are written by the thread, in turns of its own, or counted by the model itself.
        sing_p9::DATA_HEAD
    }

    fn begins(&mut self) {
        self.left = AT_ONCE;
    }

    fn serve(&mut self, chain: &mut Chain, ticket: Ticket) -> Option<u32> {
        let reason = if bytes(&chain.readable) > MOST as usize {
            sing_p9::errno::EPROTO
        } else if let Some(written) = self.serve_at_once(chain) {
            return Some(written);
        } else if self.has_worker() && self.jobs.serve(chain, ticket) {
            return None;
        } else {
            sing_p9::errno::ENOMEM
        };
        let mut answer = Vec::new();
        Reply::Error(reason).encode(NO_TAG, &mut answer);
        Some(chain.fill(&answer) as u32)
    }

    fn more(&mut self) {
        self.jobs.resume();
    }

    fn resumes(&self) -> bool {
        // Without the thread, little is served, or all is refused.
        self.worker.is_none()
    }
}
