//! The minimum-latency round-robin scheduler ([O] 3.2.3).
//!
//! Two lists: *unblocked* threads, which have recently become runnable and run first, in FIFO order; and
//! *pre-empted* ones. When a quantum ends, all unblocked threads move to the end of the pre-empted list,
//! followed by the thread that ran. Threads from the unblocked list inherit the quantum of the thread
//! that unblocked them, so that a message costs no reset of the timer; and as each quantum's end empties the
//! unblocked list, a pre-empted thread waits for at most as many quanta as there are threads before it.

use super::Scheduler;
use crate::thread::Thread;
use sing_arch::link::List;

/// Its lists.
pub(crate) struct MinLatency {
    unblocked: List<Thread>,
    preempted: List<Thread>,
}

impl Scheduler for MinLatency {
    const NAME: &'static str = "minimum-latency round robin";
    const QUANTUM: u64 = 5_000_000;
    const NEW: Self = MinLatency {
        unblocked: List::new(),
        preempted: List::new(),
    };

    #[inline(always)]
    fn unblocked(&mut self, thread: &'static Thread) {
        self.unblocked.push(thread);
    }

    fn quantum_ended(&mut self, running: Option<&'static Thread>) {
        self.preempted.append(&self.unblocked);
        if let Some(t) = running {
            self.preempted.push(t);
        }
    }

    fn displaced(&mut self, running: &'static Thread) {
        self.preempted.push(running);
    }

    #[inline(always)]
    fn yielded(&mut self, running: &'static Thread) {
        self.unblocked.push(running);
    }

    #[inline(always)]
    fn next(&mut self) -> Option<&'static Thread> {
        match self.unblocked.pop() {
            None => self.preempted.pop(),
            some => some,
        }
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
    use alloc::boxed::Box;
    use alloc::vec::Vec;
    use core::sync::atomic::Ordering::Relaxed;

    fn threads(n: u32) -> Vec<&'static Thread> {
        (0..n)
            .map(|i| {
                let t: &'static Thread = Box::leak(Box::default());
                t.id.store(i, Relaxed);
                t
            })
            .collect()
    }

    fn next(s: &mut MinLatency) -> Option<u32> {
        s.next().map(|t| t.id.load(Relaxed))
    }

    #[test]
    fn unblocked_first_then_preempted() {
        let t = threads(4);
        let mut s = Box::new(MinLatency::NEW);
        s.quantum_ended(Some(t[0]));
        s.unblocked(t[1]);
        s.unblocked(t[2]);
        assert_eq!(next(&mut s), Some(1));
        s.unblocked(t[3]);
        // The quantum ends while 1 runs: 2 and 3 queue up behind 0, then 1.
        s.quantum_ended(Some(t[1]));
        let order: Vec<_> = core::iter::from_fn(|| next(&mut s)).collect();
        assert_eq!(order, [0, 2, 3, 1]);
        assert!(s.is_empty());
    }

    #[test]
    fn two_that_wake_each_other_do_not_starve_a_third() {
        let t = threads(3);
        let mut s = Box::new(MinLatency::NEW);
        s.quantum_ended(Some(t[2]));
        s.unblocked(t[0]);
        for _ in 0..100 {
            assert_eq!(next(&mut s), Some(0));
            s.unblocked(t[1]);
            assert_eq!(next(&mut s), Some(1));
            s.unblocked(t[0]);
        }
        assert_eq!(next(&mut s), Some(0));
        s.quantum_ended(Some(t[0]));
        assert_eq!(next(&mut s), Some(2));
    }

    #[test]
    fn removes_from_either_list() {
        let t = threads(3);
        let mut s = Box::new(MinLatency::NEW);
        s.unblocked(t[0]);
        s.quantum_ended(None);
        s.unblocked(t[1]);
        s.remove(t[0]);
        s.remove(t[1]);
        s.remove(t[2]);
        assert!(s.next().is_none());
    }
}
