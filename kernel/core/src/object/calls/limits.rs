//! What a call may use: when it is to be over, and how much of the processor. There is one look for
//! both: the processor's time passes no faster than time, so that a call is looked at when it could
//! have used all of its own.

use crate::ground::machine::hal;
use crate::mechanism::timer;
use crate::object::sip::Sip;
use sing_calls::{Limits, Outcome};

/// The least time between two looks at one call, in nanoseconds: it uses up to so much more than it
/// was given.
const BETWEEN: u64 = 1_000_000;
const SECOND: u128 = 1_000_000_000;

/// The limits of a call that is under way.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    /// When it is to be over.
    deadline: u64,
    /// The cycles that its process has used by then, at the most.
    cycles: u64,
    /// When to look at it.
    look: u64,
}

/// The cycles in so many nanoseconds.
fn cycles_of(nanoseconds: u64) -> u64 {
    let cycles = u128::from(nanoseconds) * u128::from(hal().cycles_per_second()) / SECOND;
    u64::try_from(cycles).unwrap_or(u64::MAX)
}

/// The nanoseconds of so many cycles.
fn nanoseconds_of(cycles: u64) -> u64 {
    let nanoseconds = u128::from(cycles) * SECOND / u128::from(hal().cycles_per_second().max(1));
    u64::try_from(nanoseconds).unwrap_or(u64::MAX)
}

impl Budget {
    /// No limits.
    pub(super) const NONE: Budget = Budget {
        deadline: u64::MAX,
        cycles: u64::MAX,
        look: u64::MAX,
    };

    /// Those of a call that begins.
    pub(super) fn begin(limits: &Limits, sip: &'static Sip) -> Budget {
        Budget::since(limits, sip.totals().cycles, sip)
    }

    /// Those of one whose process had used so many cycles when its time began.
    pub(super) fn since(limits: &Limits, used: u64, sip: &'static Sip) -> Budget {
        let mut budget = Budget::NONE;
        if limits.deadline == u64::MAX && limits.time == u64::MAX {
            return budget;
        }
        let now = hal().now();
        budget.deadline = now.saturating_add(limits.deadline);
        let mut left = limits.time;
        if left != u64::MAX {
            budget.cycles = used.saturating_add(cycles_of(left));
            let gone = sip.totals().cycles.saturating_sub(used);
            left = left.saturating_sub(nanoseconds_of(gone));
        }
        budget.look = budget.deadline.min(now.saturating_add(left));
        timer::look_at_calls(budget.look);
        budget
    }

    /// When to look at it.
    pub(super) fn look(&self) -> u64 {
        self.look
    }

    /// Looks at it, if it is time: which limit its process has reached, if it has.
    pub(super) fn is_over(&mut self, now: u64, sip: &'static Sip) -> Option<Outcome> {
        if now < self.look {
            return None;
        }
        if now >= self.deadline {
            return Some(Outcome::TimedOut);
        }
        let left = self.cycles.saturating_sub(sip.totals().cycles);
        if left == 0 {
            return Some(Outcome::OutOfTime);
        }
        let next = now.saturating_add(nanoseconds_of(left).max(BETWEEN));
        self.look = self.deadline.min(next);
        None
    }
}
