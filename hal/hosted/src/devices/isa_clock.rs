//! The real-time clock (MC146818): the host's time, in UTC, and an offset once it has been set.
//!
//! It counts in binary or decimal, in 12 or 24 hours, as the driver chooses, and has the century at
//! register 0x32, as a PC. It has no interrupt, and its registers never change while they are read,
//! so that the bit that says so is never set. What it was set to lasts as long as the process.

use super::isa::{Description, Platform};
use sing_kernel::device::{IoRange, Space};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Registers.
const SECOND: u8 = 0;
const MINUTE: u8 = 2;
const HOUR: u8 = 4;
const WEEKDAY: u8 = 6;
const DAY: u8 = 7;
const MONTH: u8 = 8;
const YEAR: u8 = 9;
const A: u8 = 10;
const B: u8 = 11;
const D: u8 = 13;
const CENTURY: u8 = 0x32;
/// Bits of B: the clock stands, to be set; binary; 24 hours.
const SET: u8 = 0x80;
const BINARY: u8 = 4;
const DAY_OF_24: u8 = 2;
/// Bits that B keeps: no interrupt is modelled.
const KEPT: u8 = SET | BINARY | DAY_OF_24 | 1;
/// The divider that counts seconds, and the usual rate.
const RUNS: u8 = 0x26;
/// The time is valid.
const VALID: u8 = 0x80;

/// How the kernel sees it.
pub(super) fn description() -> Description {
    Description {
        location: "/isa/0070",
        signature: "/pnp/PNP0B00",
        ranges: vec![IoRange {
            space: Space::Port,
            len: 2,
        }],
        interrupts: false,
    }
}

/// The date and time as the registers hold them, as plain numbers; the hour counts to 24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields {
    second: u8,
    minute: u8,
    hour: u8,
    day: u8,
    month: u8,
    year: u16,
}

impl Fields {
    /// Those of a number of seconds since 1970.
    fn of(seconds: i64) -> Fields {
        let (days, second) = (seconds.div_euclid(86400), seconds.rem_euclid(86400));
        // Days from 1 March of year 0, in eras of 400 years.
        let days = days + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        Fields {
            second: (second % 60) as u8,
            minute: (second / 60 % 60) as u8,
            hour: (second / 3600) as u8,
            day: day as u8,
            month: month as u8,
            year: (era * 400 + year + next).clamp(0, 9999) as u16,
        }
    }

    /// Seconds since 1970.
    fn seconds(self) -> i64 {
        let (month, year) = (i64::from(self.month), i64::from(self.year));
        let (y, m) = if month > 2 {
            (year, month - 3)
        } else {
            (year - 1, month + 9)
        };
        let leap = y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
        let days = 365 * y + leap + (153 * m + 2) / 5 + i64::from(self.day) - 1 - 719_468;
        let of_day = i64::from(self.hour) * 3600 + i64::from(self.minute) * 60;
        days * 86400 + of_day + i64::from(self.second)
    }
}

struct State {
    selected: u8,
    a: u8,
    b: u8,
    /// Seconds by which it is before the host's clock.
    offset: i64,
    /// The time at which it stands while it is set.
    standing: Option<Fields>,
}

/// The clock.
pub(super) struct RealTimeClock {
    state: Mutex<State>,
    now: fn() -> i64,
}

impl RealTimeClock {
    pub(super) fn new() -> RealTimeClock {
        RealTimeClock {
            state: Mutex::new(State {
                selected: 0,
                a: RUNS,
                b: DAY_OF_24,
                offset: 0,
                standing: None,
            }),
            now,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seconds since 1970, by the host's clock.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| d.as_secs() as i64)
}

impl State {
    fn fields(&self, now: i64) -> Fields {
        self.standing
            .unwrap_or_else(|| Fields::of(now.saturating_add(self.offset)))
    }

    /// A number as the registers hold it.
    fn coded(&self, number: u8) -> u8 {
        if self.b & BINARY != 0 {
            number
        } else {
            ((number / 10) << 4) | (number % 10)
        }
    }

    fn decoded(&self, value: u8) -> u8 {
        if self.b & BINARY != 0 {
            value
        } else {
            (value >> 4) * 10 + (value & 15)
        }
    }

    fn coded_hour(&self, hour: u8) -> u8 {
        if self.b & DAY_OF_24 != 0 {
            return self.coded(hour);
        }
        // A register takes any number, and that of another format.
        let afternoon = if hour % 24 >= 12 { 0x80 } else { 0 };
        self.coded((hour % 24 + 11) % 12 + 1) | afternoon
    }

    fn decoded_hour(&self, value: u8) -> u8 {
        if self.b & DAY_OF_24 != 0 {
            return self.decoded(value);
        }
        let afternoon = if value & 0x80 != 0 { 12 } else { 0 };
        self.decoded(value & 0x7f) % 12 + afternoon
    }

    fn read(&self, now: i64) -> u8 {
        let f = self.fields(now);
        match self.selected {
            SECOND => self.coded(f.second),
            MINUTE => self.coded(f.minute),
            HOUR => self.coded_hour(f.hour),
            // 1970 began with a Thursday; Sunday is 1.
            WEEKDAY => ((f.seconds().div_euclid(86400) + 4).rem_euclid(7) + 1) as u8,
            DAY => self.coded(f.day),
            MONTH => self.coded(f.month),
            YEAR => self.coded((f.year % 100) as u8),
            CENTURY => self.coded((f.year / 100) as u8),
            A => self.a,
            B => self.b,
            D => VALID,
            _ => 0,
        }
    }

    fn write(&mut self, value: u8, now: i64) {
        let mut f = self.fields(now);
        match self.selected {
            SECOND => f.second = self.decoded(value),
            MINUTE => f.minute = self.decoded(value),
            HOUR => f.hour = self.decoded_hour(value),
            DAY => f.day = self.decoded(value),
            MONTH => f.month = self.decoded(value),
            YEAR => f.year = f.year / 100 * 100 + u16::from(self.decoded(value)),
            CENTURY => f.year = f.year % 100 + u16::from(self.decoded(value)) * 100,
            A => {
                self.a = value & 0x7f;
                return;
            }
            B => {
                match (value & SET != 0, self.standing) {
                    (true, None) => self.standing = Some(f),
                    (false, Some(set)) => {
                        self.offset = set.seconds() - now;
                        self.standing = None;
                    }
                    _ => {}
                }
                self.b = value & KEPT;
                return;
            }
            _ => return,
        }
        match &mut self.standing {
            Some(standing) => *standing = f,
            None => self.offset = f.seconds() - now,
        }
    }
}

impl Platform for RealTimeClock {
    fn read(&self, _: usize, offset: u32, width: u32) -> u64 {
        if offset != 1 || width != 1 {
            return u64::MAX;
        }
        self.lock().read((self.now)()).into()
    }

    fn write(&self, _: usize, offset: u32, width: u32, value: u64) -> bool {
        if width == 1 {
            let mut state = self.lock();
            match offset {
                0 => state.selected = value as u8 & 0x7f,
                _ => state.write(value as u8, (self.now)()),
            }
        }
        false
    }

    /// The battery keeps everything.
    fn reset(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> RealTimeClock {
        RealTimeClock {
            // 2024-02-29 23:31:07.
            now: || 1_709_249_467,
            ..RealTimeClock::new()
        }
    }

    fn get(clock: &RealTimeClock, register: u8) -> u64 {
        clock.write(0, 0, 1, register.into());
        clock.read(0, 1, 1)
    }

    fn set(clock: &RealTimeClock, register: u8, value: u8) {
        clock.write(0, 0, 1, register.into());
        clock.write(0, 1, 1, value.into());
    }

    #[test]
    fn tells_the_date_in_all_formats() {
        let clock = clock();
        let all = |clock: &RealTimeClock| {
            [SECOND, MINUTE, HOUR, WEEKDAY, DAY, MONTH, YEAR, CENTURY].map(|r| get(clock, r))
        };
        assert_eq!(all(&clock), [0x07, 0x31, 0x23, 5, 0x29, 0x02, 0x24, 0x20]);
        set(&clock, B, BINARY | DAY_OF_24);
        assert_eq!(all(&clock), [7, 31, 23, 5, 29, 2, 24, 20]);
        set(&clock, B, 0);
        assert_eq!(all(&clock), [0x07, 0x31, 0x91, 5, 0x29, 0x02, 0x24, 0x20]);
    }

    #[test]
    fn is_set_and_goes_on_from_there() {
        let clock = clock();
        set(&clock, B, SET | DAY_OF_24);
        for (register, value) in [
            (SECOND, 0x59),
            (MINUTE, 0x59),
            (HOUR, 0x23),
            (DAY, 0x31),
            (MONTH, 0x12),
            (YEAR, 0x99),
            (CENTURY, 0x19),
        ] {
            set(&clock, register, value);
            assert_eq!(get(&clock, register), u64::from(value));
        }
        set(&clock, B, DAY_OF_24);
        let offset = clock.lock().offset;
        assert_eq!(1_709_249_467 + offset, 946_684_799);
        assert_eq!(get(&clock, YEAR), 0x99);
        assert_eq!(get(&clock, WEEKDAY), 6);
    }

    #[test]
    fn takes_every_value_in_every_register() {
        for format in [0, DAY_OF_24, BINARY, BINARY | DAY_OF_24] {
            for register in 0..=0x7f {
                for value in 0..=255 {
                    let clock = clock();
                    set(&clock, B, SET | format);
                    set(&clock, register, value);
                    set(&clock, B, format);
                    for register in [HOUR, WEEKDAY, YEAR, CENTURY] {
                        get(&clock, register);
                    }
                }
            }
        }
        // An access beyond the two ports, or of another width, reaches no register.
        assert_eq!(clock().read(0, 0, 2), u64::MAX);
        assert!(!clock().write(0, 0, 2, 0));
    }

    /// A number that no hour has in one format is read in another.
    #[test]
    fn takes_another_format_while_it_stands() {
        let clock = clock();
        for hour in [24, 25, 100, 245, 255] {
            set(&clock, B, SET | BINARY | DAY_OF_24);
            set(&clock, HOUR, hour);
            set(&clock, B, SET | BINARY);
            let of_day = hour % 24;
            let afternoon = if of_day >= 12 { 0x80 } else { 0 };
            let coded = ((of_day + 11) % 12 + 1) | afternoon;
            assert_eq!(get(&clock, HOUR), u64::from(coded), "{hour}");
        }
    }

    #[test]
    fn dates_are_counted_both_ways() {
        for seconds in (0..4_102_444_800).step_by(86_400 * 13 + 4321) {
            assert_eq!(Fields::of(seconds).seconds(), seconds);
        }
    }
}
