//! The console: standard input and output.
//!
//! Input is noticed by a thread of its own, the watcher, which sleeps in `poll` and sends the kernel's thread a
//! signal. The other ways are worse: polling at timer ticks delays input while one SIP computes alone and no
//! tick is due, or costs ticks that nothing else needs; and signal-driven input (`O_ASYNC`) is a mode of the
//! open file, which is shared with the shell that started us and would outlive us.
//!
//! Invariants:
//! - The watcher signals once, and watches again only after a read: input that nobody reads costs nothing.
//! - Only the kernel's thread reads; the watcher never does.

use crate::terminal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::time::Timespec;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, Thread};

/// Exit status when whoever read our output is gone: that of a process that dies of `SIGPIPE`.
const STATUS_PIPE: i32 = 128 + libc::SIGPIPE;

/// Room for the watcher, which calls two functions.
const WATCHER_STACK: usize = 64 << 10;

/// The console.
pub(crate) struct Console {
    watcher: Thread,
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

impl Console {
    /// Starts the watcher, which will send `signal` to the calling thread, from [`Console::watch`] on.
    pub(crate) fn new(signal: i32) -> io::Result<Self> {
        terminal::enter();
        let watching = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&watching);
        // SAFETY: names the calling thread, which is the kernel's and lives as long as the process.
        let kernel = unsafe { libc::pthread_self() };
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
        let mut before = all;
        // The watcher takes no signals: it inherits a mask with all of them.
        // SAFETY: both sets are valid for the calls; no signal that the kernel counts on is lost, only late.
        unsafe {
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        }
        let watcher = thread::Builder::new()
            .name("console".into())
            .stack_size(WATCHER_STACK)
            .spawn(move || {
                loop {
                    while !flag.load(SeqCst) {
                        thread::park();
                    }
                    wait_for_input();
                    flag.store(false, SeqCst);
                    // SAFETY: the kernel's thread lives as long as the process.
                    unsafe { libc::pthread_kill(kernel, signal) };
                }
            });
        // SAFETY: `before` was filled by the call above.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        }
        let watcher = watcher?.thread().clone();
        Ok(Self {
            watcher,
            watching,
            ended: AtomicBool::new(false),
        })
    }

    /// Watches for the next input.
    pub(crate) fn watch(&self) {
        if !self.watching.swap(true, SeqCst) {
            self.watcher.unpark();
        }
    }

    pub(crate) fn read(&self, out: &mut [u8]) -> Option<usize> {
        if self.ended.load(SeqCst) {
            return None;
        }
        if out.is_empty() {
            return Some(0);
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
                    return Some(read);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // The end, or a terminal that is gone, which comes to the same.
                Ok(_) | Err(_) => {
                    self.ended.store(true, SeqCst);
                    return None;
                }
            }
        }
        self.watch();
        Some(0)
    }
}

/// Writes all of it, waiting where the reader is slow. A reader that is gone ends the system quietly.
pub(crate) fn write(bytes: &[u8]) {
    if write_all(stdout(), bytes) == Err(Errno::PIPE) {
        crate::end(STATUS_PIPE);
    }
}

/// Writes a line to standard error, in one piece where Linux lets it.
pub(crate) fn log(line: &str) {
    let _ = write_all(stderr(), format!("{line}\n").as_bytes());
}

/// Writes all of it. Safe in signal handlers.
pub(crate) fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(&to, PollFlags::OUT)], None);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
