//! Tests of clock, timer, console input and processor features.

use crate::run::{Outcome, arrived, check};
use sing_kernel::console::ConsoleDevice;
use sing_kernel::hal::{Hal, LINE_CONSOLE, LINE_TIMER};
use sing_pc::Pc;
use sing_pc::inside::{MODEM_CONTROL, is_polled, read8, write8};
use x86_64::instructions::interrupts::without_interrupts;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

pub fn wait_until(at: u64) {
    while Pc.now() < at {
        sing_arch::pause();
    }
}

pub fn clock() -> Outcome {
    let mut last = Pc.now();
    for _ in 0..100_000 {
        let now = Pc.now();
        check!(now >= last, "went back from {last} to {now}");
        last = now;
    }
    check!(Pc.now() < 600 * SECOND, "began {} s ago", Pc.now() / SECOND);
    let rate = Pc.cycles_per_second();
    check!(
        (100_000_000..10_000_000_000).contains(&rate),
        "{rate} ticks a second"
    );
    let (from, start) = (Pc.now(), sing_arch::cycles());
    wait_until(from + 10 * MILLISECOND);
    let (ticks, took) = (sing_arch::cycles() - start, Pc.now() - from);
    let by_ticks = (u128::from(ticks) * 1_000_000_000 / u128::from(rate)) as u64;
    check!(
        by_ticks.abs_diff(took) < took / 10,
        "{by_ticks} ns by cycles, {took} by the clock"
    );
    let year = Pc.utc() / SECOND / 31_556_952 + 1970;
    check!((2024..2100).contains(&year), "the year is {year}");
    Ok(())
}

pub fn timer_is_punctual() -> Outcome {
    for delay in [
        20 * MICROSECOND,
        500 * MICROSECOND,
        5 * MILLISECOND,
        30 * MILLISECOND,
    ] {
        // The host may be busy, so the best of several attempts counts for lateness, and every one
        // for earliness.
        let mut best = u64::MAX;
        for _ in 0..8 {
            let before = arrived(LINE_TIMER);
            let at = Pc.now() + delay;
            Pc.set_timer(at);
            while arrived(LINE_TIMER) == before {
                Pc.idle();
            }
            let now = Pc.now();
            check!(now >= at, "{} ns early", at - now);
            best = best.min(now - at);
        }
        check!(best < MILLISECOND, "{best} ns late after {delay}");
    }
    Pc.set_timer(u64::MAX);
    let before = arrived(LINE_TIMER);
    wait_until(Pc.now() + 5 * MILLISECOND);
    check!(
        arrived(LINE_TIMER) == before,
        "an interrupt nobody asked for"
    );
    Ok(())
}

pub fn timer_changes() -> Outcome {
    // Long enough that a busy host does not delay the replacement beyond it.
    let delay = 100 * MILLISECOND;
    for instead in [Pc.now() + 3600 * SECOND, u64::MAX] {
        let before = arrived(LINE_TIMER);
        Pc.set_timer(Pc.now() + delay);
        Pc.set_timer(instead);
        wait_until(Pc.now() + delay + 5 * MILLISECOND);
        check!(
            arrived(LINE_TIMER) == before,
            "the timer has come that {instead} replaced"
        );
    }
    for past in [0, 1, Pc.now()] {
        let before = arrived(LINE_TIMER);
        Pc.set_timer(past);
        wait_until(Pc.now() + 5 * MILLISECOND);
        check!(
            arrived(LINE_TIMER) > before,
            "a timer in the past has not come"
        );
    }
    Pc.set_timer(u64::MAX);
    Ok(())
}

pub fn no_lost_wake_up() -> Outcome {
    // If one were lost between checking and waiting, the first loop would not end.
    for i in 0..2_000 {
        let before = arrived(LINE_TIMER);
        Pc.set_timer(Pc.now() + i % 40 * 500);
        while arrived(LINE_TIMER) == before {
            Pc.idle();
        }
    }
    // An interrupt that has arrived already ends the wait at once.
    let before = arrived(LINE_TIMER);
    Pc.set_timer(Pc.now());
    while arrived(LINE_TIMER) == before {
        sing_arch::pause();
    }
    let start = Pc.now();
    Pc.set_timer(start + SECOND);
    Pc.idle();
    Pc.set_timer(u64::MAX);
    check!(
        Pc.now() - start < SECOND,
        "slept although an interrupt had come"
    );
    Ok(())
}

fn console() -> &'static dyn ConsoleDevice {
    Pc.console()
}

/// Connects the serial port's output to its own input, or undoes it.
fn set_loop(on: bool) {
    const LOOP: u8 = 0x10;
    without_interrupts(|| {
        let modem = read8(MODEM_CONTROL) & !LOOP;
        write8(MODEM_CONTROL, if on { modem | LOOP } else { modem });
    });
}

pub fn console_input() -> Outcome {
    let mut bytes = [0; 16];
    // There may be input from before the test.
    while console().read(&mut bytes) != Some(0) {}
    let before = arrived(LINE_CONSOLE);
    set_loop(true);
    console().write(b"echo");
    let end = Pc.now() + 500 * MILLISECOND;
    let mut got = 0;
    while got < 4 && Pc.now() < end {
        got += console().read(&mut bytes[got..]).unwrap_or(0);
    }
    set_loop(false);
    check!(arrived(LINE_CONSOLE) > before, "no interrupt");
    check!(&bytes[..got] == b"echo", "{:?}", &bytes[..got]);
    check!(console().read(&mut bytes) == Some(0), "something more");
    Ok(())
}

/// Input beyond the HAL's buffer stays in the device's 16 bytes, and is received later.
pub fn console_keeps_everything() -> Outcome {
    if is_polled() {
        return Ok(()); // A device that holds nobody up loses what is not looked for in time.
    }
    let sent: alloc::vec::Vec<u8> = (0..4096 + 16).map(|i| (i % 251) as u8).collect();
    set_loop(true);
    console().write(&sent);
    let mut got = alloc::vec::Vec::new();
    let end = Pc.now() + 500 * MILLISECOND;
    while got.len() < sent.len() && Pc.now() < end {
        let mut bytes = [0; 100];
        let n = console().read(&mut bytes).unwrap_or(0);
        got.extend_from_slice(&bytes[..n]);
    }
    set_loop(false);
    check!(
        got == sent,
        "{} bytes of {}, or others",
        got.len(),
        sent.len()
    );
    Ok(())
}

pub fn features() -> Outcome {
    check!(
        Pc.has_cpu_feature("sse2"),
        "no sse2, which every such processor has"
    );
    check!(
        !Pc.has_cpu_feature("sse9") && !Pc.has_cpu_feature(""),
        "has what does not exist"
    );
    Ok(())
}
