//! The time after a restart in which names are missing that are about to be registered again.
//!
//! Who asks for one is told to ask again, and only the system's own programs register at first, so that
//! nobody else takes the name of a service. The service manager has most names: the time begins anew
//! with each that it registers, and it is waited for if it has not begun yet. Its services wait for it for a
//! moment only: their clients wait for them.

use core::time::Duration;

/// For how long names may still be missing after the service manager has registered one.
const GRACE: Duration = Duration::from_millis(500);
/// For how long only the system's own programs register after that, and its services from the start on.
const HOLD_BACK: Duration = Duration::from_millis(100);
/// How long all of it takes at most. A manager that is busy starting a service comes within that.
const MOST: Duration = Duration::from_secs(5);

/// The time after a restart.
#[derive(Debug)]
pub struct Grace {
    began: Duration,
    until: Duration,
    most: Duration,
}

impl Grace {
    /// It begins now, in a name server whose predecessor had a service manager for a client or not.
    #[must_use]
    pub fn new(now: Duration, has_manager: bool) -> Grace {
        let most = now + MOST;
        let until = if has_manager { most } else { now + GRACE };
        Grace {
            began: now,
            until,
            most,
        }
    }

    /// The service manager has registered a name, or made a link.
    pub fn registered(&mut self, now: Duration) {
        self.until = (now + GRACE).min(self.most);
    }

    /// Whether no more names are expected.
    #[must_use]
    pub fn is_over(&self, now: Duration) -> bool {
        now >= self.until
    }

    /// Whether a program that is not the system's own is to wait with registering: a service of the manager's,
    /// or another one.
    #[must_use]
    pub fn holds_back(&self, now: Duration, is_service: bool) -> bool {
        match is_service {
            true => now < self.began + HOLD_BACK,
            false => now + GRACE < self.until + HOLD_BACK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn without_a_manager_it_is_short() {
        let grace = Grace::new(MS(1000), false);
        for is_service in [false, true] {
            let holds_back = |at| grace.holds_back(MS(at), is_service);
            assert!(holds_back(1099) && !holds_back(1100));
        }
        assert!(!grace.is_over(MS(1499)) && grace.is_over(MS(1500)));
    }

    #[test]
    fn a_manager_that_comes_late_is_waited_for() {
        let mut grace = Grace::new(MS(1000), true);
        assert!(grace.holds_back(MS(3000), false) && !grace.is_over(MS(3000)));
        grace.registered(MS(3000));
        grace.registered(MS(3100));
        assert!(grace.holds_back(MS(3199), false) && !grace.holds_back(MS(3200), false));
        assert!(!grace.is_over(MS(3599)) && grace.is_over(MS(3600)));
    }

    #[test]
    fn services_do_not_wait_for_a_manager_that_comes_late() {
        let grace = Grace::new(MS(1000), true);
        assert!(grace.holds_back(MS(1099), true) && !grace.holds_back(MS(1100), true));
    }

    #[test]
    fn nobody_prolongs_it_for_ever() {
        let mut grace = Grace::new(MS(0), true);
        for at in 0..100 {
            grace.registered(MS(at * 100));
        }
        assert!(!grace.holds_back(MS(5000), false) && grace.is_over(MS(5000)));
        assert!(Grace::new(MS(0), true).is_over(MS(5000)));
    }
}
