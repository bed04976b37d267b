//! Schedulers: which runnable thread runs next ([O] 3.2.3).
//!
//! A scheduler is chosen at compile time: [`Current`] names it. It is told of three events, in the words of
//! the paper: a thread has become *unblocked*, the running one was *pre-empted* when its quantum ended, or
//! it *yielded*; and is asked for the next one. It keeps threads in intrusive lists through their own nodes, so
//! none of its operations allocates or fails.

mod min_latency;

use crate::thread::Thread;

/// The scheduler that this kernel uses.
pub(crate) type Current = min_latency::MinLatency;

/// What a scheduler does.
pub(crate) trait Scheduler {
    /// Its name.
    const NAME: &'static str;
    /// How long a thread may run while others wait, in nanoseconds.
    const QUANTUM: u64;
    /// One without threads.
    const NEW: Self;

    /// A thread that was blocked, or is new, has become runnable.
    fn unblocked(&mut self, thread: &'static Thread);
    /// The quantum has ended while `running` ran.
    fn quantum_ended(&mut self, running: Option<&'static Thread>);
    /// `running` was interrupted for a thread that a device has woken.
    fn displaced(&mut self, running: &'static Thread);
    /// `running` lets others go first.
    fn yielded(&mut self, running: &'static Thread);
    /// Takes the thread that runs next.
    fn next(&mut self) -> Option<&'static Thread>;
    /// Whether a thread waits to run.
    fn is_empty(&self) -> bool;
    /// Takes a thread out that must not run any more. Nothing happens where it is not in.
    fn remove(&mut self, thread: &'static Thread);
}
