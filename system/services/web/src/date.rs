//! Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT`.

use alloc::string::String;
use sing_sdk::calendar::Date;

/// Bytes of a date, but of one after the year 9999.
const LENGTH: usize = 29;
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
    // Each answer has two of them, and a format of so many parts takes as long as reading the request.
    let mut text = String::with_capacity(LENGTH);
    text.push_str(name);
    text.push_str(", ");
    two(&mut text, day);
    text.push(' ');
    text.push_str(month);
    text.push(' ');
    two(&mut text, year / 100);
    two(&mut text, year % 100);
    for (before, number) in [(' ', hour), (':', minute), (':', second)] {
        text.push(before);
        two(&mut text, number);
    }
    text.push_str(" GMT");
    text
}

/// Writes a number with at least two digits.
fn two(text: &mut String, number: u64) {
    if number >= 100 {
        two(text, number / 10);
    } else {
        text.push(digit(number / 10));
    }
    text.push(digit(number));
}

fn digit(number: u64) -> char {
    char::from(b'0' + (number % 10) as u8)
}

/// Seconds since 1970 of a date, in the form that is sent today or in one of the two older ones, which
/// a server has to read, too (RFC 9110, 5.6.7). `now`, in seconds since 1970, gives a year of two digits
/// its century: the latest one that is not more than 50 years ahead.
#[must_use]
pub fn read(text: &str, now: u64) -> Option<u64> {
    let number = |text: &str, digits: usize| {
        let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| plain)
    };
    let (day, month, year, time) = if let Some((_, rest)) = text.split_once(", ") {
        let rest = rest.strip_suffix(" GMT")?;
        let (date, time) = rest.rsplit_once(' ')?;
        let older = date.contains('-');
        let mut parts = date.split(if older { '-' } else { ' ' });
        let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let year = match older {
            true => century(number(year, 2)?, now),
            false => number(year, 4)?,
        };
        (number(day, 2)?, month, year, time)
    } else {
        // As C writes it: `Sun Nov  6 08:49:37 1994`.
        let mut parts = text.split(' ').skip(1);
        let month = parts.next()?;
        let day = match parts.next()? {
            "" => number(parts.next()?, 1)?,
            day => number(day, 2)?,
        };
        let (time, year) = (parts.next()?, number(parts.next()?, 4)?);
        if parts.next().is_some() {
            return None;
        }
        (day, month, year, time)
    };
    let month = MONTHS.iter().position(|m| *m == month)? as u64 + 1;
    let mut time = time.split(':').map(|part| number(part, 2));
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let date = Date {
        year,
        month,
        day,
        hour,
        minute,
        second,
    };
    date.seconds().filter(|_| time.next().is_none())
}

/// The year that two digits stand for.
fn century(digits: u64, now: u64) -> u64 {
    let last = Date::of(now).year + 50;
    last - (last % 100 + 100 - digits) % 100
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In November 2022.
    const NOW: u64 = 1_669_248_000;

    #[test]
    fn dates_are_read_as_they_are_shown() {
        assert_eq!(show(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(show(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(show(253_402_300_800), "Sat, 01 Jan 10000 00:00:00 GMT");
        for seconds in (0..9_000_000_000).step_by(86_400 * 29 + 12_345) {
            assert_eq!(read(&show(seconds), NOW), Some(seconds));
        }
        for text in [
            "",
            "now",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sunday, 06-Nov-94 08:49:37",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sunday, 06-Nov-94-1 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994",
            "Sun Nov  6 08:49:37 1994 GMT",
            "Sun Nov  6 08:49:37 94",
            "Sun Nov  6",
            ", ",
            " ",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT x",
        ] {
            assert_eq!(read(text, NOW), None, "{text}");
        }
    }

    /// The three forms of RFC 9110, 5.6.7.
    #[test]
    fn older_forms_are_read_too() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(read(text, NOW), Some(784_111_777), "{text}");
        }
        let thursday = read("Thu Nov 24 00:00:00 2022", NOW);
        assert_eq!(thursday, Some(1_669_248_000));
        // In 2022, a year of two digits is one from 1973 to 2072.
        for (digits, year) in [(22, 2022), (72, 2072), (73, 1973), (99, 1999), (0, 2000)] {
            assert_eq!(century(digits, NOW), year, "{digits}");
        }
    }
}
