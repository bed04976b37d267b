//! The directory of files as a connection has it, and what is known of changes below it.
//!
//! Each connection opens the directory anew, so that it serves what is at its path then; where one comes after the
//! other, it gets the directory of one before, if another one has found that at the path within [`RECENT`]. Of changes
//! the file system tells over one channel for all connections, which is of one directory: a connection that has
//! another one open asks for each request.
//!
//! Invariants:
//! - A connection gets a [`Moment`] only of the directory that it has open itself.
//! - A directory that a connection has left is the one of which changes are told, and there are at most [`LEFT`], and none
//!   while there are no connections: a file system that nobody is served from can be unmounted.

use crate::server::Server;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use sing_sdk::contracts::FileFault;
use sing_sdk::fs::{Changes, Directory, Moment};
use sing_sdk::prelude::*;
use sing_sdk::sync::Mutex;
use sing_sdk::time::uptime;

/// Between two questions to be told of the next change: a file system that is written to all the time is not
/// asked each time.
const PAUSE: Duration = Duration::from_millis(20);
/// How long what was found at the path is taken to be there still. Connections that come at shorter distances find it
/// out for those behind them.
const RECENT: Duration = Duration::from_millis(20);
/// How long a file system that does not tell of changes is not asked by connections for one request.
const REFUSED: Duration = Duration::from_secs(1);
/// Directories that are kept open for further connections.
const LEFT: usize = 4;

enum Which {
    /// It was not asked for: few connections come, and one for one request has no use for it itself.
    Unknown,
    /// The file system does not say, or could not: the connection asks it for each request.
    None,
    Of((u64, u64)),
}

/// The directory of files.
pub struct Root {
    pub directory: Directory,
    /// When it was looked for at the path.
    opened: Duration,
    which: Which,
}

/// The channel over which the file system tells of changes.
pub struct Watch {
    watching: Mutex<Watching>,
    /// A connection asks which directory it has open: one does at a time, as each takes a channel for it,
    /// of which the file system has few.
    asking: AtomicBool,
}

struct Watching {
    changes: Option<Changes>,
    /// When it may be asked again.
    next: Duration,
    /// Why it could not be asked last, which the log has.
    said: Option<Error>,
    /// When its directory was last found at the path, at the least.
    found: Duration,
    /// When a connection last opened what is there.
    opened: Duration,
    /// When a connection for one request may ask again, behind one that was refused.
    again: Duration,
    /// Its directory, as connections that have ended had it open.
    left: Vec<Directory>,
}

impl Watching {
    /// Closes the directories that were left, if nobody has found theirs at the path just now.
    fn forget_old(&mut self) {
        if uptime().saturating_sub(self.found) >= RECENT {
            self.left.clear();
        }
    }
}

impl Root {
    /// Opens the directory that is at the path now.
    pub fn open(server: &Server) -> Result<Root, Error> {
        let opened = uptime();
        Ok(Root {
            directory: server.root()?,
            opened,
            which: Which::Unknown,
        })
    }
}

impl Watch {
    /// Of nothing yet.
    pub const fn new() -> Watch {
        Watch {
            watching: Mutex::new(Watching {
                changes: None,
                next: Duration::ZERO,
                said: None,
                found: Duration::ZERO,
                opened: Duration::ZERO,
                again: Duration::ZERO,
                left: Vec::new(),
            }),
            asking: AtomicBool::new(false),
        }
    }

    /// The directory as a connection before has left it, if it was at the path a moment ago.
    pub fn recent(&self) -> Option<Root> {
        let mut watching = self.watching.lock();
        let of = watching.changes.as_ref().map(Changes::of)?;
        watching.forget_old();
        Some(Root {
            directory: watching.left.pop()?,
            opened: watching.found,
            which: Which::Of(of),
        })
    }

    /// A connection has opened what is at the path. If another one has just before, this one asks for the directory's
    /// numbers, so that later ones can share it; but a file system that has refused that is not asked by each.
    pub fn opened(&self, root: &mut Root) -> Option<Moment> {
        let now = uptime();
        let mut watching = self.watching.lock();
        let before = core::mem::replace(&mut watching.opened, now);
        let asks = now.saturating_sub(before) < RECENT && now >= watching.again;
        drop(watching);
        asks.then(|| self.moment(root))?
    }

    /// A connection has ended: what it had open is kept for others, if there are any. To be called when its place has been
    /// given back; `others` runs under the lock.
    pub fn leave(&self, root: Option<Root>, others: impl FnOnce() -> bool) {
        let mut watching = self.watching.lock();
        if !others() {
            watching.left.clear();
            return;
        }
        watching.forget_old();
        let Some(root) = root else { return };
        let changes = watching.changes.as_ref();
        let of = changes.filter(|own| !own.is_gone()).map(Changes::of);
        if let Which::Of(its) = root.which
            && of == Some(its)
            && watching.left.len() < LEFT
        {
            watching.left.push(root.directory);
        }
    }

    /// The file system has ended: what was open is of no use.
    pub fn forget(&self) {
        let mut watching = self.watching.lock();
        watching.left.clear();
        watching.changes = None;
    }

    /// The moment of which it is sure that nothing has changed since below a connection's directory. The
    /// connection has asked for a file before.
    pub fn moment(&self, root: &mut Root) -> Option<Moment> {
        if let Which::Unknown = root.which
            && !self.asking.swap(true, Ordering::Relaxed)
        {
            root.which = match root.directory.changes() {
                Ok(changes) => {
                    let of = changes.of();
                    self.offer(changes, root.opened);
                    Which::Of(of)
                }
                Err(error) => {
                    self.cannot(error);
                    Which::None
                }
            };
            self.asking.store(false, Ordering::Relaxed);
        }
        let Which::Of(of) = root.which else {
            return None;
        };
        let mut watching = self.watching.lock();
        let changes = watching.changes.as_mut().filter(|own| own.of() == of)?;
        let moment = changes.moment();
        if moment.is_none() {
            let now = uptime();
            if now >= watching.next {
                watching.next = now + PAUSE;
                if let Some(changes) = &mut watching.changes {
                    changes.watch();
                }
            }
        }
        moment
    }

    /// Puts into the log why changes cannot be watched: a reason is said once. That a file system does not tell of
    /// them is none.
    fn cannot(&self, error: Error) {
        let mut watching = self.watching.lock();
        watching.again = uptime() + REFUSED;
        if error != Error::File(FileFault::NotSupported) && watching.said != Some(error) {
            watching.said = Some(error);
            sing_sdk::log!(
                "files: no channel to be told of changes: {error}; the file system is asked for each request"
            );
        }
    }

    /// A further channel, of a directory that was at the path at some time: in the place of one that has gone, or is of
    /// another directory that was found there before.
    fn offer(&self, further: Changes, opened: Duration) {
        let mut watching = self.watching.lock();
        let found = watching.found;
        let own = watching.changes.as_ref().filter(|own| !own.is_gone());
        match own.map(|own| own.of() == further.of()) {
            Some(true) => watching.found = found.max(opened),
            Some(false) if opened < found => {}
            _ => {
                watching.changes = Some(further);
                watching.said = None;
                watching.found = opened;
                watching.left.clear();
            }
        }
    }
}
