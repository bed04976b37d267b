//! Converts the real-time clock's registers to a time.

/// The registers of an MC146818 clock, as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Seconds.
    pub second: u8,
    /// Minutes.
    pub minute: u8,
    /// Hours; bit 7 says afternoon in a 12-hour clock.
    pub hour: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Month, from 1.
    pub month: u8,
    /// Year of the century, from 0.
    pub year: u8,
    /// Status register B: bit 2 says binary, bit 1 says 24 hours.
    pub format: u8,
}

impl Registers {
    /// Seconds since 1970, if the clock keeps UTC and a year of this century; `None` if the values
    /// are no date (there is no clock, or its battery was empty).
    pub fn seconds(self) -> Option<u64> {
        let number = |v: u8| {
            if self.format & 4 != 0 {
                v
            } else {
                (v >> 4) * 10 + (v & 15)
            }
        };
        let mut hour = number(self.hour & 0x7f);
        if self.format & 2 == 0 {
            hour = hour % 12 + if self.hour & 0x80 != 0 { 12 } else { 0 };
        }
        let (second, minute) = (number(self.second), number(self.minute));
        let (day, month, year) = (number(self.day), number(self.month), number(self.year));
        let valid = second < 60
            && minute < 60
            && hour < 24
            && (1..=31).contains(&day)
            && (1..=12).contains(&month)
            && year < 100;
        valid.then(|| {
            let days = days(2000 + u64::from(year), u64::from(month), u64::from(day));
            days * 86400 + u64::from(hour) * 3600 + u64::from(minute) * 60 + u64::from(second)
        })
    }
}

/// Days from 1970 to a date of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> u64 {
    // Counting years from March puts the leap day at the end.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_formats() {
        let binary = Registers {
            second: 7,
            minute: 31,
            hour: 23,
            day: 29,
            month: 2,
            year: 24,
            format: 6,
        };
        assert_eq!(binary.seconds(), Some(1_709_249_467));
        let bcd = Registers {
            second: 0x07,
            minute: 0x31,
            hour: 0x91,
            day: 0x29,
            month: 0x02,
            year: 0x24,
            format: 0,
        };
        assert_eq!(bcd.seconds(), Some(1_709_249_467));
        let midnight = Registers { hour: 0x12, ..bcd };
        assert_eq!(midnight.seconds(), Some(1_709_249_467 - 23 * 3600));
    }

    #[test]
    fn counts_days() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2000, 3, 1), 11017);
        assert_eq!(days(2026, 11, 21), 20778);
        assert_eq!(days(2099, 12, 31), 47481);
    }

    #[test]
    fn refuses_what_is_no_date() {
        let none = [0xff; 7];
        for format in 0..=255 {
            let r = Registers {
                second: none[0],
                minute: none[1],
                hour: none[2],
                day: none[3],
                month: none[4],
                year: none[5],
                format,
            };
            assert_eq!(r.seconds(), None);
        }
    }
}
