//! Times as people read them.

use alloc::format;
use alloc::string::String;

/// Year, month and day of a day since 1970 (the usual conversion by eras of 400 years).
fn civil(day: u64) -> (u64, u64, u64) {
    let z = day + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

/// The days from 1970 to a day of the Gregorian calendar, 0 for earlier ones.
fn days(year: u64, month: u64, day: u64) -> u64 {
    // Counting years from March puts the leap day at the end.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year.saturating_sub(1), month + 9)
    };
    (365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day).saturating_sub(719_469)
}

/// A date and time of day, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// The year, from 1970 on.
    pub year: u64,
    /// The month, from 1.
    pub month: u64,
    /// The day of the month, from 1.
    pub day: u64,
    /// The hour, to 23.
    pub hour: u64,
    /// The minute.
    pub minute: u64,
    /// The second, to 59.
    pub second: u64,
}

impl Date {
    /// The date so many seconds after the beginning of 1970.
    #[must_use]
    pub fn of(seconds: u64) -> Date {
        let (year, month, day) = civil(seconds / 86_400);
        Date {
            year,
            month,
            day,
            hour: seconds / 3600 % 24,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        }
    }

    /// Seconds since the beginning of 1970; `None` if there is no such day or time, or it is before
    /// 1970 or after 9999.
    #[must_use]
    pub fn seconds(self) -> Option<u64> {
        let in_day = self.hour < 24 && self.minute < 60 && self.second < 60;
        let may_be = (1970..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=31).contains(&self.day);
        if !in_day || !may_be {
            return None;
        }
        let seconds = days(self.year, self.month, self.day) * 86_400
            + self.hour * 3600
            + self.minute * 60
            + self.second;
        // Days that a month does not have would be of the next one.
        (Date::of(seconds) == self).then_some(seconds)
    }

    /// Reads a date as [`show`] writes it: `2026-11-23T04:05:06Z`.
    #[must_use]
    pub fn read(text: &str) -> Option<Date> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let number = |part: &str, digits: usize| {
            let plain = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
            part.parse().ok().filter(|_| plain)
        };
        let mut date = date.split('-');
        let mut time = time.split(':');
        let read = Date {
            year: number(date.next()?, 4)?,
            month: number(date.next()?, 2)?,
            day: number(date.next()?, 2)?,
            hour: number(time.next()?, 2)?,
            minute: number(time.next()?, 2)?,
            second: number(time.next()?, 2)?,
        };
        let whole = date.next().is_none() && time.next().is_none();
        (whole && read.seconds().is_some()).then_some(read)
    }
}

/// A time in nanoseconds since 1970, UTC, to the second.
#[must_use]
pub fn show(nanoseconds: u64) -> String {
    let Date {
        year,
        month,
        day,
        hour,
        minute,
        second,
    } = Date::of(nanoseconds / 1_000_000_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::{Date, show};

    #[test]
    fn days_are_those_of_the_calendar() {
        let at = |seconds: u64| show(seconds * 1_000_000_000);
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(951_868_799), "2000-02-29T23:59:59Z");
        assert_eq!(at(951_868_800), "2000-03-01T00:00:00Z");
        // No text that a file system may send is too large.
        assert_eq!(show(u64::MAX), "2554-07-21T23:34:33Z");
    }

    #[test]
    fn dates_are_read_as_they_are_shown() {
        for seconds in (0..9_000_000_000).step_by(86_400 * 29 + 12_345) {
            let date = Date::of(seconds);
            assert_eq!(date.seconds(), Some(seconds));
            assert_eq!(Date::read(&show(seconds * 1_000_000_000)), Some(date));
        }
        for text in [
            "",
            "2026-11-23",
            "2026-11-23T04:05:06",
            "2026-11-31T04:05:06Z",
            "2025-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-11-23T24:00:00Z",
            "2026-11-23T04:60:00Z",
            "2026-11-23T04:05:60Z",
            "2026-11-23T04:05:06:07Z",
            "2026-11-23-01T04:05:06Z",
            "+026-11-23T04:05:06Z",
            "2026-1-023T04:05:06Z",
        ] {
            assert_eq!(Date::read(text), None, "{text}");
        }
    }
}
