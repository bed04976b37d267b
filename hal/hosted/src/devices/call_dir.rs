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
//! - A reply that the process has no memory for is refused with `ENOMEM`, if what was asked is undone by that,
//!   and the directory goes on.

use super::host_dir::Reason;
use super::p9::Server;
use super::p9_files::Root;
use super::p9_shares::share;
use super::{DirectoryError, HostDirectory};
use crate::thread::thread_without_signals;
use crate::{Asked, Pending, Port, Reply};
use sing_calls::{CHANGES, MOST, Op, Outcome, READS, SERVER};
use sing_p9::{Reply as Answer, Request, errno};
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
/// The most bytes of a reply that is not refused for want of memory: a refusal takes hardly less.
const SMALL: usize = 64;
/// How often a reply is tried for which there is no memory.
const TRIES: u32 = 32;

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

    /// Makes a reply for which there is no memory a refusal, and undoes what the request has done; false if
    /// that cannot be, or makes no difference.
    fn refuse(&self, request: &[u8], reply: &mut Vec<u8>) -> bool {
        let Ok((tag, request)) = Request::decode(request) else {
            return false;
        };
        let made = match request {
            _ if reply.len() <= SMALL => return false,
            Request::Walk { fid, new, .. } if fid != new => Some(new),
            Request::Read { .. }
            | Request::ReadDirectory { .. }
            | Request::ReadLink { .. }
            | Request::GetAttributes { .. } => None,
            _ => return false,
        };
        if let Some(fid) = made {
            // Of a walk that has not led to its end there is none, which the server says in vain.
            let mut clunk = Vec::new();
            Request::Clunk { fid }.encode(tag, &mut clunk);
            if !self.serve(&clunk, reply) {
                return false;
            }
        }
        Answer::Error(errno::ENOMEM).encode(tag, reply);
        true
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
            server: Server::new(root, share(self.most)).within(MOST as u32),
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
    let (mut request, mut reply) = (Vec::new(), first.to_vec());
    while let Some(next) = exchange(shared, port, number, &request, &mut reply) {
        request = next;
        if !shared.serve(&request, &mut reply) {
            break;
        }
    }
}

/// Gives a process the reply to its request, or the refusal for want of memory; its next request. None if
/// it has ended, or there is no memory even for that, for a while.
fn exchange(
    shared: &Shared,
    port: &Arc<Port>,
    number: u64,
    request: &[u8],
    reply: &mut Vec<u8>,
) -> Option<Vec<u8>> {
    for _ in 0..TRIES {
        let asked = port.call(&Asked {
            bytes: reply,
            ..Asked::of(Op::Ask, number)
        });
        match asked.outcome {
            Some(Outcome::Done) => return Some(asked.bytes),
            // Of a process that has ended there is this, too, and will be.
            Some(Outcome::NotMade) if shared.refuse(request, reply) => {}
            Some(Outcome::NotMade) if !shared.given_back.load(SeqCst) => thread::sleep(LOOK),
            _ => return None,
        }
    }
    None
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

#[cfg(test)]
mod tests {
    use super::*;
    use sing_p9::{HEAD, NO_TAG, VERSION};
    use std::fs;
    use std::path::PathBuf;

    const NUMBER: u64 = 7;
    const TAG: u16 = 1;

    /// A directory that is served, and the process of it, as the kernel has that.
    struct Process {
        port: Arc<Port>,
        shared: Arc<Shared>,
        at: PathBuf,
        /// The number of the last reply, which is to be answered with a request.
        id: u64,
    }

    impl Process {
        fn new(name: &str) -> Process {
            let at =
                std::env::temp_dir().join(format!("sing-call-dir-{name}-{}", std::process::id()));
            fs::create_dir_all(at.join("a/b/c/d/e/f")).unwrap();
            fs::write(at.join("file"), [b'x'; 4000]).unwrap();
            let port = Arc::new(Port::default());
            let server = Server::new(Root::open(&at, true).unwrap(), share(1));
            let shared = Arc::new(Shared {
                open: Mutex::new(Some(Open {
                    server: server.within(MOST as u32),
                    _place: Place(Arc::new(AtomicUsize::new(1))),
                })),
                given_back: AtomicBool::new(false),
            });
            let (its, own) = (Arc::clone(&shared), Arc::clone(&port));
            thread::spawn(move || serve(&its, &own, NUMBER, READS));
            let mut process = Process {
                port,
                shared,
                at,
                id: 0,
            };
            assert_eq!(process.next(), Ok(READS.to_vec()));
            let (most, version) = (MOST as u32, VERSION);
            process.ask_as(NO_TAG, &Request::Version { most, version });
            process.ask(&Request::Attach { fid: 0 });
            process
        }

        /// The next that comes: a reply, or the end.
        fn next(&mut self) -> Result<Vec<u8>, ()> {
            let mut taken = None;
            let until = Instant::now() + Duration::from_secs(10);
            while taken.is_none() && Instant::now() < until {
                self.port.next(&mut |request| {
                    taken = Some((request.op, request.id, request.bytes.to_vec()));
                    true
                });
                thread::sleep(Duration::from_micros(100));
            }
            let (op, id, bytes) = taken.expect("the thread of the directory goes on");
            self.id = id;
            (op == Op::Ask).then_some(bytes).ok_or(())
        }

        fn ask_as(&mut self, tag: u16, request: &Request<'_>) -> Vec<u8> {
            self.send(tag, request);
            self.next().unwrap()
        }

        fn send(&mut self, tag: u16, request: &Request<'_>) {
            let mut bytes = Vec::new();
            request.encode(tag, &mut bytes);
            let put = |place: &mut [u8]| place.copy_from_slice(&bytes);
            self.port
                .answer(self.id, Outcome::Done, bytes.len(), &mut { put });
        }

        fn ask(&mut self, request: &Request<'_>) -> Vec<u8> {
            self.ask_as(TAG, request)
        }

        /// Has no memory for the reply that has just come; what comes then.
        fn is_short(&mut self) -> Result<Vec<u8>, ()> {
            let text = format_args!("no room");
            self.port.say(self.id, Outcome::NotMade, text);
            self.next()
        }
    }

    impl Drop for Process {
        fn drop(&mut self) {
            self.port.end(0);
            self.shared.give_back(Instant::now() + PATIENCE);
            let _ = fs::remove_dir_all(&self.at);
        }
    }

    fn no_memory() -> Vec<u8> {
        let mut refusal = Vec::new();
        Answer::Error(errno::ENOMEM).encode(TAG, &mut refusal);
        refusal
    }

    #[test]
    fn a_reply_without_memory_is_refused_and_the_directory_goes_on() {
        let mut process = Process::new("short");
        let names: [&[u8]; 6] = [b"a", b"b", b"c", b"d", b"e", b"f"];
        let (fid, new, count, offset) = (1, 1, 4096, 0);
        let names = &names[..];
        let walk = |names: &[&'static [u8]]| Request::Walk {
            fid: 0,
            new,
            names: names.to_vec(),
        };
        let deep = process.ask(&walk(names));
        assert!(matches!(Answer::decode(&deep), Ok((TAG, Answer::Walk(qids))) if qids.len() == 6));
        // The fid of the walk is none, and can be used again.
        assert_eq!(process.is_short(), Ok(no_memory()));
        assert!(process.ask(&walk(names)).len() > SMALL);
        assert_eq!(process.ask(&Request::Clunk { fid }).len(), HEAD);
        process.ask(&walk(&[b"file"]));
        process.ask(&Request::Open { fid, flags: 0 });
        for request in [
            Request::GetAttributes { fid },
            Request::Read { fid, offset, count },
        ] {
            let reply = process.ask(&request);
            assert!(reply.len() > SMALL);
            assert_eq!(process.is_short(), Ok(no_memory()));
            assert_eq!(process.ask(&request), reply);
        }
    }

    #[test]
    fn a_small_reply_is_tried_again_for_a_while() {
        let mut process = Process::new("small");
        let (fid, new, names) = (0, 1, Vec::new());
        let reply = process.ask(&Request::Walk { fid, new, names });
        assert_eq!(process.is_short(), Ok(reply.clone()));
        // It was not done again, and is not undone.
        let opened = process.ask(&Request::Open { fid: 1, flags: 0 });
        assert!(matches!(
            Answer::decode(&opened),
            Ok((TAG, Answer::Open(_)))
        ));
        for _ in 1..TRIES {
            assert_eq!(process.is_short(), Ok(opened.clone()));
        }
        assert_eq!(process.is_short(), Err(()));
    }
}
