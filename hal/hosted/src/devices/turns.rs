//! A lock that the kernel's threads and a model's own take by turns.
//!
//! The locks of the host are not fair: a thread that gives one back and takes it again at once mostly
//! gets it, before those who have waited. A model's thread that serves a long queue does just that,
//! and the kernel, with all that runs on it, would wait for the end of the queue.
//!
//! Invariants:
//! - Whoever holds the lock and takes it again comes behind those of the kernel who have waited
//!   meanwhile: the kernel waits for one step of the model's at most, beside its own threads.
//! - A model's thread asks between the parts of a step whether somebody waits
//!   ([`Turns::is_wanted`]), and ends the step early then, but not before its first part: so it goes
//!   on, however often the kernel comes.
//! - It takes no such lock that comes before one that it has: a device's state, then its window.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Data with such a lock.
#[derive(Default)]
pub(super) struct Turns<T> {
    /// Held by who is the next to get the data. A model's thread that has just given the data back
    /// waits here, if a thread of the kernel has come before it.
    next: Mutex<()>,
    /// Threads of the kernel that wait.
    wanted: AtomicU32,
    data: Mutex<T>,
}

impl<T> Turns<T> {
    pub(super) fn new(data: T) -> Turns<T> {
        Turns {
            next: Mutex::new(()),
            wanted: AtomicU32::new(0),
            data: Mutex::new(data),
        }
    }

    /// Takes it for the kernel.
    pub(super) fn kernel(&self) -> MutexGuard<'_, T> {
        match self.data.try_lock() {
            Ok(data) => return data,
            Err(TryLockError::Poisoned(data)) => return data.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        self.wanted.fetch_add(1, Relaxed);
        let data = self.step();
        self.wanted.fetch_sub(1, Relaxed);
        data
    }

    /// Takes it for a step of the model's.
    pub(super) fn step(&self) -> MutexGuard<'_, T> {
        let _next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a thread of the kernel waits.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
    use std::thread;
    use std::time::Duration;

    const STEP: Duration = Duration::from_millis(4);
    const TIMES: u32 = 40;

    /// A model whose thread never rests, and whose steps are long.
    #[test]
    fn the_kernel_waits_for_one_step_at_most() {
        let turns = Arc::new(Turns::new(()));
        let (steps, ended) = (
            Arc::new(AtomicU32::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let model = {
            let (turns, steps, ended) = (turns.clone(), steps.clone(), ended.clone());
            thread::spawn(move || {
                while !ended.load(SeqCst) {
                    let _data = turns.step();
                    steps.fetch_add(1, SeqCst);
                    thread::sleep(STEP);
                }
            })
        };
        let mut waited = Vec::new();
        for _ in 0..TIMES {
            // Within a step.
            let now = steps.load(SeqCst);
            while steps.load(SeqCst) == now {
                thread::yield_now();
            }
            let before = steps.load(SeqCst);
            drop(turns.kernel());
            waited.push(steps.load(SeqCst) - before);
        }
        ended.store(true, SeqCst);
        model.join().unwrap();
        // The host may take the processor away before the kernel's thread has begun to wait, or behind
        // that: then there is a step more, not often.
        let more = waited.iter().filter(|steps| **steps > 1).count();
        assert!(more <= TIMES as usize / 4, "steps: {waited:?}");
    }

    #[test]
    fn a_model_learns_that_it_is_waited_for() {
        let turns = Arc::new(Turns::new(0));
        let mut data = turns.step();
        assert!(!turns.is_wanted());
        let kernel = {
            let turns = turns.clone();
            thread::spawn(move || *turns.kernel())
        };
        while !turns.is_wanted() {
            thread::yield_now();
        }
        *data = 7;
        drop(data);
        assert_eq!(kernel.join().unwrap(), 7);
        assert!(!turns.is_wanted());
    }
}
