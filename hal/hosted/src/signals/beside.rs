//! Signals of an embedded system, beside those of the program that it is in.
//!
//! Interrupts have real-time signals that the program does not use, and go to the system's thread,
//! which takes no other signals but faults: all else that is sent to the process goes to the
//! program's threads. One of those that runs the kernel for a call ([`lend`]) takes interrupts, too,
//! and faults of the system's programs. A fault on another thread than the kernel's, and one that the
//! kernel does not know, goes on to the handler that was there before; if there was none, Linux does
//! what it does without one.
//!
//! Invariants:
//! - A handler is taken back only where it is still ours: one that was installed after ours may call
//!   ours, which then still passes on what it gets.
//! - A signal that comes back to ours while it is passed on goes to the handler that was there before
//!   the first system: so one that calls ours, and is called by the handlers of the next system, does
//!   not go round.
//! - A thread that has lent itself to the kernel keeps an alternate stack until it ends, whose
//!   mapping goes then.
//! - No handler allocates or takes a lock.

use super::{
    ALTERNATE, CONSOLE, DEVICE, FAULTS, Handler, KERNEL, NUMBERS, OUTPUT, TIMER, alternate_stack,
    block, check_frames, install, interrupts, on_fault, on_interrupt, set,
};
use crate::thread::this_thread;
use libc::{c_int, c_void, siginfo_t};
use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU8, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};

/// Whether a system is or was embedded in this process.
static BESIDE: AtomicBool = AtomicBool::new(false);

/// A handler, and its flags.
type Place = (AtomicUsize, AtomicI32);

/// The handlers of [`FAULTS`] before ours.
static BEFORE: [Place; 4] = [const { (AtomicUsize::new(libc::SIG_DFL), AtomicI32::new(0)) }; 4];
/// Those before the first of ours that has not been taken back, which may be called by the others.
static FIRST: [Place; 4] = [const { (AtomicUsize::new(libc::SIG_DFL), AtomicI32::new(0)) }; 4];
/// Whether ours has not been taken back: one bit for each.
static LEFT: AtomicU8 = AtomicU8::new(0);

thread_local! {
    /// What of [`FAULTS`] this thread is passing on: one bit for each.
    static PASSING: Cell<u8> = const { Cell::new(0) };
}

fn put(place: &Place, (handler, flags): (usize, c_int)) {
    place.0.store(handler, Relaxed);
    place.1.store(flags, Relaxed);
}

fn get(place: &Place) -> (usize, c_int) {
    (place.0.load(Relaxed), place.1.load(Relaxed))
}

/// The alternate stack that a thread of the program's has for the kernel.
struct Alternate(Cell<Stack>);

#[derive(Clone, Copy)]
enum Stack {
    /// The thread has not been asked.
    Unknown,
    /// It has one of its own that is large enough.
    Own,
    /// It has one of ours, from here on.
    Ours(u64),
}

impl Drop for Alternate {
    fn drop(&mut self) {
        let Stack::Ours(bottom) = self.0.get() else {
            return;
        };
        let mut now = OFF;
        // SAFETY: the thread ends, and runs no kernel any more. Where another stack has taken its
        // place, that is somebody else's; ours, with the page below it, is nobody's from here on.
        unsafe {
            libc::sigaltstack(std::ptr::null(), &raw mut now);
            if now.ss_sp as u64 == bottom {
                libc::sigaltstack(&OFF, std::ptr::null_mut());
            }
            crate::memory::unmap(&(bottom - sing_abi::PAGE..bottom + ALTERNATE as u64));
        }
    }
}

/// No alternate stack.
const OFF: libc::stack_t = libc::stack_t {
    ss_sp: std::ptr::null_mut(),
    ss_flags: libc::SS_DISABLE,
    ss_size: 0,
};

thread_local! {
    static OWN: Alternate = const { Alternate(Cell::new(Stack::Unknown)) };
}

/// Prepares the calling thread, one of the program's, to run the kernel: its faults have a stack, and
/// neither they nor interrupts are blocked. False if it cannot.
pub(crate) fn lend() -> bool {
    // Of a thread that is about to end there is nobody to give the stack back.
    let ready = OWN.try_with(|own| match own.0.get() {
        Stack::Unknown => own.borrow(),
        Stack::Own | Stack::Ours(_) => true,
    });
    if ready != Ok(true) {
        return false;
    }
    // Each time: the program may have blocked some since.
    let mut needed = interrupts();
    for fault in FAULTS {
        // SAFETY: the set is valid for the call.
        unsafe { libc::sigaddset(&raw mut needed, fault) };
    }
    block(libc::SIG_UNBLOCK, &needed);
    true
}

impl Alternate {
    /// Sees to it that the thread has an alternate stack that is large enough; whether it has.
    fn borrow(&self) -> bool {
        let mut now = OFF;
        // SAFETY: asks only; the structure is valid for the call.
        unsafe { libc::sigaltstack(std::ptr::null(), &raw mut now) };
        if now.ss_flags & libc::SS_ONSTACK != 0 {
            return false;
        }
        if now.ss_flags & libc::SS_DISABLE == 0 && now.ss_size >= ALTERNATE {
            self.0.set(Stack::Own);
            return true;
        }
        let ours = alternate_stack();
        if let Ok(stack) = &ours {
            self.0.set(Stack::Ours(stack.ss_sp as u64));
        }
        ours.is_ok()
    }
}

/// What was interrupted on another thread goes on on this one: Linux takes the mask of signals and the
/// alternate stack from the frame when the handler returns, and they are to be this thread's own.
pub(super) fn moved(context: &mut libc::ucontext_t) {
    let mut mask = set(&[]);
    // SAFETY: both only ask, and get memory that is valid for the calls. Linux's own mask, which
    // stands in the frame, is a word, and nothing of ours may be written behind it.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
        (&raw mut context.uc_sigmask)
            .cast::<u64>()
            .write((&raw const mask).cast::<u64>().read());
        libc::sigaltstack(std::ptr::null(), &raw mut context.uc_stack);
    }
}

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
        for (number, old) in signals.before.iter().enumerate() {
            // Of an earlier system that could not be taken back: it goes on to the one before.
            if old.sa_sigaction == on_fault as Handler as usize {
                continue;
            }
            let old = (old.sa_sigaction, old.sa_flags);
            if LEFT.load(Relaxed) & 1 << number == 0 {
                put(&FIRST[number], old);
            }
            put(&BEFORE[number], old);
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
        for (number, (signal, before)) in FAULTS.iter().zip(&self.before).enumerate() {
            if action(*signal).sa_sigaction == on_fault as Handler as usize {
                // SAFETY: the action that was installed before ours, valid for the call.
                unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
                // Who calls ours still is before ours no more.
                put(&BEFORE[number], get(&FIRST[number]));
            } else {
                LEFT.fetch_or(1 << number, Relaxed);
            }
        }
        // SAFETY: all zeros is the default action; what is pending for this thread goes with it.
        let default: libc::sigaction = unsafe { std::mem::zeroed() };
        for signal in self.interrupts {
            // SAFETY: as above.
            unsafe { libc::sigaction(signal, &raw const default, std::ptr::null_mut()) };
        }
        // SAFETY: no handler runs on it, and none will: it is the thread's no more. The mapping,
        // with the inaccessible page below, is nobody else's.
        unsafe {
            libc::sigaltstack(&OFF, std::ptr::null_mut());
            crate::memory::unmap(&self.alternate);
        }
    }
}

/// Lets the handler that was there before have a fault.
pub(crate) fn pass_on(signal: c_int, info: &siginfo_t, context: *mut libc::ucontext_t) {
    let Some(place) = FAULTS.iter().position(|s| *s == signal) else {
        return;
    };
    let (bit, passing) = (1 << place, PASSING.get());
    let next = match passing & bit == 0 {
        true => &BEFORE[place],
        false => &FIRST[place],
    };
    PASSING.set(passing | bit);
    call(get(next), signal, info, context);
    PASSING.set(passing);
}

/// Calls a handler, or does what Linux does for one that is none.
fn call(
    (handler, flags): (usize, c_int),
    signal: c_int,
    info: &siginfo_t,
    context: *mut libc::ucontext_t,
) {
    let sent = info.si_code <= 0;
    match handler {
        // Linux ignores only what is sent, and never a fault.
        libc::SIG_IGN if sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: sets the default action. The instruction faults again when this returns, and
            // Linux does as it does without a handler; a signal that was sent is sent again.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if sent {
                    libc::raise(signal);
                }
            }
        }
        handler if flags & libc::SA_SIGINFO != 0 => {
            type WithInfo = extern "C" fn(c_int, *const siginfo_t, *mut c_void);
            // SAFETY: the program has installed it as a handler of this type for this signal.
            let handler: WithInfo = unsafe { std::mem::transmute(handler) };
            handler(signal, info, context.cast());
        }
        handler => {
            // SAFETY: as above.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
