//! Signals: interrupts and faults of the hosted machine.
//!
//! An interrupt's handler runs on the stack of the interrupted code, because the kernel may switch
//! threads inside it: the signal frame, which holds the whole register file, then stays on the
//! interrupted SIP's own stack until that thread runs again and returns from the handler. For the
//! same reason the handler unblocks interrupts before it calls the kernel for a SIP: a thread
//! switched to from inside must run with them deliverable. An interrupt that found the kernel is
//! noted with interrupts blocked. So there are at most two frames on a stack, however many signals
//! come: the second one interrupts the handler of the first, after it has unblocked them.
//!
//! A fault's handler runs on an alternate stack, because the SIP's may be the one that overflowed;
//! it does not switch, and interrupts are blocked while it runs. Another thread than the kernel's
//! has faults of its own (its copy from a disk's file, if no bug): the kernel is not asked then.
//!
//! An embedded system's programs may be interrupted on one thread of the host and go on on another
//! ([`crate::baton`]): what a signal frame has of the first is replaced then.
//!
//! Invariants:
//! - Threads of the kernel run with interrupts unblocked, except in these handlers, inside [`wait`]
//!   and inside [`sleep_until`].
//! - Handlers leave `errno` as they find it, and run nothing that takes a lock, provided that
//!   `arrive` only takes note unless SIP code was interrupted, as the kernel promises.

pub(crate) mod beside;

use crate::baton::baton;
use crate::devices::Idle;
use crate::report::Registers;
use crate::thread::this_thread;
use crate::{HostedHal, hosted, report, terminal};
use libc::{c_int, c_void, siginfo_t, sigset_t, ucontext_t};
use sing_kernel::fault::{Action, Fault, Kind};
use sing_kernel::hal::{LINE_CONSOLE, LINE_OUTPUT, LINE_TIMER};
use std::io;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

/// The timer's signal.
pub(crate) const TIMER: c_int = libc::SIGALRM;
/// The console watcher's signal.
pub(crate) const CONSOLE: c_int = libc::SIGIO;
/// The signal of the threads that write the kernel's output.
pub(crate) const OUTPUT: c_int = libc::SIGURG;

/// The signal of the threads of devices.
pub(crate) const DEVICE: c_int = libc::SIGUSR1;
/// Linux's signal that the terminal has another size: the console's interrupt, too.
const SIZE: c_int = libc::SIGWINCH;

/// Signals that are interrupts.
const INTERRUPTS: [c_int; 5] = [TIMER, CONSOLE, OUTPUT, DEVICE, SIZE];

/// Signals that are faults of the processor.
pub(crate) const FAULTS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
/// Linux's signal that a file has reached the limit of its size (`RLIMIT_FSIZE`), which the call says as
/// well: it would end the process, where one program has written too much. (The standard library ignores
/// `SIGPIPE` likewise.) An embedded system's threads have it blocked, and those of the host's that are lent
/// write no files.
const FILE_LIMIT: c_int = libc::SIGXFSZ;
/// Signals that end the process after it has restored the terminal.
const ENDINGS: [c_int; 5] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGABRT,
];

/// `si_code` of `SIGFPE` for an integer division, as Linux numbers it.
const FPE_INTDIV: c_int = 1;

/// Size of the alternate stack.
const ALTERNATE: usize = 64 << 10;
/// The most bytes of a signal frame as Linux announces it, which counts every register that the
/// processor has. AMX alone is 8 KiB of that, and stands only in frames of processes that have
/// asked for it; without it a frame has less than 4 KiB. Two of those, the handlers and the
/// kernel's work fit into the 24 KiB that the kernel keeps free below a thread's stack limit.
const MAX_FRAME: u64 = 12 << 10;

/// Whether an interrupt outside SIP code has arrived since the last [`wait`].
static ARRIVED: AtomicBool = AtomicBool::new(false);
/// Whether the kernel's thread sleeps in [`wait`].
static ASLEEP: AtomicBool = AtomicBool::new(false);
/// The kernel's thread, as `pthread_self` names it there; of an embedded system, 0 while none is.
pub(crate) static KERNEL: AtomicU64 = AtomicU64::new(0);

/// Linux's numbers of [`INTERRUPTS`]; 0 for one that the system does not use. An embedded system
/// leaves the usual ones to the program that it is in.
static NUMBERS: [AtomicI32; 5] = [
    AtomicI32::new(TIMER),
    AtomicI32::new(CONSOLE),
    AtomicI32::new(OUTPUT),
    AtomicI32::new(DEVICE),
    // Only a system with a console has a terminal.
    AtomicI32::new(0),
];

/// Linux's number of a signal of [`INTERRUPTS`].
pub(crate) fn number(signal: c_int) -> c_int {
    let place = INTERRUPTS.iter().position(|s| *s == signal);
    place.map_or(signal, |place| NUMBERS[place].load(Relaxed))
}

/// The signals that interrupt the kernel's thread, by Linux's numbers.
fn interrupts() -> sigset_t {
    set(&NUMBERS.each_ref().map(|n| n.load(Relaxed)))
}

type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

fn set(signals: &[c_int]) -> sigset_t {
    // SAFETY: all zeros is a valid value of this plain structure, and the calls get valid pointers
    // to it.
    unsafe {
        let mut set: sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals.iter().filter(|signal| **signal != 0) {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

fn install(signal: c_int, handler: Handler, flags: c_int, mask: sigset_t) -> io::Result<()> {
    let signal = number(signal);
    let action = libc::sigaction {
        sa_sigaction: handler as *const () as usize,
        sa_mask: mask,
        sa_flags: libc::SA_SIGINFO | flags,
        sa_restorer: None,
    };
    // SAFETY: the handlers below keep what sigaction(2) asks of them; `action` is valid for the
    // call.
    if unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Gives the calling thread an alternate stack with an inaccessible page below. Whoever unmaps it
/// takes it from the thread first. Where there is none, nothing stays mapped.
pub(crate) fn alternate_stack() -> io::Result<libc::stack_t> {
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
    let (page, access) = (sing_abi::PAGE, MprotectFlags::READ | MprotectFlags::WRITE);
    let bytes = page as usize + ALTERNATE;
    let flags = MapFlags::PRIVATE | MapFlags::STACK;
    // SAFETY: a new mapping that overlaps no other.
    let at = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::empty(), flags) }?;
    let stack = libc::stack_t {
        ss_sp: at.wrapping_byte_add(page as usize),
        ss_flags: 0,
        ss_size: ALTERNATE,
    };
    // SAFETY: only pages of the mapping above are protected, which has no other user.
    let done = unsafe { mprotect(stack.ss_sp, ALTERNATE, access) };
    let done = done.map_err(io::Error::from).and_then(|()| {
        // SAFETY: as above; both pointers are valid for the call.
        match unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    });
    if done.is_err() {
        // SAFETY: the mapping above, which is nobody's stack.
        unsafe { crate::memory::unmap(&(at as u64..at as u64 + bytes as u64)) };
    }
    done.map(|()| stack)
}

/// Installs the handlers and prepares the calling thread, which is the kernel's from now on.
/// `console`: also installs the handlers that restore the terminal.
pub(crate) fn start(console: bool) -> io::Result<()> {
    check_frames()?;
    alternate_stack()?;
    KERNEL.store(this_thread(), Relaxed);
    if console {
        NUMBERS[NUMBERS.len() - 1].store(SIZE, Relaxed);
    }
    let interrupts = interrupts();
    for signal in INTERRUPTS.into_iter().filter(|s| number(*s) != 0) {
        install(signal, on_interrupt, libc::SA_RESTART, interrupts)?;
    }
    for signal in FAULTS {
        install(signal, on_fault, libc::SA_ONSTACK, interrupts)?;
    }
    if console {
        let all = set(&[&ENDINGS[..], &INTERRUPTS].concat());
        for signal in ENDINGS {
            install(
                signal,
                on_ending,
                libc::SA_ONSTACK | libc::SA_RESETHAND,
                all,
            )?;
        }
        install(
            libc::SIGCONT,
            on_continue,
            libc::SA_ONSTACK | libc::SA_RESTART,
            all,
        )?;
    }
    // SAFETY: no handler of anybody's is replaced: the process is the system's.
    if unsafe { libc::signal(FILE_LIMIT, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    // A mask is inherited from the parent process, and might contain our signals.
    block(libc::SIG_UNBLOCK, &interrupts);
    Ok(())
}

/// Sees to it that signal frames fit where they will stand.
fn check_frames() -> io::Result<()> {
    // SAFETY: takes a number and returns one, 0 if Linux does not know.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) };
    if frame > MAX_FRAME {
        let text = format!("this processor's signal frames take {frame} bytes, over {MAX_FRAME}");
        return Err(io::Error::other(text));
    }
    Ok(())
}

fn block(how: c_int, signals: &sigset_t) {
    // SAFETY: the set is valid for the call, and the old one is not asked for.
    unsafe { libc::pthread_sigmask(how, signals, std::ptr::null_mut()) };
}

/// Names the calling thread.
pub(crate) fn this() -> u64 {
    this_thread()
}

/// Sleeps until `until` is true, which is asked at first, and whenever a signal has come, or the host
/// has something for the sockets that are watched; it is told whether it is asked again. The calling
/// thread is the system's, without the baton.
pub(crate) fn sleep_until(watched: Option<&Idle>, mut until: impl FnMut(bool) -> bool) {
    let interrupts = interrupts();
    let mut before = set(&[]);
    // As in `wait`. SAFETY: both sets are valid for the call.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const interrupts, &raw mut before) };
    let mut woken = false;
    while !until(woken) {
        sleep(&before, watched);
        woken = true;
    }
    block(libc::SIG_SETMASK, &before);
}

/// Waits until an interrupt has arrived since the last wait, or a signal comes, or the host has
/// something for the sockets that are watched.
pub(crate) fn wait(hosted: &HostedHal, watched: Option<&Idle>) {
    let interrupts = interrupts();
    let mut before = set(&[]);
    // From the look at ARRIVED until Linux has put the thread to sleep nothing can arrive unseen:
    // the signals are blocked, and `sigsuspend` unblocks them and sleeps in one step. SAFETY: both
    // sets are valid for the call.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const interrupts, &raw mut before) };
    hosted.timer.forget_reminder();
    if !ARRIVED.load(Relaxed) {
        ASLEEP.store(true, Relaxed);
        sleep(&before, watched);
        ASLEEP.store(false, Relaxed);
    }
    ARRIVED.store(false, Relaxed);
    block(libc::SIG_SETMASK, &before);
}

/// Sleeps with these signals blocked and no others, until one has been handled or the host has
/// something.
fn sleep(signals: &sigset_t, watched: Option<&Idle>) {
    let Some(watched) = watched else {
        // SAFETY: the set is valid for the call. The handlers that run inside it switch only when
        // SIP code was interrupted, which this is not.
        unsafe { libc::sigsuspend(signals) };
        return;
    };
    let mut host = libc::pollfd {
        fd: watched.host(),
        events: libc::POLLIN,
        revents: 0,
    };
    watched.watches(true);
    // SAFETY: all three are valid for the call, which takes no time-out; handlers as above.
    unsafe { libc::ppoll(&raw mut host, 1, std::ptr::null(), signals) };
    watched.watches(false);
}

/// Returns the registers of the interrupted code.
fn registers(context: &ucontext_t) -> Registers {
    Registers(context.uc_mcontext.gregs)
}

extern "C" fn on_interrupt(signal: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: Linux gives a handler with SA_SIGINFO a valid context, on this stack.
    let context = unsafe { &mut *context.cast::<ucontext_t>() };
    let Some(hosted) = hosted() else { return };
    let saved = errno();
    let place = NUMBERS.iter().position(|n| n.load(Relaxed) == signal);
    let signal = place.map_or(signal, |place| INTERRUPTS[place]);
    let thread = this_thread();
    if thread == KERNEL.load(SeqCst) {
        interrupt(hosted, signal, registers(context).get(libc::REG_RIP));
        if this_thread() != thread {
            beside::moved(context);
        }
    } else if let Some(baton) = baton(hosted) {
        // The system's own thread, while another runs the kernel or none does; or one that has run
        // it until now.
        if signal == TIMER {
            baton.note_timer();
        }
        baton.pass_on();
    }
    set_errno(saved);
}

/// `errno` of this thread. Not inlined: the code around it may go on on another thread.
#[inline(never)]
fn errno() -> c_int {
    // SAFETY: libc keeps it for the thread's life.
    unsafe { *libc::__errno_location() }
}

/// See [`errno`].
#[inline(never)]
fn set_errno(errno: c_int) {
    // SAFETY: as there.
    unsafe { *libc::__errno_location() = errno };
}

fn interrupt(hosted: &HostedHal, signal: c_int, pc: u64) {
    if signal == DEVICE {
        return device_interrupt(hosted, pc);
    }
    let line = match signal {
        TIMER if !hosted.timer.fired(&hosted.clock) => return,
        TIMER => LINE_TIMER,
        OUTPUT => LINE_OUTPUT,
        _ => LINE_CONSOLE,
    };
    if hosted.code.range().contains(&pc) {
        block(libc::SIG_UNBLOCK, &interrupts());
        // May return much later, but on this very stack, which holds everything that the
        // interrupted code needs.
        (hosted.hooks.interrupt)(line, true);
    } else {
        ARRIVED.store(true, Relaxed);
        hosted.noted.note();
        (hosted.hooks.interrupt)(line, false);
        if line == LINE_TIMER && !ASLEEP.load(Relaxed) {
            hosted.timer.remind(&hosted.clock);
        }
    }
}

fn device_interrupt(hosted: &HostedHal, pc: u64) {
    let in_sip = hosted.code.range().contains(&pc);
    if in_sip {
        block(libc::SIG_UNBLOCK, &interrupts());
    } else {
        ARRIVED.store(true, Relaxed);
        hosted.noted.note();
    }
    // Of an embedded system: also that it is to end, and what the timer had to tell.
    let others = baton(hosted).map_or(0, |baton| baton.lines(hosted) | baton.call_line());
    crate::devices::deliver(hosted, others, in_sip);
    // As the timer's: the one that is noted may have been the last for a SIP that never calls.
    if !in_sip && !ASLEEP.load(Relaxed) {
        hosted.timer.remind(&hosted.clock);
    }
}

/// Returns kind and address of the fault; `None` for a signal that another process sent.
fn fault_kind(signal: c_int, info: &siginfo_t) -> Option<(Kind, u64)> {
    // SAFETY: Linux sets the field for these signals if the code is positive.
    let address = unsafe { info.si_addr() } as u64;
    match (signal, info.si_code) {
        (_, code) if code <= 0 => None,
        // SI_KERNEL: a general protection fault, which has no address.
        (libc::SIGSEGV, code) if code != libc::SI_KERNEL => Some((Kind::Page, address)),
        (libc::SIGBUS, code) if code != libc::SI_KERNEL => Some((Kind::Page, address)),
        (libc::SIGILL, _) => Some((Kind::Undefined, 0)),
        (libc::SIGFPE, FPE_INTDIV) => Some((Kind::Divide, 0)),
        _ => Some((Kind::Other, 0)),
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: Linux gives a handler with SA_SIGINFO both, valid and ours while it runs.
    let (info, context) = unsafe { (&*info, &mut *context.cast::<ucontext_t>()) };
    let at = registers(context);
    // A page of a disk's file that Linux cannot give.
    if signal == libc::SIGBUS
        && let Some(next) = crate::devices::resume_after(at.get(libc::REG_RIP))
    {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] = next as i64;
        return;
    }
    let known = hosted().zip(fault_kind(signal, info));
    // An embedded system leaves faults that are not its own to the program that it is in.
    if beside::is_beside() && (known.is_none() || this_thread() != KERNEL.load(SeqCst)) {
        return beside::pass_on(signal, info, context);
    }
    let Some((hosted, (kind, address))) = known else {
        report::fatal(signal, info.si_code, &at, None)
    };
    let fault = Fault {
        kind,
        pc: at.get(libc::REG_RIP),
        sp: at.get(libc::REG_RSP),
        fp: at.get(libc::REG_RBP),
        address,
    };
    if this_thread() != KERNEL.load(Relaxed) {
        report::fatal(signal, info.si_code, &at, Some(&fault));
    }
    match (hosted.hooks.fault)(&fault) {
        Action::Retry => {}
        Action::Jump { pc, sp, argument } => {
            /// The direction flag, clear at every call.
            const DIRECTION: i64 = 1 << 10;
            let registers = &mut context.uc_mcontext.gregs;
            registers[libc::REG_RIP as usize] = pc as i64;
            registers[libc::REG_RSP as usize] = sp as i64;
            registers[libc::REG_RDI as usize] = argument as i64;
            registers[libc::REG_EFL as usize] &= !DIRECTION;
        }
        Action::Fatal if beside::is_beside() => beside::pass_on(signal, info, context),
        Action::Fatal => report::fatal(signal, info.si_code, &at, Some(&fault)),
    }
}

/// Handles a signal that ends the process: restores the terminal, then lets the signal take effect.
extern "C" fn on_ending(signal: c_int, _: *mut siginfo_t, _: *mut c_void) {
    terminal::leave();
    // SA_RESETHAND has restored the default action, which is taken when this handler returns and
    // the signal is no longer blocked. Linux takes none for the first process of a container.
    // SAFETY: ends this process without running anything else of it, or sends a signal to this
    // thread.
    unsafe {
        if std::process::id() == 1 {
            libc::_exit(128 + signal);
        }
        libc::raise(signal);
    }
}

/// Handles a continuation after a stop: another process may have changed the terminal's modes.
extern "C" fn on_continue(_: c_int, _: *mut siginfo_t, _: *mut c_void) {
    terminal::resume();
}
