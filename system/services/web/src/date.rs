//! Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT`.

use alloc::format;
use alloc::string::String;
use sing_sdk::calendar::Date;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Seconds since 1970 as a date.
#[must_use]
pub fn show(seconds: u64) -> String {
    let Date {
        year,
        month,
        day,
        hour,
        minute,
        second,
    } = Date::of(seconds);
    // 1970 began on a Thursday.
    let name = DAYS[(seconds / 86_400 % 7) as usize];
    let month = MONTHS.get(month as usize - 1).unwrap_or(&"Jan");
    format!("{name}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Seconds since 1970 of a date in the form that is sent today; `None` also for the two older forms.
#[must_use]
pub fn read(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(", ")?;
    let mut words = rest.split(' ');
    let number = |text: &str, digits: usize| {
        let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| plain)
    };
    let day = number(words.next()?, 2)?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|m| *m == month)? as u64 + 1;
    let year = number(words.next()?, 4)?;
    let mut time = words.next()?.split(':').map(|part| number(part, 2));
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let over = words.next() == Some("GMT") && words.next().is_none() && time.next().is_none();
    let date = Date {
        year,
        month,
        day,
        hour,
        minute,
        second,
    };
    date.seconds().filter(|_| over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_they_are_shown() {
        assert_eq!(show(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(show(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        for seconds in (0..9_000_000_000).step_by(86_400 * 29 + 12_345) {
            assert_eq!(read(&show(seconds)), Some(seconds));
        }
        for text in [
            "",
            "now",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT x",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
