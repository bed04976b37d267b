//! The console's input: standard input.
//!
//! A thread of its own, the watcher, notices input: it sleeps in `poll` and sends the kernel's
//! thread a signal. The other ways are worse: polling at timer ticks delays input while one SIP
//! computes alone and no tick is due, or costs ticks that nothing else needs; and signal-driven
//! input (`O_ASYNC`) is a mode of the open file, which is shared with the shell that started us and
//! would outlive us.
//!
//! Invariants:
//! - The watcher signals once, and watches again only after a read: unread input costs nothing.
//! - Only the kernel's thread reads; the watcher never does.

use crate::terminal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::time::Timespec;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, Thread};

/// Size of the watcher's stack: it calls two functions.
const WATCHER_STACK: usize = 64 << 10;

/// The console.
pub(crate) struct Console {
    watcher: Thread,
    /// Whether the watcher is to watch.
    watching: Arc<AtomicBool>,
    ended: AtomicBool,
}

/// The kernel's thread, as the target of signals from other threads.
#[derive(Clone, Copy)]
pub(crate) struct Kernel(libc::pthread_t);

impl Kernel {
    /// Sends the thread a signal.
    pub(crate) fn signal(self, signal: i32) {
        // SAFETY: the kernel's thread lives as long as the process.
        unsafe { libc::pthread_kill(self.0, signal) };
    }
}

/// Starts a thread that takes no signals: it inherits a mask with all of them. Its function gets
/// the calling thread, which is the kernel's.
pub(crate) fn quiet_thread(
    name: &str,
    stack: usize,
    run: impl FnOnce(Kernel) + Send + 'static,
) -> io::Result<Thread> {
    // SAFETY: names the calling thread, which is the kernel's and lives as long as the process.
    let kernel = Kernel(unsafe { libc::pthread_self() });
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    let mut before = all;
    // SAFETY: both sets are valid for the calls; signals for the kernel are delayed, not lost.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    }
    let started = thread::Builder::new()
        .name(name.into())
        .stack_size(stack)
        .spawn(move || run(kernel));
    // SAFETY: `before` was filled by the call above.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
    started.map(|handle| handle.thread().clone())
}

/// Waits until there is input or its end.
fn wait_for_input() {
    let stdin = stdin();
    while let Err(Errno::INTR | Errno::AGAIN) =
        poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None)
    {}
}

impl Console {
    /// Makes a watcher that sends `signal` to the calling thread, once [`Console::watch`] is
    /// called.
    pub(crate) fn new(signal: i32) -> io::Result<Self> {
        terminal::enter();
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
            watcher,
            watching,
            ended: AtomicBool::new(false),
        })
    }

    /// Makes the watcher watch for the next input.
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
                // The end of input, or a terminal that is gone, which is treated alike.
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
