//! Time: clocks, sleeping, time-outs.

use crate::{Error, error, sys};
use core::time::Duration;
use sing_abi::status;

/// Time since the system started; never goes back.
#[must_use]
pub fn uptime() -> Duration {
    Duration::from_nanos(sys::uptime().cast_unsigned())
}

/// Time since 1970, UTC.
#[must_use]
pub fn utc() -> Duration {
    Duration::from_nanos(sys::utc().cast_unsigned())
}

/// The processor's cycle counter.
#[must_use]
#[inline]
pub fn cycle_count() -> u64 {
    sys::cycle_count().cast_unsigned()
}

/// Ticks a second of the cycle counter, asked of the kernel: the cheapest call there is.
#[must_use]
#[inline]
pub fn cycles_per_second() -> u64 {
    sys::cycles_per_second().cast_unsigned()
}

/// The same, which the compiler expands in place: no call happens.
#[must_use]
#[inline]
pub fn cycles_per_second_inline() -> u64 {
    sys::cycles_per_second_inline().cast_unsigned()
}

/// Sleeps.
pub fn sleep(duration: Duration) {
    sys::sleep(Timeout::from(duration).nanos());
}

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout(i64);

impl Timeout {
    /// Without end.
    pub const FOREVER: Timeout = Timeout(status::FOREVER);
    /// Not at all.
    pub const NONE: Timeout = Timeout(0);

    /// The time until a moment of [`uptime`]; `None` if that has come, as a wait without time still
    /// succeeds when something is ready.
    #[must_use]
    pub fn until(end: Duration) -> Option<Timeout> {
        Timeout::between(uptime(), end)
    }

    /// The same for who knows what time it is.
    #[must_use]
    pub fn between(now: Duration, end: Duration) -> Option<Timeout> {
        (now < end).then(|| end.saturating_sub(now).into())
    }

    pub(crate) fn nanos(self) -> i64 {
        self.0
    }

    /// The same as a duration; the longest there is for a wait without end.
    pub(crate) fn duration(self) -> Duration {
        u64::try_from(self.0).map_or(Duration::MAX, Duration::from_nanos)
    }
}

impl From<Duration> for Timeout {
    /// A duration too long for the kernel (292 years) becomes the longest one that is not.
    fn from(duration: Duration) -> Timeout {
        Timeout(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// Turns the result of a wait into an answer: `Ok(false)` if the time-out passed.
pub(crate) fn waited(code: i32) -> Result<bool, Error> {
    match error::check(code) {
        Ok(_) => Ok(true),
        Err(Error::Timeout) => Ok(false),
        Err(e) => Err(e),
    }
}
