//! Drivers that mean ill: `hostile-driver` gives a free disk of the machine to one child after the
//! other, each of which tries something on it, and looks whether the kernel is as before each time.
//! The last one is honest: the device still works.
#![no_std]
#![no_main]

extern crate alloc;

#[path = "../../attempts.rs"]
mod attempts;
mod inline;

use attempts::Attempts;
use sing_sdk::device::{self, Device, Part, Queue};
use sing_sdk::prelude::*;
use sing_sdk::process::Child;
use sing_sdk::sync;
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "hostile-driver",
    description: "tries what a driver must not be able to do",
    privileges: [create, devices, inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    devices: {
        disk: optional ["/virtio/2", "/pci/01/00/1af4"] { registers: [0], interrupt, queues: 1 },
        other: optional ["/virtio/99", "/pci/ff"] { registers: [0, 1], interrupt, queues: 8 },
    },
    memory: 64 MiB,
}

/// The kernel's entries, without the SDK's wrappers.
mod raw {
    #[link(wasm_import_module = "sing_v1")]
    unsafe extern "C" {
        pub safe fn io_read(io: u32, offset: u32, width: u32) -> i64;
        pub safe fn io_load8(io: u32, offset: u32) -> u32;
        pub safe fn io_load32(io: u32, offset: u32) -> u32;
        pub safe fn io_load64(io: u32, offset: u32) -> u64;
        pub safe fn io_store16(io: u32, offset: u32, value: u32);
        pub safe fn io_store64(io: u32, offset: u32, value: u64);
        pub safe fn handle_dispose(handle: u32) -> i32;
        pub safe fn queue_add(queue: u32, parts: u32, count: u32) -> i32;
        pub safe fn queue_notify(queue: u32) -> i32;
        pub safe fn device_reset(device: u32) -> i64;
        pub safe fn device_registers(device: u32, index: u32) -> i32;
        pub safe fn startup_device(usage: u32) -> i32;
        pub safe fn interrupt_ack(handle: u32) -> i32;
    }
}

/// Attempts that end the child, and the trap's code.
const TRAPS: [(&str, i32); 20] = [
    ("behind", 19),
    ("rings", 19),
    ("unaligned", 19),
    ("wide", 19),
    ("write", 19),
    ("forged-io", 10),
    ("forged-inline", 10),
    ("zero-inline", 10),
    ("device-inline", 10),
    ("event-inline", 10),
    ("closed-inline", 10),
    ("closed-elsewhere", 10),
    ("wide-inline", 19),
    ("far-inline", 19),
    ("half-inline", 19),
    ("forged-queue", 10),
    ("forged-device", 10),
    ("forged-irq", 10),
    ("foreign-block", 10),
    ("die-of-trap", 19),
];
/// Attempts that are refused, so that the child ends with 0; or the honest driver.
const REFUSED: [&str; 13] = [
    "undeclared",
    "twice",
    "reset-in-use",
    "bad-parts",
    "too-much",
    "die",
    "give-back",
    "give-back-queue",
    "same-inline",
    "given-back-inline",
    "given-back-elsewhere",
    "many-handles",
    "honest",
];

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    match sing_sdk::args::get(1) {
        Some(attempt) => child(&attempt),
        None => parent(),
    }
}

/// A free disk of the machine: its index.
fn free_disk() -> Result<u32, Error> {
    let all = device::all()?;
    let is_disk = |s: &str| s == "/virtio/2" || s.starts_with("/pci/01/00/1af4/");
    let free = all
        .iter()
        .position(|d| d.holder == 0 && is_disk(&d.signature) && !d.broken);
    free.map(|i| i as u32).ok_or(Error::NotFound)
}

fn parent() -> Result<i32, Error> {
    let device = free_disk()?;
    let attempts = Attempts {
        program: "hostile-driver",
        device,
        times: 3,
    };
    attempts.all(giving(device)?, &TRAPS, &REFUSED)
}

/// A device goes to nobody whose manifest does not declare it, to nobody who runs, and to one only.
fn giving(disk: u32) -> Result<usize, Error> {
    let all = device::all()?;
    let held = all.iter().position(|d| d.holder != 0);
    let make = || {
        let child = Child::of("hostile-driver")
            .arg("hostile-driver")
            .arg("sleep")
            .create();
        child.map_err(|e| e.error())
    };
    let first = make()?;
    let second = make()?;
    let none = Child::of("sweep").create().map_err(|e| e.error())?;
    let mut outcomes = vec![
        (first.give_device(1, disk), Err(Error::NotPermitted)),
        (first.give_device(2, disk), Err(Error::NotFound)),
        (first.give_device(0, 1000), Err(Error::NotFound)),
        (none.give_device(0, disk), Err(Error::NotFound)),
        (first.give_device(0, disk), Ok(())),
        (second.give_device(0, disk), Err(Error::Held)),
    ];
    if let Some(held) = held {
        outcomes.push((second.give_device(0, held as u32), Err(Error::Held)));
    }
    second.start()?;
    outcomes.push((second.give_device(0, disk), Err(Error::BadState)));
    second.stop(0)?;
    // It ends without having taken what it was given.
    first.stop(0)?;
    outcomes.push((
        device::info(disk)?.map_or(Err(Error::NotFound), |d| {
            if d.holder == 0 {
                Ok(())
            } else {
                Err(Error::Held)
            }
        }),
        Ok(()),
    ));
    let mut wrong = 0;
    for (i, (outcome, wanted)) in outcomes.iter().enumerate() {
        if outcome != wanted {
            println!("giving, case {i}: {outcome:?}, not {wanted:?}");
            wrong += 1;
        }
    }
    Ok(wrong)
}

/// The device ready to work, and its queue.
fn started() -> Result<(Device, Queue), Error> {
    let device = startup::disk().ok_or(Error::NotFound)?;
    device.reset()?;
    device.accept(0)?;
    let queue = device.queue(0, 256)?;
    device.ready()?;
    Ok((device, queue))
}

/// Hands the device requests to read the first 64 KiB, until it has no room: how many.
fn fill(queue: &mut Queue) -> Result<usize, Error> {
    let mut count = 0;
    loop {
        let mut own = Block::new(64)?;
        own.store_u8(32, 0xff);
        let data = Block::new(65536)?;
        let parts = [
            Part::read(0, 0..16),
            Part::written(1, 0..65536),
            Part::written(0, 32..33),
        ];
        match queue.add(vec![own, data], &parts) {
            Ok(_) => count += 1,
            Err(refused) if refused.error == Error::WouldBlock => break,
            Err(refused) => return Err(refused.error),
        }
    }
    let _ = queue.notify();
    Ok(count)
}

fn is(outcome: Result<impl Sized, Error>, wanted: Error) -> bool {
    outcome.err() == Some(wanted)
}

fn code(good: bool) -> Result<i32, Error> {
    Ok(i32::from(!good))
}

fn child(attempt: &str) -> Result<i32, Error> {
    match attempt {
        "sleep" => {
            sing_sdk::thread::sleep(core::time::Duration::from_secs(3600));
            Ok(1)
        }
        "behind" | "rings" | "unaligned" | "wide" | "write" => registers(attempt),
        "forged-inline"
        | "zero-inline"
        | "device-inline"
        | "event-inline"
        | "closed-inline"
        | "closed-elsewhere"
        | "wide-inline"
        | "far-inline"
        | "half-inline"
        | "same-inline"
        | "given-back-inline"
        | "given-back-elsewhere"
        | "many-handles" => inline::attempt(attempt),
        "forged-io" => Ok(raw::io_read(0x7fff_0001, 0, 4) as i32),
        "forged-queue" => Ok(raw::queue_notify(12345)),
        "forged-irq" => Ok(raw::interrupt_ack(0x10001)),
        "forged-device" => {
            // A handle of another kind.
            let event = sync::AutoEvent::new(false)?;
            Ok(raw::device_reset(event.handle().raw()) as i32)
        }
        "foreign-block" => {
            let (_device, queue) = started()?;
            // Parts that name a block that is not there.
            let parts = [0x7fff_0003_u32, 0, 16, 0];
            Ok(raw::queue_add(
                queue.handle().raw(),
                parts.as_ptr() as u32,
                1,
            ))
        }
        "undeclared" => {
            let device = startup::disk().ok_or(Error::NotFound)?;
            device.reset()?;
            let refused = is(device.registers(1), Error::NotPermitted)
                && is(device.registers(u32::MAX), Error::NotPermitted)
                && is(device.queue(0, 256), Error::BadState)
                && is(device.accept(1 << 40), Error::BadArgument);
            device.reset()?;
            device.accept(0)?;
            let refused = refused
                && is(device.accept(0), Error::BadState)
                && is(device.queue(1, 256), Error::NotPermitted)
                && startup::other().is_none()
                && raw::startup_device(77) < 0;
            code(refused)
        }
        "twice" => {
            let (device, _queue) = started()?;
            let irq = device.irq()?;
            let refused = is(device.queue(0, 256), Error::Held)
                && is(device.irq(), Error::Held)
                && startup::disk().is_none();
            drop(irq);
            code(refused && device.irq().is_ok())
        }
        "reset-in-use" => {
            let (device, mut queue) = started()?;
            fill(&mut queue)?;
            code(is(device.reset(), Error::BadState))
        }
        "bad-parts" => {
            let (_device, mut queue) = started()?;
            code(bad_parts(&mut queue)?)
        }
        "too-much" => {
            // All that there is room for, again and again, without an interrupt.
            let (_device, mut queue) = started()?;
            let mut given = 0;
            let mut taken = 0;
            for _ in 0..20 {
                given += fill(&mut queue)?;
                while queue.take().is_ok() {
                    taken += 1;
                }
                sing_sdk::thread::sleep(core::time::Duration::from_millis(5));
            }
            code(given >= taken && taken > 0)
        }
        "die" => {
            let (device, mut queue) = started()?;
            fill(&mut queue)?;
            // Nothing is dropped.
            core::mem::forget((device, queue));
            sing_sdk::process::exit(0);
        }
        "die-of-trap" => {
            let (device, mut queue) = started()?;
            let registers = device.registers(0)?;
            fill(&mut queue)?;
            Ok(registers.read_u32(registers.len()) as i32)
        }
        "give-back" => give_back(),
        "give-back-queue" => {
            let (device, mut queue) = started()?;
            fill(&mut queue)?;
            drop(queue);
            // It can be set up anew.
            device.reset()?;
            device.accept(0)?;
            let queue = device.queue(0, 16)?;
            device.ready()?;
            code(honest(&device, queue)?)
        }
        "honest" => {
            let (device, queue) = started()?;
            code(honest(&device, queue)?)
        }
        _ => Err(Error::BadArgument),
    }
}

fn registers(attempt: &str) -> Result<i32, Error> {
    let (device, _queue) = started()?;
    let registers = device.registers(0)?;
    // It can read what is its own.
    let _ = registers.read_u32(0);
    let len = registers.len();
    match attempt {
        "behind" => Ok(registers.read_u8(len) as i32),
        // The transport's registers would be before the configuration.
        "rings" => {
            registers.write_u32(0x80_u32.wrapping_sub(0x100), 0x1000);
            Ok(1)
        }
        "unaligned" => Ok(registers.read_u32(2) as i32),
        "wide" => {
            let io = raw::device_registers(device.handle().raw(), 0);
            Ok(raw::io_read(io as u32, 0, 16) as i32)
        }
        _ => {
            registers.write_u64(len - 4, 0);
            Ok(1)
        }
    }
}

/// Requests that cannot be; each is refused, and its blocks come back.
fn bad_parts(queue: &mut Queue) -> Result<bool, Error> {
    let mut shared = Block::new(4096)?;
    let _view = shared.share(0..4096)?;
    let mut good = true;
    let mut refused = |blocks: Vec<Block>, parts: &[Part]| {
        let count = blocks.len();
        let outcome = queue.add(blocks, parts);
        let back = outcome
            .err()
            .is_some_and(|r| r.content.len() == count && r.error == Error::BadArgument);
        good &= back;
    };
    refused(vec![shared], &[Part::written(0, 0..4096)]);
    refused(vec![Block::new(512)?], &[Part::read(0, 0..513)]);
    refused(vec![Block::new(512)?], &[Part::read(0, 511..u32::MAX)]);
    refused(vec![Block::new(512)?], &[Part::read(0, 7..7)]);
    refused(vec![Block::new(512)?], &[]);
    refused(
        vec![Block::new(512)?],
        &[Part::written(0, 0..1), Part::read(0, 0..1)],
    );
    refused(
        vec![Block::new(2 << 20)?],
        &[Part::read(0, 0..1 << 20), Part::read(0, 0..1)],
    );
    let many: Vec<Part> = (0..9).map(|_| Part::read(0, 0..1)).collect();
    refused(vec![Block::new(512)?], &many);
    Ok(good)
}

/// Gives the device back while it works: what it had comes back, or is freed, and its parts are
/// dead.
fn give_back() -> Result<i32, Error> {
    let (device, mut queue) = started()?;
    let registers = device.registers(0)?;
    let irq = device.irq()?;
    let given = fill(&mut queue)?;
    drop(device);
    let mut back = 0;
    while let Ok(done) = queue.take() {
        back += usize::from(done.blocks.len() == 2);
    }
    irq.acknowledge();
    let block = Block::new(512)?;
    let closed = queue
        .add(vec![block], &[Part::read(0, 0..512)])
        .err()
        .map(|r| r.error);
    let dead = registers.read_u32(0) == u32::MAX && closed == Some(Error::Closed);
    registers.write_u32(0, 0);
    // Its holder still has parts of it: nobody gets it.
    let held = raw::startup_device(0) < 0;
    code(dead && held && back == given && is(queue.take(), Error::Closed))
}

/// Reads the first sector as a driver should.
fn honest(device: &Device, mut queue: Queue) -> Result<bool, Error> {
    let irq = device.irq()?;
    let mut own = Block::new(64)?;
    own.store_u8(32, 0xff);
    let data = Block::new(512)?;
    let parts = [
        Part::read(0, 0..16),
        Part::written(1, 0..512),
        Part::written(0, 32..33),
    ];
    let number = queue.add(vec![own, data], &parts).map_err(|r| r.error)?;
    let mut done = queue.notify();
    loop {
        if !core::mem::take(&mut done) {
            sync::wait(&irq, Timeout::FOREVER)?;
            irq.acknowledge();
        }
        match queue.take() {
            Ok(done) => {
                let answered = done.blocks[0].load_u8(32) == 0;
                return Ok(answered && done.number == number && done.written == Some(513));
            }
            Err(Error::WouldBlock) => {}
            Err(e) => return Err(e),
        }
    }
}
