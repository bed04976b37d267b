//! The service manager's decisions without its channels: whether and when a service starts again.
//! Tested on the host.
//!
//! Invariant: what is kept of a service is bounded by its policy, however often it ends.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod hardware;
pub mod lines;
pub mod supervised;

use alloc::collections::VecDeque;
use core::time::Duration;
use sing_sdk::plan::{Restart, Service};

/// How a service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By itself, with exit code 0.
    Clean,
    /// In any other way.
    Failed,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It starts again after this wait.
    Again(Duration),
    /// It stays ended.
    Rest,
    /// It has been restarted as often as it may be, and stays ended.
    GiveUp,
}

/// What is remembered of a service's restarts.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// All restarts.
    restarts: u32,
    /// Those since it was last up for long enough.
    row: u32,
    /// When it was restarted, as far as the limit looks back.
    times: VecDeque<Duration>,
}

impl History {
    /// How often it has been restarted.
    #[must_use]
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Begins anew, because somebody has started or restarted it.
    pub fn forget(&mut self) {
        self.row = 0;
        self.times.clear();
    }

    /// Counts a restart that somebody asked for.
    pub fn count(&mut self) {
        self.restarts = self.restarts.saturating_add(1);
    }

    /// Decides what follows the end of a service that was up for so long.
    pub fn ended(&mut self, policy: &Service, how: How, up: Duration, now: Duration) -> Next {
        match (policy.restart, how) {
            (Restart::Never, _) | (Restart::OnFailure, How::Clean) => return Next::Rest,
            (Restart::OnFailure, How::Failed) | (Restart::Always, _) => {}
        }
        let calm = Duration::from_millis(policy.backoff.most_ms.into()).max(Duration::from_secs(1));
        if up >= calm {
            self.row = 0;
        }
        if policy.limit.restarts > 0 {
            let within = Duration::from_millis(policy.limit.within_ms.into());
            while let Some(&first) = self.times.front()
                && now.saturating_sub(first) > within
            {
                self.times.pop_front();
            }
            if self.times.len() >= policy.limit.restarts as usize {
                return Next::GiveUp;
            }
            self.times.push_back(now);
        }
        let wait = policy.backoff.wait_ms(self.row);
        self.row = self.row.saturating_add(1);
        self.count();
        Next::Again(Duration::from_millis(wait.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use sing_sdk::plan::{Backoff, Limit};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn policy(restart: Restart, restarts: u32) -> Service {
        Service {
            restart,
            backoff: Backoff {
                first_ms: 10,
                factor: 3,
                most_ms: 2000,
            },
            limit: Limit {
                restarts,
                within_ms: 10_000,
            },
            ..Service::named("s")
        }
    }

    #[test]
    fn the_policy_says_which_ends_are_followed_by_a_start() {
        for (restart, clean, failed) in [
            (Restart::Always, true, true),
            (Restart::OnFailure, false, true),
            (Restart::Never, false, false),
        ] {
            for (how, again) in [(How::Clean, clean), (How::Failed, failed)] {
                let mut history = History::default();
                let next = history.ended(&policy(restart, 5), how, MS(0), MS(0));
                assert_eq!(next != Next::Rest, again, "{restart:?} {how:?}");
                assert_eq!(history.restarts(), u32::from(again));
            }
        }
    }

    #[test]
    fn waits_grow_until_it_was_up_for_long() {
        let policy = policy(Restart::Always, 0);
        let mut history = History::default();
        let mut waits = |up: u64| match history.ended(&policy, How::Failed, MS(up), MS(0)) {
            Next::Again(wait) => wait.as_millis(),
            other => panic!("{other:?}"),
        };
        let all: Vec<u128> = (0..7).map(|_| waits(0)).collect();
        assert_eq!(all, [10, 30, 90, 270, 810, 2000, 2000]);
        assert_eq!((waits(1999), waits(2000), waits(0)), (2000, 10, 30));
    }

    #[test]
    fn it_is_given_up_at_the_limit_and_not_before() {
        let policy = policy(Restart::Always, 3);
        let mut history = History::default();
        let mut at = |now: u64| history.ended(&policy, How::Failed, MS(0), MS(now));
        assert!([0, 1, 2].map(&mut at).iter().all(|n| *n != Next::GiveUp));
        assert_eq!([3, 10_000].map(&mut at), [Next::GiveUp; 2]);
        // The first three are long ago.
        assert!(matches!(at(10_003), Next::Again(_)));
        history.forget();
        let next = history.ended(&policy, How::Failed, MS(0), MS(10_004));
        assert_eq!(next, Next::Again(MS(10)));
    }

    #[test]
    fn what_is_remembered_does_not_grow() {
        for limit in [0, 5] {
            let policy = policy(Restart::Always, limit);
            let mut history = History::default();
            for now in 0..10_000 {
                history.ended(&policy, How::Failed, MS(0), MS(now * 10_000));
                assert!(history.times.len() <= 5);
            }
        }
    }
}
