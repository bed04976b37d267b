//! Directories of the host for processes of an embedded system: each is opened when a process is to be
//! given it, and served by a thread of its own to a process of the image `host-directory`, which the
//! kernel connects with that process.
//!
//! The messages of 9P are the bytes of calls: each answer of that process is a request, and the next
//! call brings the reply. What is reached of the host is the business of `p9_files`, as for devices.
//!
//! Invariants:
//! - No more than so many directories are open at a time, each with its share of the descriptors.
//! - When a [`GivenDirectory`] has been dropped, its directory is closed; but what the host's file
//!   system is doing for it then is waited for no longer than [`PATIENCE`], and closed behind it.

use super::host_dir::Reason;
use super::p9::Server;
use super::p9_files::Root;
use super::{DirectoryError, HostDirectory};
use crate::thread::thread_without_signals;
use crate::{Asked, Pending, Port, Reply};
use sing_calls::{CHANGES, MOST, Op, Outcome, READS, SERVER};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

/// Stack of a directory's thread, which may be lent to the system.
const STACK: usize = 256 << 10;
/// How long a directory that is given back waits for what the host is doing with it.
const PATIENCE: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(1);

/// How many directories are open.
#[derive(Debug)]
pub struct Directories {
    most: usize,
    open: Arc<AtomicUsize>,
}

/// One that is open, counted.
struct Open {
    server: Server,
    all: Arc<AtomicUsize>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.all.fetch_sub(1, SeqCst);
    }
}

/// What a directory's thread and its owner share.
struct Shared {
    /// None once it has been given back.
    open: Mutex<Option<Open>>,
    given_back: AtomicBool,
}

impl Shared {
    /// Serves a request; false if the directory has been given back, or there is no reply.
    fn serve(&self, request: &[u8], reply: &mut Vec<u8>) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = open.as_mut() {
            open.server.serve(request, MOST, reply);
        }
        if self.given_back.load(SeqCst) {
            *open = None;
        }
        open.is_some() && !reply.is_empty()
    }

    /// Closes the directory; if the host is doing something with it for long, when that is over.
    fn give_back(&self) {
        self.given_back.store(true, SeqCst);
        let mut left = PATIENCE;
        loop {
            match self.open.try_lock() {
                Ok(mut open) => return *open = None,
                Err(TryLockError::Poisoned(open)) => return *open.into_inner() = None,
                Err(TryLockError::WouldBlock) if left.is_zero() => return,
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK),
            }
            left = left.saturating_sub(LOOK);
        }
    }
}

/// A directory that is served, to be given to one process. Dropping it takes it from that.
pub struct GivenDirectory {
    port: Arc<Port>,
    number: u64,
    /// What became of the process that serves it.
    made: Mutex<Option<Pending>>,
    shared: Arc<Shared>,
}

impl fmt::Debug for GivenDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GivenDirectory({})", self.number)
    }
}

impl Directories {
    /// At most so many at a time.
    #[must_use]
    pub fn new(most: usize) -> Directories {
        let open = Arc::default();
        Directories { most, open }
    }

    /// Opens a directory and has it served, for a process that is asked for next. `at` of the
    /// directory says nothing here.
    ///
    /// # Errors
    /// If it cannot be opened, or too many are.
    pub fn give(
        &self,
        directory: &HostDirectory,
        port: &Arc<Port>,
    ) -> Result<GivenDirectory, DirectoryError> {
        let error = |reason| DirectoryError::new(&directory.path, reason);
        let root = Root::open(&directory.path, directory.read_only);
        let root = root.map_err(|e| error(Reason::Open(e)))?;
        let room = |open| (open < self.most).then_some(open + 1);
        if self.open.fetch_update(SeqCst, SeqCst, room).is_err() {
            return Err(error(Reason::TooMany(self.most)));
        }
        let open = Open {
            server: Server::new(root, self.most).within(MOST as u32),
            all: Arc::clone(&self.open),
        };
        let shared = Arc::new(Shared {
            open: Mutex::new(Some(open)),
            given_back: AtomicBool::new(false),
        });
        let made = port.ask(&Asked {
            name: SERVER,
            ..Asked::of(Op::Serve, 0)
        });
        let given = GivenDirectory {
            port: Arc::clone(port),
            number: made.id(),
            made: Mutex::new(Some(made)),
            shared: Arc::clone(&shared),
        };
        let (port, number) = (Arc::clone(port), given.number);
        let first = if directory.read_only { READS } else { CHANGES };
        thread_without_signals("directory", STACK, move || {
            serve(&shared, &port, number, first);
        })
        .map_err(|e| error(Reason::Thread(e)))?;
        Ok(given)
    }
}

/// Serves a directory until nobody has it any more.
fn serve(shared: &Shared, port: &Arc<Port>, number: u64, first: &[u8]) {
    let mut reply = first.to_vec();
    loop {
        let asked = port.call(&Asked {
            bytes: &reply,
            ..Asked::of(Op::Ask, number)
        });
        let is_request = asked.outcome == Some(Outcome::Done);
        if !is_request || !shared.serve(&asked.bytes, &mut reply) {
            break;
        }
    }
    shared.give_back();
    // A server that has said nonsense is of no use to anybody.
    port.tell(Op::Close, number);
}

impl GivenDirectory {
    /// Its number, for [`Asked::directories`].
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Why no process serves it, if none does; asked once. Waits until that is known, as it is when a process that
    /// was to be given it has been refused.
    pub fn refusal(&self) -> Option<String> {
        let made = self
            .made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Reply { outcome, bytes } = made?.wait();
        let text = || String::from_utf8_lossy(&bytes).into_owned();
        (outcome == Some(Outcome::NotMade)).then(text)
    }
}

impl Drop for GivenDirectory {
    fn drop(&mut self) {
        // In a fork its thread is not there, and might have had the lock.
        if self.port.is_elsewhere() {
            return;
        }
        self.port.tell(Op::Close, self.number);
        self.shared.give_back();
    }
}
