//! What a PCI function's next driver finds: `given-back` gives an NVMe disk that nobody drives to one
//! child after the other. Each finds it switched off, as after power-on, sets it to work, and leaves it
//! at that: it ends, is killed, or crashes.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use core::time::Duration;
use sing_sdk::device::{self, Device};
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, Exit};
use sing_sdk::thread::sleep;
use sing_sdk::time::uptime;

sing_sdk::manifest! {
    name: "given-back",
    description: "looks at what a device's driver leaves to the next one",
    privileges: [create, devices],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    devices: { disk: optional ["/pci/01/08"] { registers: [0], interrupt } },
}

/// Registers, in words: configuration, status, sizes and places of the admin queues.
const CONFIGURATION: u32 = 0x14;
const STATUS: u32 = 0x1c;
const QUEUES: [u32; 5] = [0x24, 0x28, 0x2c, 0x30, 0x34];
/// On, with commands of 64 bytes and answers of 16; ready.
const ON: u32 = 1 | 6 << 16 | 4 << 20;
const READY: u32 = 1;

/// The most for which a reset holds up a driver.
const LONGEST: Duration = Duration::from_secs(2);

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    match sing_sdk::args::get(1) {
        Some(how) => child(&how),
        None => parent(),
    }
}

fn parent() -> Result<i32, Error> {
    let all = device::all()?;
    let is_free = |d: &device::DeviceInfo| d.signature.starts_with("/pci/01/08/") && d.holder == 0;
    let disk = all.iter().position(is_free).ok_or(Error::NotFound)? as u32;
    let mut wrong = 0;
    for how in ["end", "wait", "crash", "end"] {
        let child = Child::of("given-back").arg("given-back").arg(how);
        let child = child.create().map_err(|e| e.error())?;
        child.give_device(0, disk)?;
        let start = uptime();
        child.start()?;
        if how == "wait" {
            sleep(LONGEST);
            child.stop(7)?;
        }
        let exit = child.join()?;
        let good = match how {
            "end" => exit == Exit::Code(0),
            "wait" => exit == Exit::Stopped(7),
            _ => matches!(exit, Exit::Trapped(_)),
        };
        let slow = how != "wait" && uptime() - start > LONGEST;
        if !good || slow {
            println!("{how}: {exit:?} after {:?}", uptime() - start);
            wrong += 1;
        }
    }
    println!("given back: {wrong} wrong");
    Ok(wrong)
}

fn child(how: &str) -> Result<i32, Error> {
    let device: Device = startup::disk().ok_or(Error::NotFound)?;
    let registers = device.registers(0)?;
    let irq = device.irq()?;
    let state = |place: u32| registers.read_u32(place);
    let found = [CONFIGURATION, STATUS].map(state);
    if found != [0; 2] {
        println!("found {found:x?}");
        return Ok(1);
    }
    // It does not master the bus: what it would reach is nobody's matter.
    for (place, value) in QUEUES
        .into_iter()
        .zip([0x000f_000f, 0x10_0000, 0, 0x10_1000, 0])
    {
        registers.write_u32(place, value);
    }
    registers.write_u32(CONFIGURATION, ON);
    let until = uptime() + LONGEST;
    while state(STATUS) & READY == 0 {
        if uptime() > until {
            println!("it does not start: {:x}", state(STATUS));
            return Ok(2);
        }
        sleep(Duration::from_millis(1));
    }
    irq.acknowledge();
    match how {
        "wait" => loop {
            sleep(LONGEST);
        },
        "crash" => unreachable!("as asked"),
        _ => Ok(0),
    }
}
