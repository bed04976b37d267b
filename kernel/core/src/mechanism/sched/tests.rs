//! Helpers of the schedulers' tests, and a scheduler that the kernel does not offer: it shows that
//! the trait is wide enough for reservations and constraints.

use super::{Clock, Constraint, Next, Refused, Reservation, Scheduler};
use crate::object::thread::Thread;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;

/// A time.
pub(super) struct At(pub(super) u64);

impl Clock for At {
    fn now(&self) -> u64 {
        self.0
    }

    fn cycles(&self, nanoseconds: u64) -> u64 {
        nanoseconds
    }
}

/// Makes threads with ids from 0 on.
pub(super) fn threads(n: u32) -> Vec<&'static Thread> {
    (0..n)
        .map(|i| {
            let t: &'static Thread = Box::leak(Box::default());
            t.id.store(i, Relaxed);
            t
        })
        .collect()
}

/// Returns the id of the next thread.
pub(super) fn next<S: Scheduler>(s: &mut S) -> Option<u32> {
    match s.next(&At(0)) {
        Next::Run(t) | Next::RunUntil(t, _) => Some(t.id.load(Relaxed)),
        Next::Nobody | Next::NobodyBefore(_) => None,
    }
}

/// One thread with a reservation, which runs in the first `amount` of each period and at no other
/// time; the others have the rest, in turn. A constraint is met if the time reserved until its
/// deadline suffices.
struct Reserving {
    share: Option<(&'static Thread, Reservation)>,
    ready: bool,
    others: sing_arch::link::List<Thread>,
    deadline: Option<u64>,
}

impl Reserving {
    fn holds(&self, thread: &Thread) -> bool {
        self.share.is_some_and(|(t, _)| core::ptr::eq(t, thread))
    }

    fn add(&mut self, thread: &'static Thread) {
        if self.holds(thread) {
            self.ready = true;
        } else {
            self.others.push(thread);
        }
    }
}

impl Scheduler for Reserving {
    const NAME: &'static str = "reserving";
    const QUANTUM: u64 = 5;
    const WOKEN_RUN_AT_ONCE: bool = false;
    type Data = core::sync::atomic::AtomicU64;
    const NEW: Self = Reserving {
        share: None,
        ready: false,
        others: sing_arch::link::List::new(),
        deadline: None,
    };

    fn unblocked(&mut self, thread: &'static Thread, _: &impl Clock) {
        self.add(thread);
    }

    fn quantum_ended(&mut self, running: Option<&'static Thread>, _: &impl Clock) {
        if let Some(t) = running {
            self.add(t);
        }
    }

    fn displaced(&mut self, running: &'static Thread, _: &impl Clock) {
        self.add(running);
    }

    fn yielded(&mut self, running: &'static Thread, _: &impl Clock) {
        self.add(running);
    }

    fn next(&mut self, clock: &impl Clock) -> Next {
        let now = clock.now();
        let Some((holder, share)) = self.share else {
            return self.others.pop().map_or(Next::Nobody, Next::Run);
        };
        let begun = now / share.period * share.period;
        if self.ready && now < begun + share.amount {
            self.ready = false;
            return Next::RunUntil(holder, begun + share.amount);
        }
        match self.others.pop() {
            Some(t) => Next::RunUntil(t, (now + Self::QUANTUM).min(begun + share.period)),
            None if self.ready => Next::NobodyBefore(begun + share.period),
            None => Next::Nobody,
        }
    }

    fn is_empty(&self) -> bool {
        !self.ready && self.others.is_empty()
    }

    fn remove(&mut self, thread: &'static Thread) {
        if self.holds(thread) {
            self.ready = false;
        }
        self.others.remove(thread);
    }

    fn reserve(
        &mut self,
        thread: &'static Thread,
        share: Reservation,
        _: &impl Clock,
    ) -> Result<(), Refused> {
        if share.amount > share.period || self.share.is_some() && !self.holds(thread) {
            return Err(Refused::Overbooked);
        }
        self.ready |= self.others.remove(thread);
        self.share = Some((thread, share));
        Ok(())
    }

    fn release(&mut self, thread: &'static Thread) {
        if self.holds(thread) {
            self.share = None;
        }
    }

    fn begin(
        &mut self,
        running: &'static Thread,
        constraint: Constraint,
        clock: &impl Clock,
    ) -> Result<(), Refused> {
        let Some((_, share)) = self.share.filter(|_| self.holds(running)) else {
            return Err(Refused::Unknown);
        };
        let periods = constraint.deadline.saturating_sub(clock.now()) / share.period;
        if periods * share.amount < constraint.estimate {
            return Err(Refused::Overbooked);
        }
        self.deadline = Some(constraint.deadline);
        Ok(())
    }

    fn end(&mut self, _: &'static Thread, clock: &impl Clock) -> Result<bool, Refused> {
        let deadline = self.deadline.take().ok_or(Refused::Unknown)?;
        Ok(clock.now() <= deadline)
    }
}

#[test]
fn a_scheduler_with_reservations_and_constraints_fits() {
    let t = threads(3);
    let mut s = Box::new(Reserving::NEW);
    let share = Reservation {
        amount: 20,
        period: 100,
    };
    s.unblocked(t[0], &At(0));
    assert_eq!(s.reserve(t[0], share, &At(0)), Ok(()));
    assert_eq!(s.reserve(t[1], share, &At(0)), Err(Refused::Overbooked));
    let until = |next| match next {
        Next::Run(t) => (Some(t.id.load(Relaxed)), 0),
        Next::RunUntil(t, until) => (Some(t.id.load(Relaxed)), until),
        Next::Nobody => (None, 0),
        Next::NobodyBefore(at) => (None, at),
    };
    // The thread gets the first 20 of each 100, and not more, though no other thread is runnable.
    assert_eq!(until(s.next(&At(5))), (Some(0), 20));
    s.quantum_ended(Some(t[0]), &At(20));
    assert_eq!(until(s.next(&At(20))), (None, 100));
    // Another thread gets the rest.
    s.unblocked(t[1], &At(30));
    assert_eq!(until(s.next(&At(30))), (Some(1), 35));
    s.quantum_ended(Some(t[1]), &At(98));
    assert_eq!(until(s.next(&At(98))), (Some(1), 100));
    s.quantum_ended(Some(t[1]), &At(100));
    assert_eq!(until(s.next(&At(100))), (Some(0), 120));

    let work = |estimate| Constraint {
        estimate,
        deadline: 500,
    };
    assert_eq!(s.begin(t[0], work(81), &At(100)), Err(Refused::Overbooked));
    assert_eq!(s.begin(t[0], work(80), &At(100)), Ok(()));
    assert_eq!(s.end(t[0], &At(501)), Ok(false));
    assert_eq!(s.begin(t[1], work(1), &At(100)), Err(Refused::Unknown));
    s.release(t[0]);
    assert_eq!(s.reserve(t[2], share, &At(100)), Ok(()));
}

#[test]
fn who_has_no_reservations_says_so() {
    let t = threads(1);
    let mut s = Box::new(super::Current::NEW);
    let share = Reservation {
        amount: 1,
        period: 2,
    };
    let work = Constraint {
        estimate: 1,
        deadline: 2,
    };
    assert_eq!(s.reserve(t[0], share, &At(0)), Err(Refused::Unknown));
    assert_eq!(s.begin(t[0], work, &At(0)), Err(Refused::Unknown));
    assert_eq!(s.end(t[0], &At(0)), Err(Refused::Unknown));
}
