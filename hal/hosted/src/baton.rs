//! Which thread of the host runs the kernel of an embedded system: its holder.
//!
//! The kernel and its programs run on stacks of their own, so any thread can run them: it leaves its
//! own stack for the kernel's, and is back when the kernel has nothing to do. The system has a thread
//! of its own for that. A thread that calls a program takes its place if the kernel rests: so a call
//! wakes no thread and waits for none. The answer is there when the kernel is idle again, mostly; if
//! not (the program sleeps), the thread waits for it, and the system's own thread goes on.
//!
//! Signals go to the system's thread, which passes them on to the holder ([`Baton::kick`]).
//!
//! Invariants:
//! - One thread at a time has the baton, and only that one touches the kernel, the timer and what
//!   handlers note for them.
//! - A thread that is signalled as the holder has taken the signal before it goes on with its own
//!   work: no system call of its own is interrupted by it.
//! - Whoever gives the baton back looks afterwards whether there is something to do, and wakes the
//!   system's thread for it; whoever has something to do says so first, and looks then for a holder
//!   to interrupt. So nothing waits unseen.
//! - A holder whose answer has come leaves the kernel though others run there: these are interrupted
//!   for that.
//! - The system's thread gives the baton to nobody when the system has ended. It takes the machine down
//!   only when the thread that ran the kernel to its end has left it, and has taken its signals.
//! - Nobody is signalled for a system that has ended but its own thread: another system may have a
//!   holder by then.

use crate::HostedHal;
use crate::devices::{self, Idle, Next};
use crate::signals::{self, DEVICE, KERNEL};
use sing_arch::switch;
use sing_kernel::hal::{LINE_CALL, LINE_POWER, LINE_TIMER};
use sing_kernel::interrupt::has_work;
use std::arch::asm;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::time::Duration;

/// How long the system's thread looks for work before it sleeps: a call from a task comes soon after
/// another, and a signal and the sleep would cost more than the call.
const LOOKING: u64 = 6_000;
/// How long a thread waits before it signals again, if Linux has refused that.
const AGAIN: Duration = Duration::from_millis(1);
/// The floating-point modes that programs run with: those that Linux starts a thread with.
const MODES: Modes = Modes {
    sse: 0x1f80,
    x87: 0x37f,
};
/// The bits of MXCSR that are modes; the others are results.
const MODE_BITS: u32 = 0xffc0;

/// The right to run the kernel.
pub(crate) struct Baton {
    held: AtomicBool,
    /// Whether the system's thread looks for work, without the baton.
    looks: AtomicBool,
    /// The system's thread; 0 before it is there, and when it ends.
    system: AtomicU64,
    /// Threads that are about to signal.
    kickers: AtomicU32,
    /// Whether the holder has been signalled.
    kicked: AtomicBool,
    /// The stack pointer of the kernel's idle context, while nobody runs it.
    kernel: AtomicU64,
    /// The stack pointer of the holder's own execution, while it runs the kernel.
    back: AtomicU64,
    /// The request whose answer the holder waits for; 0 for none.
    serving: AtomicU64,
    /// Whether that answer has come.
    served: AtomicBool,
    /// Whether requests of the host wait for the kernel.
    request: AtomicBool,
    /// Whether the kernel was left with something to do.
    work: AtomicBool,
    /// Whether the timer's signal has come to a thread that was not the holder.
    timer: AtomicBool,
    /// Whether Linux has refused a signal that was to be passed on.
    unsent: AtomicBool,
    /// Whether the system is to end.
    stops: AtomicBool,
    /// Whether it has.
    ended: AtomicBool,
    /// Whether the thread that ran it to its end is back at its own work.
    left: AtomicBool,
}

impl Default for Baton {
    /// One that the system's thread holds, which is yet to come.
    fn default() -> Baton {
        Baton {
            held: AtomicBool::new(true),
            looks: AtomicBool::new(false),
            system: AtomicU64::new(0),
            kickers: AtomicU32::new(0),
            kicked: AtomicBool::new(false),
            kernel: AtomicU64::new(0),
            back: AtomicU64::new(0),
            serving: AtomicU64::new(0),
            served: AtomicBool::new(false),
            request: AtomicBool::new(false),
            work: AtomicBool::new(false),
            timer: AtomicBool::new(false),
            unsent: AtomicBool::new(false),
            stops: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            left: AtomicBool::new(false),
        }
    }
}

/// The registers of floating-point modes. Programs use only the first; but a signal frame has both,
/// and a program that goes on on another thread brings those of the one that it was interrupted on.
#[derive(Clone, Copy)]
struct Modes {
    /// MXCSR.
    sse: u32,
    /// The control word of the x87 unit.
    x87: u16,
}

impl Modes {
    /// Those of this thread.
    fn now() -> Modes {
        let mut modes = MODES;
        // SAFETY: the instructions write four and two bytes that are there.
        unsafe {
            asm!(
                "stmxcsr [{}]", "fnstcw [{}]",
                in(reg) &raw mut modes.sse, in(reg) &raw mut modes.x87,
                options(nostack, preserves_flags)
            );
        }
        modes
    }

    /// Whether programs run with them.
    fn are_programs(self) -> bool {
        self.sse & MODE_BITS == MODES.sse && self.x87 == MODES.x87
    }

    /// Sets them, without results.
    ///
    /// # Safety
    /// The code that runs with them expects them.
    unsafe fn set(self) {
        // SAFETY: the instructions read four and two bytes that are there, and raise nothing, as no
        // exception of the x87 unit's is left; else the caller's.
        unsafe {
            asm!(
                "ldmxcsr [{}]", "fnclex", "fldcw [{}]",
                in(reg) &raw const self.sse, in(reg) &raw const self.x87,
                options(nostack, preserves_flags)
            );
        }
    }
}

impl Baton {
    /// The calling thread is the system's, and the kernel is to start from this stack pointer.
    pub(crate) fn start(&self, kernel: u64) {
        self.system.store(signals::this(), SeqCst);
        self.kernel.store(kernel, SeqCst);
    }

    /// Takes it, if nobody has it.
    pub(crate) fn take(&self) -> bool {
        !self.held.load(SeqCst)
            && self
                .held
                .compare_exchange(false, true, SeqCst, Relaxed)
                .is_ok()
    }

    /// Whether nobody runs the kernel, nor is about to look whether somebody should.
    pub(crate) fn rests(&self) -> bool {
        !self.held.load(SeqCst) && !self.looks.load(SeqCst)
    }

    /// Whether the kernel has something to do.
    pub(crate) fn is_wanted(&self) -> bool {
        devices::due()
            || self.has_request()
            || self.work.load(SeqCst)
            || self.timer.load(SeqCst)
            || self.stops.load(SeqCst)
    }

    /// Takes note of the timer's signal.
    pub(crate) fn note_timer(&self) {
        self.timer.store(true, SeqCst);
    }

    /// Passes a signal on to the holder, if there is one. Called by the handler of a thread that is
    /// not.
    pub(crate) fn pass_on(&self) {
        if KERNEL.load(SeqCst) != 0 && !self.has_ended() && !self.kick() {
            self.unsent.store(true, SeqCst);
        }
    }

    /// Has the system end: who runs the kernel is to be interrupted then.
    pub(crate) fn stop(&self) {
        self.stops.store(true, SeqCst);
    }

    /// Whether it is to end.
    pub(crate) fn stops(&self) -> bool {
        self.stops.load(SeqCst)
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(SeqCst)
    }

    /// Whether the holder waits for nothing any more.
    pub(crate) fn is_served(&self) -> bool {
        self.served.load(Relaxed)
    }

    /// The line by which programs that run are interrupted for requests, if some wait.
    pub(crate) fn call_line(&self) -> u32 {
        u32::from(self.has_request()) << LINE_CALL
    }

    /// Takes note of whether requests wait. Called with their lock.
    pub(crate) fn note_request(&self, waits: bool) {
        self.request.store(waits, SeqCst);
    }

    /// Whether requests wait.
    pub(crate) fn has_request(&self) -> bool {
        self.request.load(SeqCst)
    }

    /// The answer to this request has come. Called in the kernel's idle context, which looks
    /// afterwards whether it is to be left.
    pub(crate) fn answered(&self, id: u64) {
        if self.serving.load(Relaxed) == id {
            self.served.store(true, Relaxed);
        }
    }

    /// The lines that are to be reported to the kernel beside the devices'. Called by the holder.
    pub(crate) fn lines(&self, hosted: &HostedHal) -> u32 {
        let mut lines = 0;
        if self.timer.load(Relaxed)
            && self.timer.swap(false, SeqCst)
            && hosted.timer.fired(&hosted.clock)
        {
            lines |= 1 << LINE_TIMER;
        }
        if self.stops() {
            lines |= 1 << LINE_POWER;
        }
        lines
    }

    /// Runs the kernel on this thread, which has the baton, until it is idle, has served the request
    /// `serving`, or has ended. The thread's signals and its alternate stack are as they have to be.
    pub(crate) fn run(&self, hosted: &HostedHal, serving: u64) {
        self.serving.store(serving, Relaxed);
        self.served.store(false, Relaxed);
        self.work.store(false, Relaxed);
        hosted.noted.forget();
        let before = Modes::now();
        if !before.are_programs() {
            // SAFETY: those that programs expect; the thread's own are set again below.
            unsafe { MODES.set() };
        }
        // Before the look for what has come: what comes later has a signal.
        KERNEL.store(signals::this(), SeqCst);
        devices::deliver(hosted, self.lines(hosted), false);
        // SAFETY: the stack pointer of the kernel's idle context, saved by `pause` or made by
        // `first_frame`, is used once: until it is saved again nobody else has the baton.
        unsafe { switch::switch_with(self.back.as_ptr(), self.kernel.load(Relaxed), 0) };
        KERNEL.store(0, SeqCst);
        self.outwait();
        if self.kicked.load(Relaxed) {
            self.kicked.store(false, SeqCst);
            // Any system call: Linux delivers what is pending on the way back.
            std::thread::yield_now();
        }
        if !before.are_programs() {
            // SAFETY: those that this thread has had.
            unsafe { before.set() };
        }
        self.serving.store(0, Relaxed);
        self.served.store(false, Relaxed);
        if self.has_ended() {
            // From here on the machine may go.
            self.left.store(true, SeqCst);
        } else {
            hosted.timer.forget_reminder();
            self.work.store(has_work(), Relaxed);
        }
    }

    /// Leaves the kernel, which is idle, for the holder's own stack. Returns when it is run again.
    pub(crate) fn pause(&self) {
        // SAFETY: the holder waits there, in `run`; it is switched to once.
        unsafe { switch::switch_with(self.kernel.as_ptr(), self.back.load(Relaxed), 0) };
    }

    /// Leaves the kernel for good, which has ended, from whatever stack of its.
    pub(crate) fn leave(&self) -> ! {
        self.ended.store(true, SeqCst);
        let mut never = 0;
        // SAFETY: as above; nothing is ever switched back to this stack, so what it holds may stay
        // as it is.
        unsafe { switch::switch_with(&raw mut never, self.back.load(Relaxed), 0) };
        unreachable!("a system that has ended goes on")
    }

    /// Gives it back, on another thread than the system's; leaves it to that if the system has ended.
    pub(crate) fn give(&self) {
        let ended = self.has_ended();
        if !ended {
            self.held.store(false, SeqCst);
        }
        if ended || self.is_wanted() {
            while !self.kick() {
                std::thread::sleep(AGAIN);
                // Another has taken it, and does this when it gives it back.
                if !ended && (self.held.load(SeqCst) || !self.is_wanted()) {
                    break;
                }
            }
        }
    }

    /// Gives it back on the system's thread, and sleeps until it is wanted, and had again.
    pub(crate) fn rest(&self, hosted: &HostedHal) {
        let sockets = hosted.devices.idle();
        let watched = match sockets.map(Idle::look) {
            Some(Next::Deliver) => return,
            Some(Next::Watch) => sockets,
            Some(Next::Sleep) | None => None,
        };
        self.looks.store(true, SeqCst);
        self.held.store(false, SeqCst);
        let end = hosted.clock.now() + LOOKING;
        while hosted.clock.now() < end {
            if self.is_wanted() && self.take() {
                self.looks.store(false, SeqCst);
                return;
            }
            std::hint::spin_loop();
        }
        self.looks.store(false, SeqCst);
        signals::sleep_until(watched, |woken| {
            // The timer comes again only when the holder has learned that it has come.
            if self.unsent.swap(false, SeqCst) {
                while self.held.load(SeqCst) && !self.kick() {
                    std::thread::sleep(AGAIN);
                }
            }
            // What the host has for its sockets, only the kernel can tell.
            self.goes_on(woken && watched.is_some())
        });
    }

    /// Whether the system's thread has something to do: it has the baton then, if `more` or what has
    /// come is to be looked at, or it is to take the machine down.
    fn goes_on(&self, more: bool) -> bool {
        (more || self.is_wanted()) && self.take() || self.left.load(SeqCst)
    }

    /// Interrupts the thread that runs the kernel, or wakes the system's. Whether Linux has let the
    /// signal pass: it does not while the user has as many under way as there may be
    /// (`RLIMIT_SIGPENDING`). Safe in signal handlers.
    pub(crate) fn kick(&self) -> bool {
        // Nobody whom this is about ends meanwhile, or goes on with what is its own.
        self.kickers.fetch_add(1, SeqCst);
        let holder = match self.has_ended() {
            true => 0,
            false => KERNEL.load(SeqCst),
        };
        let to = match holder {
            0 => self.system.load(SeqCst),
            holder => {
                self.kicked.store(true, SeqCst);
                holder
            }
        };
        // SAFETY: a thread that waits for this to be over before it ends.
        let sent =
            to == 0 || unsafe { libc::pthread_kill(to, signals::number(DEVICE)) } != libc::EAGAIN;
        self.kickers.fetch_sub(1, SeqCst);
        sent
    }

    /// The system's thread is about to end: nobody signals to it any more.
    pub(crate) fn end(&self) {
        self.system.store(0, SeqCst);
        self.outwait();
    }

    /// Waits until nobody is about to signal any more.
    fn outwait(&self) {
        let mut turns = 0;
        while self.kickers.load(SeqCst) != 0 {
            turns += 1;
            // A thread of a higher priority would not let the other go on by yielding.
            match turns % 64 {
                0 => std::thread::sleep(AGAIN),
                _ => std::thread::yield_now(),
            }
        }
    }
}

/// The baton of the embedded system that runs, if one does.
pub(crate) fn baton(hosted: &HostedHal) -> Option<&Baton> {
    hosted.port.as_ref().map(|port| port.baton())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn all_modes_of_a_thread_are_kept_for_it() {
        let own = Modes {
            sse: 0x1f80 | 3 << 13,
            x87: 0x37f | 3 << 10,
        };
        let same = |a: Modes, b: Modes| a.sse & MODE_BITS == b.sse & MODE_BITS && a.x87 == b.x87;
        let kept = thread::spawn(move || {
            assert!(Modes::now().are_programs());
            let x87 = Modes {
                sse: MODES.sse,
                ..own
            };
            // SAFETY: nothing is computed on this thread.
            let seen = [own, x87, MODES].map(|modes| unsafe {
                modes.set();
                Modes::now()
            });
            assert!(same(seen[0], own) && same(seen[1], x87) && same(seen[2], MODES));
            assert!(seen.map(Modes::are_programs) == [false, false, true]);
        });
        kept.join().unwrap();
    }

    #[test]
    fn the_machine_is_taken_down_only_when_the_kernel_has_been_left() {
        let baton = Baton::default();
        // As `leave`, which still runs on the kernel's stack.
        baton.ended.store(true, SeqCst);
        baton.stop();
        assert!(!baton.goes_on(true));
        // As `run`, back on the caller's.
        baton.left.store(true, SeqCst);
        assert!(baton.goes_on(false));
        assert!(!baton.take(), "others could run a system that has ended");
    }

    #[test]
    fn who_is_late_for_a_system_that_has_ended_does_not_signal_the_next_ones_holder() {
        let late = thread::spawn(|| {
            // SAFETY: all zeros is a valid value of this plain structure, which is valid for the
            // calls. What comes nevertheless ends with this thread.
            unsafe {
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
            }
            let baton = Baton::default();
            baton.ended.store(true, SeqCst);
            KERNEL.store(signals::this(), SeqCst);
            let sent = baton.kick();
            KERNEL.store(0, SeqCst);
            assert!(sent && !baton.kicked.load(SeqCst));
        });
        late.join().unwrap();
    }
}
