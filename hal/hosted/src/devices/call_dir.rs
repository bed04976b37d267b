//! Directories of the host for processes of an embedded system: each is opened when a process is to be
//! given it, and served by a thread of its own to a process of the image `host-directory`, which the
//! kernel connects with that process.
//!
//! The messages of 9P are the bytes of calls: each answer of that process is a request, and the next
//! call brings the reply. What is reached of the host is the business of `p9_files`, as for devices.
//!
//! Invariants:
//! - No more than so many directories are open at a time, each with its share of the descriptors.
//! - When [`GivenDirectories`] have been dropped, they are closed; but what the host's file system is
//!   doing for them then is waited for no longer than [`PATIENCE`] for all, and closed behind it.
//! - A process gets all its directories or none: those of two that are asked for at once do not keep
//!   each other from both.

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
use std::time::{Duration, Instant};

/// Stack of a directory's thread, which may be lent to the system.
const STACK: usize = 256 << 10;
/// How long directories that are given back wait for what the host is doing with them.
const PATIENCE: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(1);

/// How many directories are open.
#[derive(Debug)]
pub struct Directories {
    most: usize,
    open: Arc<AtomicUsize>,
}

/// A place for one of them.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// One that is open.
struct Open {
    server: Server,
    /// Dropped behind what is counted.
    _place: Place,
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

    /// Closes the directory; if the host is doing something with it that goes on until then, when that
    /// is over.
    fn give_back(&self, until: Instant) {
        self.given_back.store(true, SeqCst);
        loop {
            match self.open.try_lock() {
                Ok(mut open) => return *open = None,
                Err(TryLockError::Poisoned(open)) => return *open.into_inner() = None,
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return,
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK),
            }
        }
    }
}

/// Directories that are served, to be given to one process. Dropping them takes them from that.
#[derive(Debug, Default)]
pub struct GivenDirectories(Vec<GivenDirectory>);

/// One of them.
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

    /// Opens directories and has them served, for a process that is asked for next. Their `at` says
    /// nothing here.
    ///
    /// # Errors
    /// If one cannot be opened, or too many are.
    pub fn give<'d>(
        &self,
        directories: impl ExactSizeIterator<Item = &'d HostDirectory>,
        port: &Arc<Port>,
    ) -> Result<GivenDirectories, DirectoryError> {
        let count = directories.len();
        let mut directories = directories.peekable();
        let mut given = GivenDirectories::default();
        let Some(first) = directories.peek() else {
            return Ok(given);
        };
        let room = |open: usize| Some(open + count).filter(|open| *open <= self.most);
        if self.open.fetch_update(SeqCst, SeqCst, room).is_err() {
            let reason = Reason::TooMany(self.most);
            return Err(DirectoryError::new(&first.path, reason));
        }
        let places: Vec<Place> = (0..count).map(|_| Place(Arc::clone(&self.open))).collect();
        for (directory, place) in directories.zip(places) {
            given.0.push(self.give_one(directory, place, port)?);
        }
        Ok(given)
    }

    fn give_one(
        &self,
        directory: &HostDirectory,
        place: Place,
        port: &Arc<Port>,
    ) -> Result<GivenDirectory, DirectoryError> {
        let error = |reason| DirectoryError::new(&directory.path, reason);
        let root = Root::open(&directory.path, directory.read_only);
        let root = root.map_err(|e| error(Reason::Open(e)))?;
        let open = Open {
            server: Server::new(root, self.most).within(MOST as u32),
            _place: place,
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
        let (own, number) = (Arc::clone(port), given.number);
        let first = if directory.read_only { READS } else { CHANGES };
        thread_without_signals("directory", STACK, move || {
            serve(&shared, &own, number, first);
        })
        .map_err(|e| {
            port.tell(Op::Close, number);
            error(Reason::Thread(e))
        })?;
        Ok(given)
    }
}

/// Serves a directory until nobody has it any more.
fn serve(shared: &Shared, port: &Arc<Port>, number: u64, first: &[u8]) {
    // Whatever ends this thread, nobody waits for its replies.
    let _over = Over(shared, port, number);
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
}

/// The end of a directory's thread.
struct Over<'a>(&'a Shared, &'a Port, u64);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let Over(shared, port, number) = self;
        shared.give_back(Instant::now() + PATIENCE);
        // A server that has said nonsense is of no use to anybody.
        port.tell(Op::Close, *number);
    }
}

impl GivenDirectories {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them, in the order in which they were asked for.
    pub fn iter(&self) -> impl Iterator<Item = &GivenDirectory> {
        self.0.iter()
    }
}

impl Drop for GivenDirectories {
    fn drop(&mut self) {
        // In a fork their threads are not there, and might have had the locks.
        let is_here = |one: &&GivenDirectory| !one.port.is_elsewhere();
        for one in self.0.iter().filter(is_here) {
            one.shared.given_back.store(true, SeqCst);
            one.port.tell(Op::Close, one.number);
        }
        let until = Instant::now() + PATIENCE;
        for one in self.0.iter().filter(is_here) {
            one.shared.give_back(until);
        }
    }
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
        let Reply { outcome, bytes, .. } = made?.wait();
        let text = || String::from_utf8_lossy(&bytes).into_owned();
        (outcome == Some(Outcome::NotMade)).then(text)
    }
}
