//! The timer: one POSIX timer whose signal goes to the kernel's thread.
//!
//! Setting a timer is a system call, and under a hypervisor an exit from the virtual machine too,
//! so it is avoided if possible: when the kernel asks for a *later* time than the one set in Linux,
//! that one stays, and its signal, which comes too early, only sets the timer again. So a kernel
//! that renews a quantum at every switch pays for one system call a quantum and not one a switch.
//!
//! A timer signal that arrives in kernel code is only noted, and acted on at the kernel's last look
//! before it returns to SIP code. That look and the return are not one instruction, so the signal
//! is repeated a little later ([`Timer::remind`]): else it might have been the last for a SIP that
//! never calls the kernel.
//!
//! Invariant: while `wanted` is not [`NEVER`], the time set in Linux is no later (or is being set).

use crate::clock::Clock;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// No time.
const NEVER: u64 = u64::MAX;

/// Delay, in nanoseconds, of the repeated signal after one that found the kernel running.
const REMINDER: u64 = 1_000_000;

/// The timer. Times are those of [`Clock::now`]. All accesses come from one thread and the signal
/// handlers that interrupt it, so no stronger ordering than `Relaxed` is needed.
pub(crate) struct Timer {
    id: libc::timer_t,
    /// The time at which the kernel wants its interrupt.
    wanted: AtomicU64,
    /// The time set in Linux.
    armed: AtomicU64,
    /// Whether `wanted` is a reminder's.
    reminding: AtomicBool,
}

// SAFETY: a `timer_t` is a name that Linux knows, valid in every thread of the process.
unsafe impl Send for Timer {}
// SAFETY: as above; `timer_settime` is safe to call from anywhere.
unsafe impl Sync for Timer {}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer exists, and nobody sets it any more.
        unsafe { libc::timer_delete(self.id) };
    }
}

impl Timer {
    /// Makes a timer that sends `signal` to the calling thread.
    pub(crate) fn new(signal: i32) -> io::Result<Self> {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = crate::signals::number(signal);
        // SAFETY: takes nothing, always succeeds.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut id: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both pointers are valid for the call.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut id) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            id,
            wanted: AtomicU64::new(NEVER),
            armed: AtomicU64::new(NEVER),
            reminding: AtomicBool::new(false),
        })
    }

    /// Asks for one interrupt at `at`, replacing an earlier request.
    pub(crate) fn set(&self, clock: &Clock, at: u64) {
        // In this order: a signal in between finds a wanted time, and sets no reminder.
        self.wanted.store(at, Relaxed);
        self.reminding.store(false, Relaxed);
        if at < self.armed.load(Relaxed) {
            self.arm(clock, at);
        }
    }

    fn arm(&self, clock: &Clock, at: u64) {
        // Before the system call: if its signal comes at once, the handler finds the right value.
        self.armed.store(at, Relaxed);
        // Linux takes zero for never; a time in the past means now.
        let at = clock.monotonic(at).max(1);
        let value = libc::timespec {
            tv_sec: (at / 1_000_000_000) as libc::time_t,
            tv_nsec: (at % 1_000_000_000) as libc::c_long,
        };
        let once = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        // SAFETY: the timer exists, `once` is valid for the call, the old value is not asked for.
        let done = unsafe {
            libc::timer_settime(
                self.id,
                libc::TIMER_ABSTIME,
                &raw const once,
                std::ptr::null_mut(),
            )
        };
        debug_assert_eq!(done, 0, "the timer exists and its time is in range");
    }

    /// Handles the timer's signal: returns whether it is time for the interrupt. Called by its
    /// handler.
    pub(crate) fn fired(&self, clock: &Clock) -> bool {
        self.armed.store(NEVER, Relaxed);
        let wanted = self.wanted.load(Relaxed);
        if wanted == NEVER {
            return false;
        }
        if clock.now() < wanted {
            self.arm(clock, wanted);
            return false;
        }
        self.wanted.store(NEVER, Relaxed);
        true
    }

    /// Sets the timer to come again soon, unless the kernel has set it since. Called by its
    /// handler.
    pub(crate) fn remind(&self, clock: &Clock) {
        if self.wanted.load(Relaxed) == NEVER {
            let at = clock.now() + REMINDER;
            self.wanted.store(at, Relaxed);
            self.reminding.store(true, Relaxed);
            if at < self.armed.load(Relaxed) {
                self.arm(clock, at);
            }
        }
    }

    /// Cancels a reminder, as no SIP runs and the kernel has seen every note. Called with the
    /// timer's signal blocked.
    pub(crate) fn forget_reminder(&self) {
        if self.reminding.swap(false, Relaxed) {
            self.wanted.store(NEVER, Relaxed);
        }
    }
}
