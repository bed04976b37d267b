//! Tables of processes: `ps`, and `top`, which shows one again and again.
//!
//! [`share`] is a computation alone, and is tested on the host.
#![no_std]
#![deny(unsafe_code)]

use sing_sdk::inspect::State;

/// A state's name in tables.
#[must_use]
pub fn state(state: State) -> &'static str {
    match state {
        State::Created => "created",
        State::Ready => "ready",
        State::Blocked => "blocked",
        State::Suspended => "suspended",
        State::Ended => "ended",
    }
}

/// The part of a time, in ns, that a process has used since it had used `before`, in tenths of a
/// percent. A clock that goes back makes it no less than none.
#[must_use]
pub fn share(now: u64, before: u64, time: u64) -> u64 {
    let used = u128::from(now.saturating_sub(before));
    let part = (used * 1000).checked_div(u128::from(time)).unwrap_or(0);
    u64::try_from(part).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_parts_of_the_time() {
        assert_eq!(share(300, 50, 1000), 250);
        assert_eq!(share(50, 300, 1000), 0);
        assert_eq!(share(u64::MAX, 0, 0), 0);
        assert_eq!(share(u64::MAX, 0, 1), u64::MAX);
        assert_eq!(share(u64::MAX, 0, u64::MAX), 1000);
    }
}
