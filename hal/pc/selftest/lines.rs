//! Tests of devices' interrupt lines, and of unexpected interrupts.

use crate::run::{Outcome, arrived, check};
use crate::time::wait_until;
use sing_kernel::hal::{Hal, LINE_CONSOLE, LINE_TIMER};
use sing_pc::Pc;
use sing_pc::inside::{
    Input, SPURIOUS, connect, disconnect, is_serving, line_of, raise, read8, write8,
};

const MILLISECOND: u64 = 1_000_000;
/// Two lines that no other test uses.
const LINE: u32 = 29;
const OTHER: u32 = 30;
/// The real-time clock's line on the ISA bus, if no table overrides it.
const CALENDAR: Input = Input {
    number: 8,
    low: false,
    level: false,
};

/// Vectors of higher priority than the timer's: left in service, they would block it for ever.
pub fn unknown_interrupts_are_ended() -> Outcome {
    for vector in [0x40, 0x77, 0xef, SPURIOUS] {
        raise(vector);
        let before = arrived(LINE_TIMER);
        Pc.set_timer(Pc.now() + MILLISECOND);
        wait_until(Pc.now() + 20 * MILLISECOND);
        Pc.set_timer(u64::MAX);
        check!(
            arrived(LINE_TIMER) > before,
            "no timer after vector {vector:#x}"
        );
        check!(!is_serving(), "vector {vector:#x} is in service for ever");
    }
    Ok(())
}

/// Reads a status register of the real-time clock. Reading register C clears it, and releases the
/// line.
fn calendar(register: u8) -> u8 {
    write8(0x70, register);
    read8(0x71)
}

fn set_calendar(register: u8, value: u8) {
    write8(0x70, register);
    write8(0x71, value);
}

pub fn a_line_is_masked_and_unmasked() -> Outcome {
    check!(
        !connect(LINE_CONSOLE, CALENDAR),
        "the console's line has a second input"
    );
    check!(!connect(u32::MAX, CALENDAR), "there are four billion lines");
    let far = Input {
        number: 1000,
        ..CALENDAR
    };
    check!(!connect(LINE, far), "there are a thousand inputs");
    if calendar(0x0a) == 0xff {
        return Ok(()); // No such clock, so nothing that can be told to interrupt.
    }
    // The clock is a device of the machine, whose line is connected when the devices are found.
    let found = line_of(CALENDAR);
    if let Some(line) = found {
        check!(
            !connect(LINE, CALENDAR),
            "a device's input has a second line"
        );
        disconnect(line);
    }
    let outcome = a_line_has_one_holder();
    if let Some(line) = found {
        check!(connect(line, CALENDAR), "the device's line is lost");
    }
    outcome
}

fn a_line_has_one_holder() -> Outcome {
    check!(connect(LINE, CALENDAR), "cannot connect the line");
    check!(!connect(OTHER, CALENDAR), "an input has two lines");
    let format = calendar(0x0b);
    // An interrupt every 15 ms.
    set_calendar(0x0a, 0x2a);
    set_calendar(0x0b, format | 0x40);
    let mut outcome = periodic();
    set_calendar(0x0b, format);
    calendar(0x0c);
    disconnect(LINE);
    if outcome.is_ok() && !connect(LINE, CALENDAR) {
        outcome = Err("a line that was given up cannot be had".into());
    }
    disconnect(LINE);
    outcome
}

fn periodic() -> Outcome {
    let pause = || wait_until(Pc.now() + 100 * MILLISECOND);
    pause();
    check!(arrived(LINE) == 0, "a line came that is masked");
    for round in 1..4 {
        calendar(0x0c);
        Pc.unmask(LINE);
        pause();
        // It stays masked after an interrupt, until its owner unmasks it.
        check!(
            arrived(LINE) == round,
            "came {} times in {round} rounds",
            arrived(LINE)
        );
    }
    Pc.unmask(LINE);
    Pc.mask(LINE);
    let before = arrived(LINE);
    calendar(0x0c);
    pause();
    check!(arrived(LINE) == before, "a line came that was masked again");
    Ok(())
}
