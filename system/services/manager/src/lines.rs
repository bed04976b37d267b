//! How often a service has a line in the log: one that ends again and again does not fill it.

use core::fmt;
use core::time::Duration;

/// How often a service may have a line in the log.
const LOGGED: Duration = Duration::from_secs(1);

/// The lines that a service has had in the log.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// When it had its last one, and how many it would have had since.
    last: Option<Duration>,
    unlogged: u32,
}

/// Lines that were left out before one: its `Display` is what stands behind that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before(u32);

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            more => write!(f, " (and {more} times before)"),
        }
    }
}

impl Lines {
    /// A line is to be put into the log; `None` if there was one a moment ago, so that it is left out and
    /// counted.
    pub fn next(&mut self, now: Duration) -> Option<Before> {
        let again = |last: Duration| now.saturating_sub(last) < LOGGED;
        if self.last.is_some_and(again) {
            self.unlogged = self.unlogged.saturating_add(1);
            return None;
        }
        Some(self.at_once(now))
    }

    /// A line that does not come again, as what it says needs a person: it is never left out.
    pub fn at_once(&mut self, now: Duration) -> Before {
        self.last = Some(now);
        Before(core::mem::take(&mut self.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn there_is_one_line_in_a_second_which_counts_the_others() {
        let mut lines = Lines::default();
        assert_eq!(lines.next(MS(0)), Some(Before(0)));
        for ms in [0, 10, 999] {
            assert_eq!(lines.next(MS(ms)), None, "{ms}");
        }
        assert_eq!(lines.next(MS(1000)), Some(Before(3)));
        assert_eq!(lines.next(MS(1999)), None);
        assert_eq!(lines.next(MS(9000)), Some(Before(1)));
        assert_eq!(lines.next(MS(90_000)), Some(Before(0)));
    }

    #[test]
    fn a_line_that_does_not_come_again_is_not_left_out() {
        let mut lines = Lines::default();
        assert_eq!(lines.next(MS(0)), Some(Before(0)));
        assert_eq!(lines.next(MS(1)), None);
        assert_eq!(lines.at_once(MS(2)), Before(1));
        // It is a line as any other for those that follow.
        assert_eq!(lines.next(MS(1001)), None);
        assert_eq!(lines.next(MS(1002)), Some(Before(1)));
        assert_eq!(lines.at_once(MS(1002)), Before(0));
    }

    #[test]
    fn what_was_left_out_is_said_in_words_and_does_not_wrap() {
        assert_eq!(Before(0).to_string(), "");
        assert_eq!(Before(3).to_string(), " (and 3 times before)");
        let mut lines = Lines {
            last: Some(MS(0)),
            unlogged: u32::MAX,
        };
        assert_eq!(lines.next(MS(1)), None);
        assert_eq!(lines.at_once(MS(1)), Before(u32::MAX));
    }
}
