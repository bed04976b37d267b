//! The clock's registers.

use core::time::Duration;
use sing_sdk::calendar::Date;
use sing_sdk::device::Registers;
use sing_sdk::time;

/// Ports: the number of a register, and its value.
const NUMBER: u32 = 0;
const VALUE: u32 = 1;
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
/// Where PCs have the century. What is there counts only if it may be one.
const CENTURY: u8 = 0x32;
/// Bit of A: the clock is about to change its registers, or does.
const CHANGES: u8 = 0x80;
/// Bits of B: the clock stands, to be set; which interrupts it raises; it counts in binary; to 24
/// hours.
const SET: u8 = 0x80;
const INTERRUPTS: u8 = 0x70;
const BINARY: u8 = 4;
const HOURS_24: u8 = 2;
/// Bit of an hour to 12: afternoon.
const AFTERNOON: u8 = 0x80;

/// A change takes 2 ms at most; how often it is looked at, a millisecond apart.
const LOOKS: u32 = 10;
/// How many readings there are until two agree.
const READINGS: u32 = 10;
/// The years that it keeps, as seconds since 1970: up to the end of 2099.
const LATEST: u64 = 4_102_444_799;

/// The clock.
pub struct Clock(Registers);

impl Clock {
    /// The clock of these registers, which raises no interrupts from now on.
    pub fn new(registers: Registers) -> Clock {
        let clock = Clock(registers);
        clock.write(B, clock.read(B) & !(INTERRUPTS | SET));
        clock
    }

    fn read(&self, register: u8) -> u8 {
        self.0.write_u8(NUMBER, register);
        self.0.read_u8(VALUE)
    }

    fn write(&self, register: u8, value: u8) {
        self.0.write_u8(NUMBER, register);
        self.0.write_u8(VALUE, value);
    }

    /// Seconds since 1970; `None` if it has no date.
    pub fn time(&self) -> Option<u64> {
        let mut before = self.reading()?;
        for _ in 0..READINGS {
            let after = self.reading()?;
            if after == before {
                return decoded(after, self.read(B)).and_then(Date::seconds);
            }
            before = after;
        }
        None
    }

    /// Its registers, when it does not change them: seconds to years, and the century.
    fn reading(&self) -> Option<[u8; 7]> {
        for _ in 0..LOOKS {
            if self.read(A) & CHANGES == 0 {
                return Some(REGISTERS.map(|register| self.read(register)));
            }
            time::sleep(Duration::from_millis(1));
        }
        None
    }

    /// Sets it. False if it does not keep such times, or has another one afterwards.
    pub fn set(&self, seconds: u64) -> bool {
        if seconds > LATEST {
            return false;
        }
        let format = self.read(B) & !INTERRUPTS;
        let date = Date::of(seconds);
        let values = coded(date, format);
        self.write(B, format | SET);
        for (register, value) in REGISTERS.into_iter().zip(values) {
            self.write(register, value);
        }
        // 1970 began with a Thursday; Sunday is 1.
        self.write(WEEKDAY, ((seconds / 86_400 + 4) % 7 + 1) as u8);
        self.write(B, format & !SET);
        // It has gone on by a second or two, if it was set at all.
        let now = self.time();
        now.is_some_and(|now| (seconds..seconds + 3).contains(&now))
    }
}

/// The registers of a date, in the order of a reading.
const REGISTERS: [u8; 7] = [SECOND, MINUTE, HOUR, DAY, MONTH, YEAR, CENTURY];

/// A reading as a date, which need not be one that there is.
fn decoded(reading: [u8; 7], format: u8) -> Option<Date> {
    let number = |value: u8| match format & BINARY {
        0 if value & 15 > 9 => None,
        0 => Some(u64::from(value >> 4) * 10 + u64::from(value & 15)),
        _ => Some(u64::from(value)),
    };
    let [second, minute, hour, day, month, year, century] = reading;
    let hour = if format & HOURS_24 != 0 {
        number(hour)?
    } else {
        let of_12 = number(hour & !AFTERNOON)?;
        let after = if hour & AFTERNOON != 0 { 12 } else { 0 };
        // Midnight and noon are 12.
        if !(1..=12).contains(&of_12) {
            return None;
        }
        of_12 % 12 + after
    };
    let year = number(year).filter(|&year| year < 100)?;
    let century = number(century).filter(|&c| c == 19 || c == 20);
    Some(Date {
        // Without a century, the years from 1970 to 2069.
        year: year + 100 * century.unwrap_or(if year < 70 { 20 } else { 19 }),
        month: number(month)?,
        day: number(day)?,
        hour,
        minute: number(minute)?,
        second: number(second)?,
    })
}

/// A date as a reading would have it.
fn coded(date: Date, format: u8) -> [u8; 7] {
    let byte = |number: u64| {
        if format & BINARY != 0 {
            number as u8
        } else {
            (((number / 10) << 4) | (number % 10)) as u8
        }
    };
    let hour = if format & HOURS_24 != 0 {
        byte(date.hour)
    } else {
        let afternoon = if date.hour >= 12 { AFTERNOON } else { 0 };
        byte((date.hour + 11) % 12 + 1) | afternoon
    };
    [
        byte(date.second),
        byte(date.minute),
        hour,
        byte(date.day),
        byte(date.month),
        byte(date.year % 100),
        byte(date.year / 100),
    ]
}
