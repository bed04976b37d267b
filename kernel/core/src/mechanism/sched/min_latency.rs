//! The minimum-latency round-robin scheduler ([O] 3.2.3).
//!
//! Two lists: *unblocked* threads, which have recently become runnable and run first, in FIFO
//! order; and *pre-empted* ones. When a quantum ends, all unblocked threads move to the end of the
//! pre-empted list, followed by the thread that ran. Threads from the unblocked list inherit the
//! quantum of the thread that unblocked them, so that a message costs no reset of the timer; and as
//! each quantum's end empties the unblocked list, a pre-empted thread waits for at most as many
//! quanta as there are threads before it.
//!
//! A thread that yields gives way to all others, and so goes behind the pre-empted ones: in the
//! unblocked list, many yielding threads would have a quantum each before any pre-empted thread.

use super::{Clock, Next, Scheduler};
use crate::object::thread::Thread;
use sing_arch::link::List;

/// The scheduler's lists.
pub(crate) struct MinLatency {
    unblocked: List<Thread>,
    preempted: List<Thread>,
}

impl Scheduler for MinLatency {
    const NAME: &'static str = "minimum-latency round robin";
    const QUANTUM: u64 = 5_000_000;
    const WOKEN_RUN_AT_ONCE: bool = true;
    type Data = ();
    const NEW: Self = MinLatency {
        unblocked: List::new(),
        preempted: List::new(),
    };

    #[inline(always)]
    fn unblocked(&mut self, thread: &'static Thread, _: &impl Clock) {
        self.unblocked.push(thread);
    }

    fn quantum_ended(&mut self, running: Option<&'static Thread>, _: &impl Clock) {
        self.preempted.append(&self.unblocked);
        if let Some(t) = running {
            self.preempted.push(t);
        }
    }

    fn displaced(&mut self, running: &'static Thread, _: &impl Clock) {
        self.preempted.push(running);
    }

    #[inline(always)]
    fn yielded(&mut self, running: &'static Thread, _: &impl Clock) {
        self.preempted.push(running);
    }

    #[inline(always)]
    fn next(&mut self, _: &impl Clock) -> Next {
        match self.unblocked.pop() {
            Some(t) => Next::Run(t),
            None => self.preempted.pop().map_or(Next::Nobody, Next::Run),
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::sched::tests::{Unread, next, threads};
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    #[test]
    fn unblocked_first_then_preempted() {
        let t = threads(4);
        let mut s = Box::new(MinLatency::NEW);
        s.quantum_ended(Some(t[0]), &Unread);
        s.unblocked(t[1], &Unread);
        s.unblocked(t[2], &Unread);
        assert_eq!(next(&mut *s), Some(1));
        s.unblocked(t[3], &Unread);
        // The quantum ends while 1 runs: 2 and 3 queue up behind 0, then 1.
        s.quantum_ended(Some(t[1]), &Unread);
        let order: Vec<_> = core::iter::from_fn(|| next(&mut *s)).collect();
        assert_eq!(order, [0, 2, 3, 1]);
        assert!(s.is_empty());
    }

    #[test]
    fn two_that_wake_each_other_do_not_starve_a_third() {
        let t = threads(3);
        let mut s = Box::new(MinLatency::NEW);
        s.quantum_ended(Some(t[2]), &Unread);
        s.unblocked(t[0], &Unread);
        for _ in 0..100 {
            assert_eq!(next(&mut *s), Some(0));
            s.unblocked(t[1], &Unread);
            assert_eq!(next(&mut *s), Some(1));
            s.unblocked(t[0], &Unread);
        }
        assert_eq!(next(&mut *s), Some(0));
        s.quantum_ended(Some(t[0]), &Unread);
        assert_eq!(next(&mut *s), Some(2));
    }

    #[test]
    fn one_that_yields_lets_all_others_run() {
        let t = threads(3);
        let mut s = Box::new(MinLatency::NEW);
        s.quantum_ended(Some(t[1]), &Unread);
        s.unblocked(t[2], &Unread);
        s.yielded(t[0], &Unread);
        let order: Vec<_> = core::iter::from_fn(|| next(&mut *s)).collect();
        assert_eq!(order, [2, 1, 0]);
    }

    #[test]
    fn removes_from_either_list() {
        let t = threads(3);
        let mut s = Box::new(MinLatency::NEW);
        s.unblocked(t[0], &Unread);
        s.quantum_ended(None, &Unread);
        s.unblocked(t[1], &Unread);
        s.remove(t[0]);
        s.remove(t[1]);
        s.remove(t[2]);
        assert_eq!(next(&mut *s), None);
    }
}
