//! Drivers of platform devices that mean ill: `hostile-ports` gives the clock, the keyboard's
//! controller and the screen to one child after the other, each of which tries by its ports to reach
//! what is the machine's own. Honest ones between them see that the devices still work.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

#[path = "../../attempts.rs"]
mod attempts;

use attempts::Attempts;
use core::time::Duration;
use sing_sdk::device::{self, Device, Registers};
use sing_sdk::prelude::*;
use sing_sdk::sync;
use sing_sdk::time::{self, Timeout};

sing_sdk::manifest! {
    name: "hostile-ports",
    description: "tries by its ports what a driver must not be able to do",
    privileges: [create, devices, inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    devices: {
        device: optional ["/pnp"] { registers: [0, 1, 2], interrupt },
    },
    memory: 64 MiB,
}

const CLOCK: &str = "/pnp/PNP0B00";
const KEYBOARD: &str = "/pnp/PNP0303";
const SCREEN: &str = "/pnp/PNP0900";

/// An access outside the registers.
const OUTSIDE: i32 = 19;
/// For each device: attempts that end the child with a trap, and those that come to nothing.
type Tried = (
    &'static str,
    &'static [(&'static str, i32)],
    &'static [&'static str],
);
const TRIED: [Tried; 3] = [
    (
        CLOCK,
        &[("behind", OUTSIDE), ("wide", OUTSIDE)],
        &["settings", "other-ranges", "ticks", "ticks-left", "ticks"],
    ),
    (
        KEYBOARD,
        &[("behind", OUTSIDE)],
        &["reset", "address-line", "answers"],
    ),
    (SCREEN, &[("behind-text", OUTSIDE)], &["text", "registers"]),
];

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    match sing_sdk::args::get(1) {
        Some(attempt) => child(&attempt),
        None => parent(),
    }
}

fn parent() -> Result<i32, Error> {
    let all = device::all()?;
    let mut wrong = 0;
    for (signature, traps, refused) in TRIED {
        let place = all
            .iter()
            .position(|d| d.signature == signature && d.holder == 0);
        let Some(place) = place else {
            println!("{signature}: the machine has none that is free");
            continue;
        };
        let attempts = Attempts {
            program: "hostile-ports",
            device: place as u32,
            times: 2,
        };
        let interrupts = all.get(place).is_some_and(|d| d.interrupt);
        let possible = |name: &&&str| interrupts || !name.starts_with("ticks");
        let tried: Vec<&str> = refused.iter().filter(possible).copied().collect();
        let got_through = attempts.all(0, traps, &tried)?;
        let what = match (got_through, tried.len() == refused.len()) {
            (0, true) => "held off",
            // As the hosted clock: what a driver may do is less, and told apart.
            (0, false) => "held off, without its interrupt",
            _ => "not held off",
        };
        println!("{signature}: {what}");
        // What was printed is taken before memory is counted.
        time::sleep(Duration::from_millis(100));
        wrong += got_through;
    }
    Ok(wrong)
}

fn clock_get(clock: &Registers, register: u8) -> u8 {
    clock.write_u8(0, register);
    clock.read_u8(1)
}

fn clock_set(clock: &Registers, register: u8, value: u8) {
    clock.write_u8(0, register);
    clock.write_u8(1, value);
}

/// Waits until the keyboard's controller has something, or for a tenth of a second.
fn keyboard_get(device: &Device) -> Result<Option<u8>, Error> {
    let (data, command) = (device.registers(0)?, device.registers(1)?);
    for _ in 0..100 {
        if command.read_u8(0) & 1 != 0 {
            return Ok(Some(data.read_u8(0)));
        }
        time::sleep(Duration::from_millis(1));
    }
    Ok(None)
}

fn child(attempt: &str) -> Result<i32, Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    let first = device.registers(0)?;
    let done = match attempt {
        "die" => true,
        "behind" => first.read_u8(first.len()) == 0,
        "wide" => first.read_u32(0) == 0,
        // The firmware's settings, by bytes, by both ports at once, and with the bit that stops
        // non-maskable interrupts; and what is changed for others by that.
        "settings" => {
            let before: Vec<u8> = (0x0e..0x32).map(|r| clock_get(&first, r)).collect();
            for register in 0x0e..0x32 {
                clock_set(&first, register, 0xa5);
                clock_set(&first, register | 0x80, 0x5a);
                first.write_u16(0, u16::from(register) | 0x3c00);
            }
            let after: Vec<u8> = (0x0e..0x32).map(|r| clock_get(&first, r)).collect();
            before == after
        }
        "other-ranges" => matches!(device.registers(1), Err(Error::NotFound)),
        "ticks" => ticks(&device, &first)?,
        // The clock goes on to interrupt when its driver has gone: nobody is disturbed.
        "ticks-left" => {
            let _irq = device.irq()?;
            clock_set(&first, 11, clock_get(&first, 11) | 0x40);
            clock_get(&first, 12);
            true
        }
        // Pulses of the controller's lines, and its output port with the line down that resets.
        "reset" => {
            let command = device.registers(1)?;
            for pulse in 0xf0..=0xff {
                command.write_u8(0, pulse);
            }
            command.write_u8(0, 0xd1);
            first.write_u8(0, 0);
            true
        }
        "address-line" => {
            let command = device.registers(1)?;
            command.write_u8(0, 0xdd);
            command.write_u8(0, 0xd1);
            first.write_u8(0, 0xfd);
            // Of two neighbours of a MiB each, both still are what was written.
            let mut memory = vec![0u8; 3 << 20];
            for at in [0, 1 << 20, 2 << 20] {
                memory[at] = (at >> 20) as u8 + 1;
            }
            [0, 1 << 20, 2 << 20]
                .iter()
                .all(|at| memory[*at] == (*at >> 20) as u8 + 1)
        }
        "answers" => {
            while keyboard_get(&device)?.is_some() {}
            device.registers(1)?.write_u8(0, 0xaa);
            keyboard_get(&device)? == Some(0x55)
        }
        "behind-text" => first.read_u16(first.len()) == 0,
        "text" => {
            let last = first.len() - 2;
            first.write_u16(last, 0x0741);
            first.len() == 0x8000 && first.read_u16(last) == 0x0741
        }
        "registers" => {
            let registers = device.registers(2)?;
            // The cursor's place, whose low half is register 15.
            registers.write_u8(0x14, 15);
            registers.write_u8(0x15, 0x5a);
            registers.len() == 0x20 && registers.read_u8(0x15) == 0x5a
        }
        _ => return Err(Error::BadArgument),
    };
    Ok(i32::from(!done))
}

/// Whether the clock's periodic interrupt comes, each time that it was acknowledged.
fn ticks(device: &Device, clock: &Registers) -> Result<bool, Error> {
    let irq = device.irq()?;
    let before = clock_get(clock, 11);
    clock_set(clock, 10, 0x26);
    clock_set(clock, 11, before | 0x40);
    clock_get(clock, 12);
    let mut came = 0;
    while came < 20 && sync::wait(&irq, Timeout::from(Duration::from_secs(5))).is_ok() {
        irq.acknowledge();
        clock_get(clock, 12);
        came += 1;
    }
    clock_set(clock, 11, before & !0x70);
    clock_get(clock, 12);
    Ok(came == 20)
}
