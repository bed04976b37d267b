//! Schedulers: which runnable thread runs next ([O] 3.2.3).
//!
//! A scheduler is chosen when the kernel is compiled, by a feature of this crate: [`Current`] names
//! it. Its operations are inlined into the kernel's, so that an operation that a scheduler does not
//! use costs nothing. There are:
//! - `min_latency` (no feature): minimum-latency round robin, the default.
//! - `round_robin` (feature `round-robin`): one queue, a whole quantum for each turn.
//!
//! The kernel tells a scheduler of events, in the words of the paper: a thread has become
//! *unblocked*, the running one was *pre-empted*, or it *yielded*; and asks for the next one. Each
//! event comes with a [`Clock`], which only a scheduler that needs the time reads. A scheduler
//! keeps its data for each thread in [`Scheduler::Data`].
#![cfg_attr(
    not(test),
    allow(dead_code, reason = "each scheduler uses its part of the interface")
)]

#[cfg(not(feature = "round-robin"))]
mod min_latency;
#[cfg(any(test, feature = "round-robin"))]
mod round_robin;
#[cfg(test)]
mod tests;

use crate::object::thread::Thread;

/// The scheduler that this kernel uses.
#[cfg(not(feature = "round-robin"))]
pub(crate) type Current = min_latency::MinLatency;
/// The scheduler that this kernel uses.
#[cfg(feature = "round-robin")]
pub(crate) type Current = round_robin::RoundRobin;

/// The time, read on demand. Reading is expensive (a system call, a device access).
pub(crate) trait Clock {
    /// Returns nanoseconds since the start.
    fn now(&self) -> u64;

    /// As many of the cycles in which threads' time is counted as there are in so many nanoseconds.
    fn cycles(&self, nanoseconds: u64) -> u64;
}

/// The machine's clock.
pub(crate) struct Machine;

impl Clock for Machine {
    fn now(&self) -> u64 {
        crate::ground::machine::hal().now()
    }

    fn cycles(&self, nanoseconds: u64) -> u64 {
        let rate = crate::ground::machine::hal().cycles_per_second();
        (u128::from(nanoseconds) * u128::from(rate) / 1_000_000_000) as u64
    }
}

/// The scheduler's decision.
pub(crate) enum Next {
    /// Run this thread, for the rest of the quantum.
    Run(&'static Thread),
    /// Run this thread, until this time at the latest: then the quantum has ended.
    RunUntil(&'static Thread, u64),
    /// No thread is runnable.
    Nobody,
    /// No thread may run before this time, though some are runnable; the kernel asks again then, or
    /// when another thread is unblocked.
    NobodyBefore(u64),
}

/// A share of the processor: `amount` nanoseconds in each `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) amount: u64,
    pub(crate) period: u64,
}

/// Work with a deadline: it takes `estimate` nanoseconds of the processor, and must be done at
/// `deadline`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Constraint {
    pub(crate) estimate: u64,
    pub(crate) deadline: u64,
}

/// The reason for which a reservation or a constraint is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// This scheduler has no reservations or constraints.
    Unknown,
    /// The reservations of other threads leave too little.
    Overbooked,
}

/// A scheduler: decides which runnable thread runs next.
///
/// Obligations of a scheduler:
/// - It returns each thread that it was told of once: after [`Scheduler::next`] returned it or
///   [`Scheduler::remove`] removed it, not again until another event names it.
/// - It allocates nothing and does not fail: threads are in intrusive lists, through their own
///   nodes.
/// - Each operation takes a bounded time, except `quantum_ended`, which may take time in proportion
///   to the threads that became runnable since the last one.
/// - A runnable thread without a reservation or constraint gets some time, whatever others do.
///
/// Obligations of the kernel:
/// - It names no thread as unblocked that is runnable already, and none as running that does not
///   run.
/// - It carries out the answer to `next`: the thread runs, and at the time given the quantum ends.
///   Before a thread's record is reused for another thread, `remove` has been called for it, and
///   its `Data` is reset.
pub(crate) trait Scheduler {
    /// The scheduler's name.
    const NAME: &'static str;
    /// How long a thread may run while others wait, in nanoseconds.
    const QUANTUM: u64;
    /// Whether a thread that a device has woken takes the place of the running one at once.
    const WOKEN_RUN_AT_ONCE: bool;
    /// A scheduler without threads.
    const NEW: Self;
    /// Data of the scheduler for each thread.
    type Data: Default + Send + Sync;

    /// A thread that was blocked, or is new, has become runnable.
    fn unblocked(&mut self, thread: &'static Thread, clock: &impl Clock);
    /// The time has come that a blocked thread waited for, which is runnable now. Returns whether
    /// it takes the place of the running one at once.
    fn timed_out(&mut self, thread: &'static Thread, clock: &impl Clock) -> bool {
        self.unblocked(thread, clock);
        Self::WOKEN_RUN_AT_ONCE
    }
    /// The quantum has ended while `running` ran.
    fn quantum_ended(&mut self, running: Option<&'static Thread>, clock: &impl Clock);
    /// `running` was interrupted for a thread that a device or the time has woken.
    fn displaced(&mut self, running: &'static Thread, clock: &impl Clock);
    /// `running` lets others go first.
    fn yielded(&mut self, running: &'static Thread, clock: &impl Clock);
    /// Removes and returns the thread that runs next. If none of these events named the previous
    /// thread, it waits or has ended.
    fn next(&mut self, clock: &impl Clock) -> Next;
    /// Whether a thread that became unblocked now would be the next one, for the rest of the
    /// quantum. If so, a running thread that is about to wait can be left for it at once, without
    /// telling the scheduler.
    #[inline(always)]
    fn hands_over(&self) -> bool {
        false
    }
    /// Whether no thread is runnable.
    fn is_empty(&self) -> bool;
    /// Removes a thread that must not run any more. Does nothing if it is not runnable.
    fn remove(&mut self, thread: &'static Thread);

    /// Gives a thread a share of the processor, replacing its present one.
    ///
    /// # Errors
    /// If the scheduler has no shares, or too little is left; the thread then keeps its present
    /// share.
    fn reserve(
        &mut self,
        _thread: &'static Thread,
        _share: Reservation,
        _clock: &impl Clock,
    ) -> Result<(), Refused> {
        Err(Refused::Unknown)
    }

    /// Takes a thread's share back.
    fn release(&mut self, _thread: &'static Thread) {}

    /// `running` begins work with a deadline.
    ///
    /// # Errors
    /// If the scheduler has no constraints, or cannot meet this one.
    fn begin(
        &mut self,
        _running: &'static Thread,
        _constraint: Constraint,
        _clock: &impl Clock,
    ) -> Result<(), Refused> {
        Err(Refused::Unknown)
    }

    /// `running` has done the work; returns whether in time.
    fn end(&mut self, _running: &'static Thread, _clock: &impl Clock) -> Result<bool, Refused> {
        Err(Refused::Unknown)
    }
}
