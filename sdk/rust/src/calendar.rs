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

/// A time in nanoseconds since 1970, UTC, to the second.
#[must_use]
pub fn show(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::show;

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
}
