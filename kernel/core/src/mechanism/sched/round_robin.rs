//! Plain round robin ([O] 3.2.3): one queue, and a whole quantum for each turn.
//!
//! No thread goes before others, whatever has woken it: a thread waits for as many quanta as there
//! are threads before it. So a message to a waiting thread takes a turn of the queue; the default
//! scheduler would run the receiver at once.

use super::{Clock, Next, Scheduler};
use crate::object::thread::Thread;
use sing_arch::link::List;

/// The scheduler's queue.
pub(crate) struct RoundRobin {
    queue: List<Thread>,
}

impl Scheduler for RoundRobin {
    const NAME: &'static str = "round robin";
    const QUANTUM: u64 = 5_000_000;
    const WOKEN_RUN_AT_ONCE: bool = false;
    type Data = ();
    const NEW: Self = RoundRobin { queue: List::new() };

    fn unblocked(&mut self, thread: &'static Thread, _: &impl Clock) {
        self.queue.push(thread);
    }

    fn quantum_ended(&mut self, running: Option<&'static Thread>, _: &impl Clock) {
        if let Some(t) = running {
            self.queue.push(t);
        }
    }

    fn displaced(&mut self, running: &'static Thread, _: &impl Clock) {
        self.queue.push(running);
    }

    fn yielded(&mut self, running: &'static Thread, _: &impl Clock) {
        self.queue.push(running);
    }

    fn next(&mut self, clock: &impl Clock) -> Next {
        match self.queue.pop() {
            Some(t) => Next::RunUntil(t, clock.now() + Self::QUANTUM),
            None => Next::Nobody,
        }
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn remove(&mut self, thread: &'static Thread) {
        self.queue.remove(thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::sched::tests::{At, next, threads};
    use alloc::boxed::Box;

    #[test]
    fn each_has_its_turn_and_a_whole_quantum() {
        let t = threads(3);
        let mut s = Box::new(RoundRobin::NEW);
        for t in &t {
            s.unblocked(t, &At(0));
        }
        for round in 0..9 {
            let now = round * 1_000;
            let Next::RunUntil(running, until) = s.next(&At(now)) else {
                panic!("somebody is runnable");
            };
            assert!(core::ptr::eq(running, t[round as usize % 3]));
            assert_eq!(until, now + RoundRobin::QUANTUM);
            s.quantum_ended(Some(running), &At(now));
        }
    }

    #[test]
    fn who_is_woken_goes_to_the_end() {
        let t = threads(3);
        let mut s = Box::new(RoundRobin::NEW);
        s.quantum_ended(Some(t[0]), &At(0));
        s.unblocked(t[1], &At(0));
        s.yielded(t[2], &At(0));
        s.remove(t[1]);
        assert_eq!(next(&mut *s), Some(0));
        assert_eq!(next(&mut *s), Some(2));
        assert_eq!(next(&mut *s), None);
        assert!(s.is_empty());
    }
}
