//! Devices whose interrupt pins share an input (QEMU's `edu`): `shared-pin` gives all of them to one
//! child after the other. Each raises its interrupts alone, all at once, and next to one that is
//! never acknowledged; and the next child finds them as the first did.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use core::time::Duration;
use sing_sdk::device::{self, Device, Irq, Registers};
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, Exit};

sing_sdk::manifest! {
    name: "shared-pin",
    description: "drives devices whose interrupt pins share an input",
    privileges: [create, devices],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    devices: {
        first: optional ["/pci/00/ff/1234/11e8"] { registers: [0], interrupt },
        second: optional ["/pci/00/ff/1234/11e8"] { registers: [0], interrupt },
        third: optional ["/pci/00/ff/1234/11e8"] { registers: [0], interrupt },
    },
}

/// The device's registers: the causes of its interrupt; raises it, and takes a cause away.
const CAUSES: u32 = 0x24;
const RAISE: u32 = 0x60;
const QUIET: u32 = 0x64;

/// How often each raises an interrupt.
const ROUNDS: u32 = 50;

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    match sing_sdk::args::get(1) {
        Some(how) => child(&how),
        None => parent(),
    }
}

fn parent() -> Result<i32, Error> {
    let is_edu = |d: &device::DeviceInfo| d.signature == "/pci/00/ff/1234/11e8";
    let all = device::all()?;
    let found: Vec<u32> = (0..)
        .zip(&all)
        .filter(|(_, d)| is_edu(d))
        .map(|(i, _)| i)
        .collect();
    let with = found.iter().filter(|i| all[**i as usize].interrupt).count();
    println!("{} devices, {with} with an interrupt", found.len());
    let mut wrong = 0;
    // The second finds what the first left: pins that are raised, and nothing acknowledged.
    for how in ["all", "all", "without-the-first", "without-the-last"] {
        let child = Child::of("shared-pin").arg("shared-pin").arg(how);
        let child = child.create().map_err(|e| e.error())?;
        for (usage, device) in (0..).zip(&found) {
            let left_out = match how {
                "without-the-first" => 0,
                "without-the-last" => found.len() as u32 - 1,
                _ => u32::MAX,
            };
            if usage != left_out {
                child.give_device(usage, *device)?;
            }
        }
        child.start()?;
        let exit = child.join()?;
        if exit != Exit::Code(0) {
            println!("{how}: {exit:?}");
            wrong += 1;
        }
    }
    println!("shared pins: {wrong} wrong");
    Ok(wrong)
}

struct Edu {
    registers: Registers,
    irq: Irq,
    _device: Device,
}

impl Edu {
    fn take(device: Device) -> Result<Edu, Error> {
        let registers = device.registers(0)?;
        // Whoever had it before may have left it raised.
        registers.write_u32(QUIET, registers.read_u32(CAUSES));
        let irq = device.irq()?;
        irq.acknowledge();
        Ok(Edu {
            registers,
            irq,
            _device: device,
        })
    }

    fn raise(&self) {
        self.registers.write_u32(RAISE, 1);
    }

    fn quiet(&self) {
        self.registers.write_u32(QUIET, 1);
        self.irq.acknowledge();
    }

    /// Whether its interrupt is there within this time.
    fn arrives(&self, milliseconds: u64) -> bool {
        let irq = &self.irq;
        switch_receive! {
            case &*irq => true,
            timeout Duration::from_millis(milliseconds) => false,
        }
    }
}

fn child(how: &str) -> Result<i32, Error> {
    let devices = [startup::first(), startup::second(), startup::third()];
    let devices: Vec<Edu> = devices
        .into_iter()
        .flatten()
        .map(Edu::take)
        .collect::<Result<_, _>>()?;
    let mut wrong = 0;
    let mut check = |good: bool, what: &str| {
        if !good {
            println!("{how}: {what}");
            wrong += 1;
        }
    };
    // Alone: nobody else's is told.
    for (i, one) in devices.iter().enumerate() {
        for _ in 0..ROUNDS {
            one.raise();
            check(one.arrives(1000), "an interrupt does not come");
            for (j, other) in devices.iter().enumerate() {
                check(i == j || !other.arrives(0), "another's interrupt comes");
            }
            one.quiet();
        }
        check(!one.arrives(10), "an interrupt comes again");
    }
    // All at once.
    devices.iter().for_each(Edu::raise);
    for one in &devices {
        check(one.arrives(1000), "one of several does not come");
    }
    devices.iter().for_each(Edu::quiet);
    // One that stays raised comes once for each acknowledgement; one that is never acknowledged holds
    // up nobody.
    for (i, stubborn) in devices.iter().enumerate() {
        stubborn.raise();
        check(stubborn.arrives(1000), "a stubborn one does not come");
        stubborn.irq.acknowledge();
        check(stubborn.arrives(1000), "a stubborn one does not come again");
        for (j, one) in devices.iter().enumerate().filter(|(j, _)| *j != i) {
            for _ in 0..ROUNDS {
                one.raise();
                check(one.arrives(1000), "one does not come beside a stubborn one");
                one.quiet();
            }
            check(i == j || !one.arrives(10), "one comes again");
        }
        stubborn.quiet();
    }
    // All are left raised, and not acknowledged.
    devices.iter().for_each(Edu::raise);
    for one in &devices {
        check(one.arrives(1000), "the last does not come");
    }
    Ok(wrong)
}
