//! Signals of an embedded system, beside those of the program that it is in.
//!
//! Interrupts have real-time signals that the program does not use, and go to the kernel's thread,
//! which takes no other signals but faults: all else that is sent to the process goes to the
//! program's threads. A fault on another thread than the kernel's, and one that the kernel does not
//! know, goes on to the handler that was there before; if there was none, Linux does what it does
//! without one.
//!
//! Invariants:
//! - A handler is taken back only where it is still ours: one that was installed after ours may call
//!   ours, which then still passes on what it gets.
//! - Nothing here allocates or takes a lock once the handlers are installed.

use super::{
    CONSOLE, DEVICE, FAULTS, Handler, KERNEL, NUMBERS, OUTPUT, TIMER, alternate_stack, block,
    check_frames, install, interrupts, on_fault, on_interrupt, set,
};
use crate::thread::this_thread;
use libc::{c_int, c_void, siginfo_t};
use std::io;
use std::ops::Range;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};

/// Whether a system is or was embedded in this process.
static BESIDE: AtomicBool = AtomicBool::new(false);

/// The handlers of [`FAULTS`] before ours, and their flags.
static BEFORE: [(AtomicUsize, AtomicI32); 4] =
    [const { (AtomicUsize::new(libc::SIG_DFL), AtomicI32::new(0)) }; 4];

/// Signals of the kernel's thread; dropping the value gives all back.
pub(crate) struct Signals {
    interrupts: [c_int; 2],
    /// The addresses of the alternate stack.
    alternate: Range<u64>,
    before: [libc::sigaction; 4],
}

/// Whether a system is or was embedded in this process.
pub(crate) fn is_beside() -> bool {
    BESIDE.load(Relaxed)
}

fn action(signal: c_int) -> libc::sigaction {
    // SAFETY: all zeros is a valid value of this plain structure, and the call fills it in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action
    }
}

/// Two real-time signals without handlers.
fn free_signals() -> io::Result<[c_int; 2]> {
    let range = libc::SIGRTMIN()..=libc::SIGRTMAX();
    let mut free = range
        .rev()
        .filter(|signal| action(*signal).sa_sigaction == libc::SIG_DFL);
    match (free.next(), free.next()) {
        (Some(first), Some(second)) => Ok([first, second]),
        _ => Err(io::Error::other(
            "the program has handlers for all real-time signals, and the system needs two",
        )),
    }
}

impl Signals {
    /// Installs the handlers, and makes the calling thread the kernel's.
    pub(crate) fn start() -> io::Result<Signals> {
        check_frames()?;
        let numbers = free_signals()?;
        let alternate = alternate_stack()?;
        let bottom = alternate.ss_sp as u64;
        let own = [
            (TIMER, numbers[0]),
            (CONSOLE, 0),
            (OUTPUT, 0),
            (DEVICE, numbers[1]),
        ];
        for ((_, number), place) in own.iter().zip(&NUMBERS) {
            place.store(*number, Relaxed);
        }
        KERNEL.store(this_thread(), Relaxed);
        let signals = Signals {
            interrupts: numbers,
            alternate: bottom - sing_abi::PAGE..bottom + alternate.ss_size as u64,
            before: FAULTS.map(action),
        };
        for (old, (handler, flags)) in signals.before.iter().zip(&BEFORE) {
            // Of an earlier system that could not be taken back: it goes on to the one before.
            if old.sa_sigaction != on_fault as Handler as usize {
                handler.store(old.sa_sigaction, Relaxed);
                flags.store(old.sa_flags, Relaxed);
            }
        }
        BESIDE.store(true, SeqCst);
        let interrupts = interrupts();
        for signal in [TIMER, DEVICE] {
            install(signal, on_interrupt, libc::SA_RESTART, interrupts)?;
        }
        for signal in FAULTS {
            install(signal, on_fault, libc::SA_ONSTACK, interrupts)?;
        }
        let mut others = all();
        for signal in FAULTS.iter().chain(&signals.interrupts) {
            // SAFETY: the set is valid for the call.
            unsafe { libc::sigdelset(&raw mut others, *signal) };
        }
        block(libc::SIG_SETMASK, &others);
        Ok(signals)
    }
}

/// All signals.
fn all() -> libc::sigset_t {
    let mut all = set(&[]);
    // SAFETY: the set is valid for the call.
    unsafe { libc::sigfillset(&raw mut all) };
    all
}

impl Drop for Signals {
    /// Called on the kernel's thread, which runs nothing of the kernel's any more.
    fn drop(&mut self) {
        block(libc::SIG_BLOCK, &set(&self.interrupts));
        KERNEL.store(0, Relaxed);
        for (signal, before) in FAULTS.iter().zip(&self.before) {
            if action(*signal).sa_sigaction == on_fault as Handler as usize {
                // SAFETY: the action that was installed before ours, valid for the call.
                unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
            }
        }
        // SAFETY: all zeros is the default action; what is pending for this thread goes with it.
        let default: libc::sigaction = unsafe { std::mem::zeroed() };
        for signal in self.interrupts {
            // SAFETY: as above.
            unsafe { libc::sigaction(signal, &raw const default, std::ptr::null_mut()) };
        }
        let off = libc::stack_t {
            ss_sp: std::ptr::null_mut(),
            ss_flags: libc::SS_DISABLE,
            ss_size: 0,
        };
        // SAFETY: no handler runs on it, and none will: it is the thread's no more. The mapping,
        // with the inaccessible page below, is nobody else's.
        unsafe {
            libc::sigaltstack(&raw const off, std::ptr::null_mut());
            crate::memory::unmap(&self.alternate);
        }
    }
}

/// Lets the handler that was there before have a fault.
pub(crate) fn pass_on(signal: c_int, info: *const siginfo_t, context: *mut libc::ucontext_t) {
    let place = FAULTS.iter().position(|s| *s == signal);
    let before = place.map_or((libc::SIG_DFL, 0), |place| {
        let (handler, flags) = &BEFORE[place];
        (handler.load(Relaxed), flags.load(Relaxed))
    });
    match before {
        (libc::SIG_DFL | libc::SIG_IGN, _) => {
            // SAFETY: sets the default action. The instruction faults again when this returns, and
            // Linux does as it does without a handler; a signal that was sent is sent again.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
        }
        (handler, flags) if flags & libc::SA_SIGINFO != 0 => {
            type WithInfo = extern "C" fn(c_int, *const siginfo_t, *mut c_void);
            // SAFETY: the program has installed it as a handler of this type for this signal.
            let handler: WithInfo = unsafe { std::mem::transmute(handler) };
            handler(signal, info, context.cast());
        }
        (handler, _) => {
            // SAFETY: as above.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
