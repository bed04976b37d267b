//! What belongs to one processor: its current thread, its scheduler's queues, its idle context.
//!
//! One processor runs for now ([`this`] is the one place to change); nothing else in the kernel says how
//! many there are.

use crate::ground::trusted::{Fiber, IDLE, Left};
use crate::ground::work::Work;
use crate::mechanism::sched::{Current, Machine, Next, Scheduler};
use crate::object::thread::{State, Thread};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use sing_arch::link::{Link, List};
use sing_arch::lock::SpinLock;

/// One processor.
pub(crate) struct Cpu {
    /// The thread that runs; none while the idle context does.
    current: Link<Thread>,
    /// Runnable threads.
    pub(crate) queue: SpinLock<Current>,
    /// Cycle count at the last switch.
    since: AtomicU64,
    /// Threads that have ended on their own stacks, which only another context can give back.
    pub(crate) ended: SpinLock<List<Thread>>,
    /// Whether nobody was found to run although there may be somebody.
    asks_again: AtomicBool,
    /// Context switches so far.
    pub(crate) switches: AtomicU64,
    /// Pre-emptions so far.
    pub(crate) preemptions: AtomicU64,
}

static CPU: Cpu = Cpu {
    current: Link::new(),
    queue: SpinLock::new(Current::NEW),
    since: AtomicU64::new(0),
    ended: SpinLock::new(List::new()),
    asks_again: AtomicBool::new(false),
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

    /// Whether a thread that is unblocked now runs next.
    #[inline(always)]
    pub(crate) fn hands_over(&self) -> bool {
        self.queue.lock().hands_over()
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

    /// Takes the thread that runs next; `None` where none may run now.
    #[inline(always)]
    fn next(&self) -> Option<&'static Thread> {
        let next = self.ask();
        match next {
            Some(t) if t.is_halted() => self.next_but(t),
            _ => next,
        }
    }

    /// Takes the thread that runs next, where the one that should have must not: its SIP holds it. `None` also where there
    /// are more of those than go into a step; then the idle context asks again.
    #[cold]
    #[inline(never)]
    fn next_but(&self, mut halted: &'static Thread) -> Option<&'static Thread> {
        let mut work = Work::step();
        while !work.is_spent() {
            halted.sip().hold(halted);
            work.spend(0);
            let next = self.ask()?;
            if !next.is_halted() {
                return Some(next);
            }
            halted = next;
        }
        halted.sip().hold(halted);
        self.asks_again.store(true, Relaxed);
        None
    }

    /// Who is next, as the scheduler says.
    #[inline(always)]
    fn ask(&self) -> Option<&'static Thread> {
        let next = self.queue.lock().next(&Machine);
        match next {
            Next::Run(t) => Some(t),
            Next::RunUntil(t, until) => {
                crate::mechanism::timer::end_quantum_at(until);
                Some(t)
            }
            Next::Nobody => None,
            Next::NobodyBefore(at) => {
                crate::mechanism::timer::end_quantum_at(at);
                None
            }
        }
    }

    /// Leaves the running thread, which somebody else knows of by now (a queue, a wait list), for the next
    /// runnable one or the idle context. Returns when it runs again.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        let me = current();
        let next = self.next();
        if next.is_some_and(|n| core::ptr::eq(n, me)) {
            me.state.store(State::Running as u32, Relaxed);
            return;
        }
        let (to, told) = self.pass_on(me, next);
        me.fiber.switch_to(to, told);
    }

    /// The same at the end of a blocking entry, which switches when its function has returned. `None` where the thread is
    /// the next one itself.
    #[inline(always)]
    pub(crate) fn leave_entry(&self, me: &'static Thread) -> Option<Left> {
        let next = self.next();
        if next.is_some_and(|n| core::ptr::eq(n, me)) {
            me.state.store(State::Running as u32, Relaxed);
            return None;
        }
        let (to, told) = self.pass_on(me, next);
        Some(Left::to(to, told))
    }

    /// Leaves an entry for a thread that is in no queue, may run, and is told this. Nothing is traced.
    #[inline(always)]
    pub(crate) fn leave_entry_for(
        &self,
        me: &'static Thread,
        next: &'static Thread,
        told: u32,
    ) -> Left {
        self.account(Some(me));
        self.runs(next);
        Left::to(&next.fiber, told)
    }

    /// From now on `next` runs, or the idle context: to whom to switch, and what to tell.
    #[inline(always)]
    fn pass_on(&self, me: &'static Thread, next: Option<&'static Thread>) -> (&'static Fiber, u32) {
        match next {
            Some(n) => {
                self.account(Some(me));
                self.runs(n);
                crate::ground::trace::switched(n);
                (&n.fiber, n.wait.told())
            }
            None => {
                self.account(Some(me));
                self.current.set(None);
                (&IDLE, 0)
            }
        }
    }

    #[inline(always)]
    fn runs(&self, next: &'static Thread) {
        self.current.set(Some(next));
        next.state.store(State::Running as u32, Relaxed);
        self.switches
            .store(self.switches.load(Relaxed) + 1, Relaxed);
    }

    /// Leaves the running thread for the idle context.
    pub(crate) fn leave_for_idle(&self) {
        let me = current();
        self.account(Some(me));
        self.current.set(None);
        me.fiber.switch_to(&IDLE, 0);
    }

    /// Runs threads until none is runnable. Called in the idle context only.
    pub(crate) fn run_all(&self) {
        loop {
            crate::object::sip::reap();
            crate::mechanism::interrupt::deliver();
            let Some(next) = self.next() else {
                if self.asks_again.swap(false, Relaxed) || crate::object::sip::is_dying() {
                    continue;
                }
                return;
            };
            crate::mechanism::timer::start_quantum();
            self.account(None);
            self.runs(next);
            crate::ground::trace::switched(next);
            IDLE.switch_to(&next.fiber, next.wait.told());
        }
    }

    /// Runs threads for ever; waits for interrupts when none is runnable.
    pub(crate) fn idle(&self) -> ! {
        loop {
            self.run_all();
            if !self.has_runnable() {
                crate::mechanism::timer::stop_quantum();
            }
            if !crate::mechanism::interrupt::has_arrived() {
                crate::ground::machine::hal().idle();
            }
        }
    }
}
