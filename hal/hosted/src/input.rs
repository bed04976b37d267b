//! The console's input: standard input.
//!
//! Input is noticed by a thread of its own, the watcher, which sleeps in `poll` and sends the
//! kernel's thread a signal. The other ways are worse: polling at timer ticks delays input while
//! one SIP computes alone and no tick is due, or costs ticks that nothing else needs; and
//! signal-driven input (`O_ASYNC`) is a mode of the open file, which is shared with the shell that
//! started us and would outlive us.
//!
//! Invariants:
//! - The watcher signals once, and watches again only after a read: input that nobody reads costs
//!   nothing.
//! - Only the kernel's thread reads; the watcher never does.

use crate::thread::quiet_thread;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::time::Timespec;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, Thread};

/// Room for the watcher, which calls two functions.
const WATCHER_STACK: usize = 64 << 10;

/// Standard input.
pub(crate) struct Input {
    /// None if a read never waits.
    watcher: Option<Thread>,
    /// Whether the watcher is to watch.
    watching: Arc<AtomicBool>,
    ended: AtomicBool,
}

/// Waits until something can be read, or the end be seen.
fn wait_for_input() {
    let stdin = stdin();
    while let Err(Errno::INTR | Errno::AGAIN) =
        poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None)
    {}
}

/// Whether standard input is a file or nothing, of which a read gets a piece or the end at once.
fn is_all_there() -> bool {
    let nothing = rustix::fs::stat("/dev/null").map(|null| null.st_rdev);
    fstat(stdin()).is_ok_and(|about| match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => true,
        FileType::CharacterDevice => nothing == Ok(about.st_rdev),
        _ => false,
    })
}

/// Whether standard input is a terminal, or was one, or another device that gives characters.
fn is_device() -> bool {
    let kind = fstat(stdin()).map(|about| FileType::from_raw_mode(about.st_mode));
    kind == Ok(FileType::CharacterDevice)
}

impl Input {
    /// Starts the watcher, which will send `signal` to the calling thread, from [`Input::watch`]
    /// on; but not for a file in which all input is there, if the system reads before it waits
    /// (`reads_first`).
    pub(crate) fn new(signal: i32, reads_first: bool) -> io::Result<Self> {
        if reads_first && is_all_there() {
            return Ok(Self {
                watcher: None,
                watching: Arc::default(),
                ended: AtomicBool::new(false),
            });
        }
        let watching = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&watching);
        let watcher = quiet_thread("console", WATCHER_STACK, move |kernel| {
            loop {
                while !flag.load(SeqCst) {
                    thread::park();
                }
                wait_for_input();
                flag.store(false, SeqCst);
                kernel.signal(signal);
            }
        })?;
        Ok(Self {
            watcher: Some(watcher),
            watching,
            ended: AtomicBool::new(false),
        })
    }

    /// Watches for the next input.
    pub(crate) fn watch(&self) {
        if let Some(watcher) = &self.watcher
            && !self.watching.swap(true, SeqCst)
        {
            watcher.unpark();
        }
    }

    /// Takes what has been typed, as
    /// [`ConsoleDevice::read`](sing_kernel::console::ConsoleDevice::read) says.
    ///
    /// # Errors
    /// Why it cannot be read, once: for what comes later that is its end.
    pub(crate) fn read(&self, out: &mut [u8]) -> Result<Option<usize>, Errno> {
        if self.ended.load(SeqCst) {
            return Ok(None);
        }
        if out.is_empty() {
            return Ok(Some(0));
        }
        let stdin = stdin();
        loop {
            let at_once = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&at_once)) {
                Ok(0) => break,
                Err(Errno::INTR) => continue,
                _ => {}
            }
            match rustix::io::read(stdin, &mut *out) {
                Ok(read) if read > 0 => {
                    self.watch();
                    return Ok(Some(read));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                end => {
                    self.ended.store(true, SeqCst);
                    return match end {
                        // A terminal that is gone comes to the same as the end.
                        Err(Errno::IO) if is_device() => Ok(None),
                        Err(error) => Err(error),
                        Ok(_) => Ok(None),
                    };
                }
            }
        }
        self.watch();
        Ok(Some(0))
    }
}
