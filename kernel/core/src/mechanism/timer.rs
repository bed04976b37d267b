//! Time-outs and quanta, over the HAL's one-shot timer.
//!
//! The timer is set to the earlier of the quantum's end and the first time-out. Setting it is
//! expensive (a system call, a device access), so it is not set again during a quantum: threads
//! inherit that ([O] 3.2.3).

mod deadlines;

use crate::ground::machine::hal;
use crate::ground::trusted::variables;
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::mechanism::sched::{Current, Scheduler};
use crate::mechanism::watchdog;
use crate::object::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use deadlines::Deadlines;
use sing_arch::lock::SpinLock;

struct Timers {
    waiting: Deadlines,
    quantum_end: u64,
    /// When calls of the host program are to be looked at.
    calls: u64,
    /// Time of the watchdog's next tick.
    tick: u64,
    set_to: u64,
}

variables! { forget:
    static TIMERS: SpinLock<Timers> = SpinLock::new(Timers {
        waiting: Deadlines::new(),
        quantum_end: u64::MAX,
        calls: u64::MAX,
        tick: u64::MAX,
        set_to: u64::MAX,
    });
}

impl Timers {
    fn set(&mut self) {
        let due = |t: &Thread| t.wait.deadline.load(Relaxed);
        let first = self.waiting.first().map_or(u64::MAX, due);
        let at = first.min(self.quantum_end).min(self.tick).min(self.calls);
        // A timer that comes too early costs less than setting it each time a time-out is
        // withdrawn.
        if at < self.set_to {
            self.set_to = at;
            hal().set_timer(at);
        }
    }
}

/// Returns the uptime at which a wait that starts now ends, for a time-out as in the ABI.
pub(crate) fn deadline(timeout: i64) -> u64 {
    match u64::try_from(timeout) {
        Ok(t) => hal().now().saturating_add(t).min(u64::MAX - 1),
        Err(_) => u64::MAX,
    }
}

/// Makes room for this many threads. Returns false if memory is short.
pub(crate) fn reserve(threads: u32) -> bool {
    TIMERS.lock().waiting.reserve(threads as usize)
}

/// Wakes the thread at `deadline` if it still waits then.
pub(crate) fn add(t: &'static Thread, deadline: u64) {
    let mut timers = TIMERS.lock();
    t.wait.deadline.store(deadline, Relaxed);
    timers.waiting.insert(t);
    timers.set();
}

/// Withdraws the thread's time-out, if it has one.
pub(crate) fn remove(t: &'static Thread) {
    if t.wait.timer_place.load(Relaxed) != 0 {
        TIMERS.lock().waiting.remove(t);
    }
}

/// Calls `f` with each thread that has a time-out.
pub(crate) fn each(f: impl FnMut(&'static Thread)) {
    TIMERS.lock().waiting.each(f);
}

/// Begins a quantum, unless one is under way: a thread is about to run.
pub(crate) fn start_quantum() {
    let mut timers = TIMERS.lock();
    if timers.quantum_end == u64::MAX && hal().preempts() {
        let now = hal().now();
        timers.quantum_end = now + Current::QUANTUM;
        timers.tick = watchdog::next_tick(now);
        timers.set();
    }
}

/// Sets the end of the quantum that is under way, or begins one that ends at this time.
pub(crate) fn end_quantum_at(at: u64) {
    if !hal().preempts() {
        return;
    }
    let mut timers = TIMERS.lock();
    timers.quantum_end = at;
    timers.set();
}

/// Has calls of the host program looked at then, if no earlier look is due.
pub(crate) fn look_at_calls(at: u64) {
    let mut timers = TIMERS.lock();
    if at < timers.calls {
        timers.calls = at;
        timers.set();
    }
}

/// Ends the quantum: nothing is runnable.
pub(crate) fn stop_quantum() {
    let mut timers = TIMERS.lock();
    timers.quantum_end = u64::MAX;
    timers.tick = u64::MAX;
}

/// The timer's interrupt: wakes those whose time has come, as many as go into a step; for the
/// others it comes again at once. Whether a quantum has ended, and whether anybody was woken who
/// runs at once.
pub(crate) fn expired() -> (bool, bool) {
    let now = hal().now();
    let (mut ended, mut woken) = (false, false);
    let mut work = Work::step();
    loop {
        let mut timers = TIMERS.lock();
        match timers.waiting.first() {
            Some(t) if t.wait.deadline.load(Relaxed) <= now && !work.is_spent() => {
                work.spend(0);
                timers.waiting.remove(t);
                drop(timers);
                woken |= crate::mechanism::wait::time_out(t);
            }
            _ => {
                if timers.quantum_end <= now {
                    ended = true;
                    timers.quantum_end = now + Current::QUANTUM;
                }
                if timers.calls <= now {
                    timers.calls = u64::MAX;
                    crate::object::calls::look();
                }
                if timers.tick <= now {
                    timers.tick = watchdog::next_tick(now);
                }
                timers.set_to = u64::MAX;
                timers.set();
                break;
            }
        }
    }
    if ended {
        cpu::this().settle();
    }
    (ended, woken)
}
