//! The state of one processor: its current thread, its scheduler's queues, its idle context.
//!
//! The kernel runs on one processor for now. Only [`this`] depends on that; nothing else in the
//! kernel assumes a number of processors.

use crate::ground::trusted::{Fiber, IDLE, Left, parts_restart, variables};
use crate::ground::work::Work;
use crate::mechanism::sched::{Current, Machine, Next, Scheduler};
use crate::object::thread::{State, Thread};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use sing_arch::link::{Link, List};
use sing_arch::lock::SpinLock;

/// Cycles that the idle context spends on calls of the host program before others run: about a quantum.
const SPELL: u64 = 10_000_000;

/// One processor.
pub(crate) struct Cpu {
    /// The running thread; none while the idle context runs.
    current: Link<Thread>,
    /// Runnable threads.
    pub(crate) queue: SpinLock<Current>,
    /// Cycle count at the last switch.
    since: AtomicU64,
    /// Threads that have ended on their own stacks, which only another context can free.
    pub(crate) ended: SpinLock<List<Thread>>,
    /// Whether nobody was found to run although there may be somebody.
    asks_again: AtomicBool,
    /// Context switches so far.
    pub(crate) switches: AtomicU64,
    /// Pre-emptions so far.
    pub(crate) preemptions: AtomicU64,
}

variables! { forget:
    static CPU: Cpu = Cpu {
        current: Link::new(),
        queue: SpinLock::new(Current::NEW),
        since: AtomicU64::new(0),
        ended: SpinLock::new(List::new()),
        asks_again: AtomicBool::new(false),
        switches: AtomicU64::new(0),
        preemptions: AtomicU64::new(0),
    };
}

/// Returns the processor that executes this.
#[inline(always)]
pub(crate) fn this() -> &'static Cpu {
    &CPU
}

/// Returns the thread that executes this.
///
/// # Panics
/// In the idle context, which no kernel entry is.
#[inline(always)]
pub(crate) fn current() -> &'static Thread {
    CPU.current.get().expect("no thread runs")
}

parts_restart!(Cpu: current queue since ended asks_again switches preemptions);

impl Cpu {
    /// Returns the thread that runs on this processor, if one does.
    #[inline(always)]
    pub(crate) fn running(&self) -> Option<&'static Thread> {
        self.current.get()
    }

    /// Whether a thread that is unblocked now would run next.
    #[inline(always)]
    pub(crate) fn hands_over(&self) -> bool {
        self.queue.lock().hands_over()
    }

    /// Whether some thread is runnable.
    pub(crate) fn has_runnable(&self) -> bool {
        !self.queue.lock().is_empty()
    }

    /// Charges the cycles since the last switch to `thread` and starts counting again.
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

    /// Charges the running thread for the cycles it has used so far, so that its time is up to
    /// date.
    pub(crate) fn settle(&self) {
        self.account(self.running());
    }

    /// Removes the next thread from the queue; `None` if none may run now.
    #[inline(always)]
    fn next(&self) -> Option<&'static Thread> {
        let next = self.ask();
        match next {
            Some(t) if t.is_halted() => self.next_but(t),
            _ => next,
        }
    }

    /// Takes the thread that runs next, where the one that should have must not: its SIP holds it.
    /// `None` also where there are more of those than go into a step; then the idle context asks
    /// again.
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

    /// Asks the scheduler for the next thread.
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

    /// Leaves the running thread, which a queue or wait list refers to by now, for the next
    /// runnable thread or the idle context. Returns when it runs again.
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

    /// Does the same at the end of a blocking entry, where the switch is made after its function
    /// has returned. Returns `None` if the thread is itself the next one.
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

    /// Leaves an entry for a thread that is in no queue and may run, and that receives `told`.
    /// Traces nothing.
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

    /// Makes `next` the running thread, or the idle context if `None`; returns the fiber to switch
    /// to, and the word to tell it.
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

    /// Runs threads until none is runnable, or the HAL wants the processor back. Called in the idle
    /// context only.
    pub(crate) fn run_all(&self) {
        // Cycles spent on calls while threads could run, since one did.
        let mut served = 0;
        loop {
            crate::object::sip::reap();
            crate::mechanism::interrupt::deliver();
            let others = self.has_runnable();
            let waits = others || crate::object::calls::are_due();
            if waits && crate::ground::machine::hal().leaves() {
                return;
            }
            // One request can take many steps, as an image is loaded for it; and the host may make
            // them faster than they are refused.
            if (!others || served < SPELL) && crate::object::calls::have_work() {
                // It is counted while somebody waits for it.
                let begun = others.then(sing_arch::cycles);
                if crate::object::calls::serve() {
                    served += begun.map_or(0, |begun| sing_arch::cycles().wrapping_sub(begun));
                    continue;
                }
            }
            let next = self.next();
            let spent = core::mem::take(&mut served) >= SPELL;
            let Some(next) = next else {
                let again = self.asks_again.swap(false, Relaxed) || crate::object::sip::is_dying();
                if again || spent {
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
