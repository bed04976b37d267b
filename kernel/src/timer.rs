//! Time-outs and quanta, over the HAL's one-shot timer.
//!
//! The timer is set to the earlier of the quantum's end and the first time-out. Setting it is dear (a system
//! call, a device access), so a quantum that goes on is never set anew: threads inherit it ([O] 3.2.3).

use crate::cpu;
use crate::machine::hal;
use crate::sched::{Current, Scheduler};
use crate::thread::Thread;
use alloc::collections::BTreeMap;
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::lock::SpinLock;

struct Timers {
    /// By deadline, then by the thread's index.
    waiting: BTreeMap<(u64, u32), &'static Thread>,
    quantum_end: u64,
    set_to: u64,
}

static TIMERS: SpinLock<Timers> = SpinLock::new(Timers {
    waiting: BTreeMap::new(),
    quantum_end: u64::MAX,
    set_to: u64::MAX,
});

impl Timers {
    fn set(&mut self) {
        let first = self
            .waiting
            .first_key_value()
            .map_or(u64::MAX, |(k, _)| k.0);
        let at = first.min(self.quantum_end);
        // A timer that comes too early costs less than setting it each time a time-out is withdrawn.
        if at < self.set_to {
            self.set_to = at;
            hal().set_timer(at);
        }
    }
}

/// The uptime at which a wait that starts now ends, for a time-out as in the ABI.
pub(crate) fn deadline(timeout: i64) -> u64 {
    match u64::try_from(timeout) {
        Ok(t) => hal().now().saturating_add(t).min(u64::MAX - 1),
        Err(_) => u64::MAX,
    }
}

/// Wakes the thread at `deadline` if it still waits then.
pub(crate) fn add(t: &'static Thread, deadline: u64) {
    let mut timers = TIMERS.lock();
    t.wait.deadline.store(deadline, Relaxed);
    timers.waiting.insert((deadline, t.index.load(Relaxed)), t);
    timers.set();
}

/// Withdraws the thread's time-out, if it has one.
pub(crate) fn remove(t: &'static Thread) {
    let deadline = t.wait.deadline.swap(0, Relaxed);
    if deadline != 0 {
        TIMERS
            .lock()
            .waiting
            .remove(&(deadline, t.index.load(Relaxed)));
    }
}

/// A thread is about to run: its quantum begins, unless one goes on.
pub(crate) fn start_quantum() {
    let mut timers = TIMERS.lock();
    if timers.quantum_end == u64::MAX {
        timers.quantum_end = hal().now() + Current::QUANTUM;
        timers.set();
    }
}

/// Nothing is runnable.
pub(crate) fn stop_quantum() {
    TIMERS.lock().quantum_end = u64::MAX;
}

/// The timer's interrupt: wakes those whose time has come. Whether a quantum has ended, and whether anybody
/// was woken.
pub(crate) fn expired() -> (bool, bool) {
    let now = hal().now();
    let (mut ended, mut woken) = (false, false);
    loop {
        let mut timers = TIMERS.lock();
        match timers.waiting.first_key_value() {
            Some((&key, &t)) if key.0 <= now => {
                timers.waiting.remove(&key);
                t.wait.deadline.store(0, Relaxed);
                drop(timers);
                crate::wait::time_out(t);
                woken = true;
            }
            _ => {
                if timers.quantum_end <= now {
                    ended = true;
                    timers.quantum_end = now + Current::QUANTUM;
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
