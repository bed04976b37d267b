//! What belongs to one processor: its current thread, its scheduler's queues, its idle context.
//!
//! One processor runs for now ([`this`] is the one place to change); nothing else in the kernel says how
//! many there are.

use crate::sched::{Current, Scheduler};
use crate::thread::{self, State, Thread};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_arch::link::{Link, List};
use sing_arch::lock::SpinLock;

/// One processor.
pub(crate) struct Cpu {
    /// The thread that runs; none while the idle context does.
    current: Link<Thread>,
    /// Runnable threads.
    pub(crate) queue: SpinLock<Current>,
    /// Stack pointer of the idle context while a thread runs.
    idle_sp: AtomicU64,
    /// Cycle count at the last switch.
    since: AtomicU64,
    /// Threads that have ended on their own stacks, which only another context can give back.
    pub(crate) ended: SpinLock<List<Thread>>,
    /// Context switches so far.
    pub(crate) switches: AtomicU64,
    /// Pre-emptions so far.
    pub(crate) preemptions: AtomicU64,
}

static CPU: Cpu = Cpu {
    current: Link::new(),
    queue: SpinLock::new(Current::NEW),
    idle_sp: AtomicU64::new(0),
    since: AtomicU64::new(0),
    ended: SpinLock::new(List::new()),
    switches: AtomicU64::new(0),
    preemptions: AtomicU64::new(0),
};

/// The processor that executes this.
#[inline(always)]
pub(crate) fn this() -> &'static Cpu {
    &CPU
}

/// The thread that executes this.
///
/// # Panics
/// In the idle context, which no kernel entry is.
#[inline(always)]
pub(crate) fn current() -> &'static Thread {
    CPU.current.get().expect("no thread runs")
}

impl Cpu {
    /// The thread that runs here, if one does.
    #[inline(always)]
    pub(crate) fn running(&self) -> Option<&'static Thread> {
        self.current.get()
    }

    /// Whether some thread could run.
    pub(crate) fn has_runnable(&self) -> bool {
        !self.queue.lock().is_empty()
    }

    /// Charges the cycles since the last switch to `thread` and starts counting anew.
    #[inline(always)]
    fn account(&self, thread: Option<&Thread>) {
        let now = sing_arch::cycles();
        let since = self.since.load(Relaxed);
        self.since.store(now, Relaxed);
        if let Some(t) = thread {
            t.cycles
                .store(t.cycles.load(Relaxed) + now.wrapping_sub(since), Relaxed);
        }
    }

    /// Charges what the running thread has used so far, so that its time is up to date.
    pub(crate) fn settle(&self) {
        self.account(self.running());
    }

    /// Leaves the running thread, which somebody else knows of by now (a queue, a wait list), for the next
    /// runnable one or the idle context. Returns when it runs again.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        let next = self.queue.lock().next();
        let me = current();
        match next {
            Some(n) if core::ptr::eq(n, me) => me.state.store(State::Running as u32, Relaxed),
            Some(n) => self.switch_between(me, n),
            None => self.leave_for_idle(),
        }
    }

    #[inline(always)]
    fn switch_between(&self, me: &'static Thread, next: &'static Thread) {
        self.account(Some(me));
        self.current.set(Some(next));
        next.state.store(State::Running as u32, Relaxed);
        self.switches
            .store(self.switches.load(Relaxed) + 1, Relaxed);
        crate::trace::switched(next);
        thread::switch(&me.sp, next.sp.load(Relaxed));
    }

    /// Leaves the running thread for the idle context.
    pub(crate) fn leave_for_idle(&self) {
        let me = current();
        self.account(Some(me));
        self.current.set(None);
        thread::switch(&me.sp, self.idle_sp.load(Relaxed));
    }

    /// Runs threads until none is runnable. Called in the idle context only.
    pub(crate) fn run_all(&self) {
        loop {
            crate::sip::reap();
            crate::interrupt::deliver();
            let next = self.queue.lock().next();
            let Some(next) = next else {
                if crate::sip::is_dying() {
                    continue;
                }
                return;
            };
            crate::timer::start_quantum();
            self.account(None);
            self.current.set(Some(next));
            next.state.store(State::Running as u32, Relaxed);
            self.switches
                .store(self.switches.load(Relaxed) + 1, Relaxed);
            crate::trace::switched(next);
            thread::switch(&self.idle_sp, next.sp.load(Relaxed));
        }
    }

    /// Runs threads for ever; waits for interrupts when none is runnable.
    pub(crate) fn idle(&self) -> ! {
        loop {
            self.run_all();
            crate::timer::stop_quantum();
            if !crate::interrupt::pending() {
                crate::machine::hal().idle();
            }
        }
    }
}
