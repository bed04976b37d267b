//! Threads beside the kernel's: they wait for the outside, and tell the kernel's by a signal.

use crate::signals::{FAULTS, alternate_stack};
use std::io;
use std::thread::{self, Thread};

/// The kernel's thread, as those know it that signal to it.
#[derive(Clone, Copy)]
pub(crate) struct Kernel(libc::pthread_t);

impl Kernel {
    /// The calling thread, which is the kernel's.
    pub(crate) fn this() -> Kernel {
        Kernel(this_thread())
    }

    /// Sends it a signal, by its name here, of a system that is not embedded: Linux refuses none of
    /// those.
    pub(crate) fn signal(self, signal: i32) {
        self.try_signal(signal);
    }

    /// The same of any system. Whether it was sent: one of an embedded system is a real-time signal,
    /// and Linux refuses it while the user has as many under way as there may be
    /// (`RLIMIT_SIGPENDING`).
    pub(crate) fn try_signal(self, signal: i32) -> bool {
        // SAFETY: the kernel's thread lives as long as the process, or, of an embedded system, is
        // not joined while anybody has this (`embed`).
        let sent = unsafe { libc::pthread_kill(self.0, crate::signals::number(signal)) };
        sent != libc::EAGAIN
    }
}

/// Names the calling thread. Safe in signal handlers.
pub(crate) fn this_thread() -> libc::pthread_t {
    // SAFETY: takes nothing, and cannot fail.
    unsafe { libc::pthread_self() }
}

/// Starts a quiet thread that is told the calling thread, which is the kernel's.
pub(crate) fn quiet_thread(
    name: &str,
    stack: usize,
    run: impl FnOnce(Kernel) + Send + 'static,
) -> io::Result<Thread> {
    quiet_thread_for(Kernel::this(), name, stack, run)
}

/// The same, told this thread.
pub(crate) fn quiet_thread_for(
    kernel: Kernel,
    name: &str,
    stack: usize,
    run: impl FnOnce(Kernel) + Send + 'static,
) -> io::Result<Thread> {
    thread_without_signals(name, stack, move || {
        // The standard library's has no room for the report of a fault; it is there if Linux refuses
        // this one. It stays mapped: these threads live as long as the machine.
        let _ = alternate_stack();
        run(kernel);
    })
}

/// Starts a thread that takes no signals: it inherits a mask with all of them, but for the faults,
/// which are its own: Linux ends the process for one that is blocked.
pub(crate) fn thread_without_signals(
    name: &str,
    stack: usize,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<Thread> {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    let mut before = all;
    // SAFETY: both sets are valid for the calls; no signal that the kernel counts on is lost, only
    // late.
    unsafe {
        libc::sigfillset(&raw mut all);
        for fault in FAULTS {
            libc::sigdelset(&raw mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    }
    let started = thread::Builder::new()
        .name(name.into())
        .stack_size(stack)
        .spawn(run);
    // SAFETY: `before` was filled by the call above.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
    started.map(|handle| handle.thread().clone())
}
