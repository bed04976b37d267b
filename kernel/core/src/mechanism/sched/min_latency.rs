//! The minimum-latency round-robin scheduler ([O] 3.2.3).
//!
//! Two lists: *unblocked* threads, which have recently become runnable and run first, in FIFO
//! order; and *pre-empted* ones. When a quantum ends, all unblocked threads move to the end of the
//! pre-empted list, followed by the thread that ran. Threads from the unblocked list inherit the
//! quantum of the thread that unblocked them, so that a message costs no reset of the timer; and as
//! each quantum's end empties the unblocked list, a pre-empted thread waits for at most as many
//! quanta as there are threads before it.
//!
//! A thread that yields gives way to all others and so goes behind the pre-empted ones: among the
//! unblocked ones, many threads that yield would have a quantum each before anybody else.
//!
//! Two rules beyond the paper's keep a thread that sleeps over each quantum's end from having all
//! the time before it:
//! - A thread that the time wakes runs at once only until it has used a quantum's worth so. Then it
//!   waits for a turn.
//! - A pre-empted thread's *turn* lasts until it has used half a quantum, or for one more quantum:
//!   a thread that displaces it, or a quantum's end that comes early in it, does not end its turn.

use super::{Clock, Next, Scheduler};
use crate::object::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::link::{Link, List};

/// The scheduler's lists.
pub(crate) struct MinLatency {
    unblocked: List<Thread>,
    preempted: List<Thread>,
    turn: Turn,
}

/// The turn of the thread that was taken from the pre-empted list last.
struct Turn {
    thread: Link<Thread>,
    /// Cycles that the thread had used at its beginning.
    from: u64,
    /// Whether a quantum's end came too early in it.
    extended: bool,
}

impl Turn {
    #[inline(always)]
    fn begin(&mut self, thread: &'static Thread) {
        if !self.thread.is(thread) {
            self.thread.set(Some(thread));
            self.from = cycles(thread);
            self.extended = false;
        }
    }

    /// Whether it is this thread's and goes on after a quantum's end.
    fn goes_on(&mut self, thread: &'static Thread, quantum: u64) -> bool {
        let used = cycles(thread).wrapping_sub(self.from);
        let goes_on = self.thread.is(thread) && !self.extended && used < quantum / 2;
        self.extended = true;
        goes_on
    }
}

/// Cycles that a thread has used, up to the last time that it left the processor or that a quantum
/// ended.
fn cycles(thread: &Thread) -> u64 {
    thread.cycles.load(Relaxed)
}

impl Scheduler for MinLatency {
    const NAME: &'static str = "minimum-latency round robin";
    const QUANTUM: u64 = 5_000_000;
    const WOKEN_RUN_AT_ONCE: bool = true;
    /// Cycles that the thread had used when it last had to wait for a turn.
    type Data = u64;
    const NEW: Self = MinLatency {
        unblocked: List::new(),
        preempted: List::new(),
        turn: Turn {
            thread: Link::new(),
            from: 0,
            extended: false,
        },
    };

    #[inline(always)]
    fn unblocked(&mut self, thread: &'static Thread, _: &impl Clock) {
        self.unblocked.push(thread);
    }

    fn timed_out(&mut self, thread: &'static Thread, clock: &impl Clock) -> bool {
        let mut since = thread.scheduling.lock();
        let at_once = cycles(thread).wrapping_sub(*since) < clock.cycles(Self::QUANTUM);
        if at_once {
            self.unblocked.push(thread);
        } else {
            *since = cycles(thread);
            self.preempted.push(thread);
        }
        at_once
    }

    fn quantum_ended(&mut self, running: Option<&'static Thread>, clock: &impl Clock) {
        self.preempted.append(&self.unblocked);
        let Some(t) = running else { return };
        if self.turn.goes_on(t, clock.cycles(Self::QUANTUM)) {
            self.preempted.push_front(t);
        } else {
            self.turn.thread.set(None);
            *t.scheduling.lock() = cycles(t);
            self.preempted.push(t);
        }
    }

    fn displaced(&mut self, running: &'static Thread, _: &impl Clock) {
        if self.turn.thread.is(running) {
            self.preempted.push_front(running);
        } else {
            self.preempted.push(running);
        }
    }

    #[inline(always)]
    fn yielded(&mut self, running: &'static Thread, _: &impl Clock) {
        self.turn.thread.set(None);
        self.preempted.push(running);
    }

    #[inline(always)]
    fn next(&mut self, _: &impl Clock) -> Next {
        if let Some(t) = self.unblocked.pop() {
            return Next::Run(t);
        }
        match self.preempted.pop() {
            Some(t) => {
                self.turn.begin(t);
                Next::Run(t)
            }
            None => Next::Nobody,
        }
    }

    #[inline(always)]
    fn hands_over(&self) -> bool {
        self.unblocked.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.unblocked.is_empty() && self.preempted.is_empty()
    }

    fn remove(&mut self, thread: &'static Thread) {
        let _ = self.unblocked.remove(thread) || self.preempted.remove(thread);
        if self.turn.thread.is(thread) {
            self.turn.thread.set(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::sched::tests::{At, next, threads};
    use alloc::boxed::Box;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn unblocked_first_then_preempted() {
        let t = threads(4);
        let mut s = Box::new(MinLatency::NEW);
        s.quantum_ended(Some(t[0]), &At(0));
        s.unblocked(t[1], &At(0));
        s.unblocked(t[2], &At(0));
        assert_eq!(next(&mut *s), Some(1));
        s.unblocked(t[3], &At(0));
        // The quantum ends while 1 runs: 2 and 3 queue up behind 0, then 1.
        s.quantum_ended(Some(t[1]), &At(0));
        let order: Vec<_> = core::iter::from_fn(|| next(&mut *s)).collect();
        assert_eq!(order, [0, 2, 3, 1]);
        assert!(s.is_empty());
    }

    #[test]
    fn two_that_wake_each_other_do_not_starve_a_third() {
        let t = threads(3);
        let mut s = Box::new(MinLatency::NEW);
        s.quantum_ended(Some(t[2]), &At(0));
        s.unblocked(t[0], &At(0));
        for _ in 0..100 {
            assert_eq!(next(&mut *s), Some(0));
            s.unblocked(t[1], &At(0));
            assert_eq!(next(&mut *s), Some(1));
            s.unblocked(t[0], &At(0));
        }
        assert_eq!(next(&mut *s), Some(0));
        s.quantum_ended(Some(t[0]), &At(0));
        assert_eq!(next(&mut *s), Some(2));
    }

    #[test]
    fn one_that_yields_lets_all_others_run() {
        let t = threads(3);
        let mut s = Box::new(MinLatency::NEW);
        s.quantum_ended(Some(t[1]), &At(0));
        s.unblocked(t[2], &At(0));
        s.yielded(t[0], &At(0));
        let order: Vec<_> = core::iter::from_fn(|| next(&mut *s)).collect();
        assert_eq!(order, [2, 1, 0]);
    }

    /// One computes; the others compute, too, but sleep over each quantum's end. Returns the part
    /// of the time that the first one gets.
    fn beside_those_that_sleep_over_the_end(others: usize) -> f64 {
        const STEP: u64 = MinLatency::QUANTUM / 100;
        let t = threads(others as u32 + 1);
        let mut s = Box::new(MinLatency::NEW);
        s.quantum_ended(Some(t[0]), &At(0));
        let mut wakes = vec![STEP; others];
        let mut running = None::<&'static Thread>;
        for now in (1..40_000).map(|step| step * STEP) {
            let left = MinLatency::QUANTUM - now % MinLatency::QUANTUM;
            if let Some(r) = running {
                r.cycles.fetch_add(STEP, Relaxed);
                let id = r.id.load(Relaxed) as usize;
                if id > 0 && left == STEP {
                    wakes[id - 1] = now + 2 * STEP;
                    running = None;
                }
            }
            let mut displaces = false;
            for (wake, t) in wakes.iter_mut().zip(&t[1..]) {
                if *wake == now {
                    displaces |= s.timed_out(t, &At(now));
                }
            }
            if left == MinLatency::QUANTUM {
                s.quantum_ended(running.take(), &At(now));
            } else if displaces && let Some(r) = running.take() {
                s.displaced(r, &At(now));
            }
            if running.is_none() {
                running = next(&mut *s).map(|id| t[id as usize]);
            }
        }
        t[0].cycles.load(Relaxed) as f64 / (40_000 * STEP) as f64
    }

    #[test]
    fn one_that_computes_is_not_starved_by_those_that_sleep_over_each_quantums_end() {
        for others in 1..8 {
            let part = beside_those_that_sleep_over_the_end(others);
            let fair = 1.0 / (others + 1) as f64;
            assert!(part > fair / 2.0, "{part} of the time beside {others}");
        }
    }

    #[test]
    fn removes_from_either_list() {
        let t = threads(3);
        let mut s = Box::new(MinLatency::NEW);
        s.unblocked(t[0], &At(0));
        s.quantum_ended(None, &At(0));
        s.unblocked(t[1], &At(0));
        s.remove(t[0]);
        s.remove(t[1]);
        s.remove(t[2]);
        assert_eq!(next(&mut *s), None);
    }
}
