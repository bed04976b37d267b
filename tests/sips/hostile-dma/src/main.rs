//! A driver that means ill, with a device that masters the bus as it is told (QEMU's `edu`):
//! `hostile-dma` gives the device to one child after the other, each of which lets it reach for
//! memory that is not its own, and looks what has come of it. With the argument `without`, the
//! machine has no IOMMU, and nobody gets the device.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

#[path = "../../attempts.rs"]
mod attempts;

use attempts::Attempts;
use core::time::Duration;
use sing_sdk::device::{self, Device, Irq, Registers};
use sing_sdk::dma::{Access, Fault, MAX_MAPPINGS, Mapping};
use sing_sdk::prelude::*;
use sing_sdk::process::Child;
use sing_sdk::thread::sleep;

sing_sdk::manifest! {
    name: "hostile-dma",
    description: "lets a device reach for memory that is not its own",
    privileges: [create, devices, inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    devices: {
        edu: optional ["/pci/00/ff/1234/11e8"] { registers: [0], interrupt, dma: 2 MiB },
    },
    memory: 64 MiB,
}

/// Attempts that end the child, and the trap's code.
const TRAPS: [(&str, i32); 5] = [
    ("load-behind", 19),
    ("load-unaligned", 19),
    ("load-unshared", 19),
    ("store-unmapped", 19),
    ("copy-behind", 19),
];
/// Attempts that come to nothing, so that the child ends with 0; or the honest driver.
const REFUSED: [&str; 16] = [
    "raise",
    "interrupts",
    "before",
    "foreign-write",
    "foreign-read",
    "after-unmap",
    "read-only",
    "write-only",
    "behind",
    "refused",
    "too-much",
    "interrupt",
    "entries",
    "old-form",
    "die",
    "honest",
];

/// Where the device has a buffer of its own, and the bytes of it.
const BUFFER: u64 = 0x40000;
const SIZE: u32 = 4096;
/// The most bytes that it copies: QEMU ends if the last one of the buffer is among them.
const MOST: u32 = SIZE - 8;
/// Its registers: where from, where to, how much, and what to do.
const SOURCE: u32 = 0x80;
const TARGET: u32 = 0x88;
const COUNT: u32 = 0x90;
const COMMAND: u32 = 0x98;
const START: u32 = 1;
const TO_MEMORY: u32 = 2;

/// Where processors take messages.
const MESSAGES: u64 = 0xfee0_0000;
/// The causes of its interrupt; raises it, and takes a cause away.
const CAUSES: u32 = 0x24;
const RAISE: u32 = 0x60;
const QUIET: u32 = 0x64;

/// Memory of others: low memory, the kernel's image, page tables and the heap behind it, the
/// registers of the IOMMU, of the interrupt controller, and behind all memory.
const FOREIGN: [u64; 8] = [
    0x0,
    0x9_f000,
    0x20_0000,
    0x123_4000,
    0x800_0000,
    0xfed9_0000,
    0xfec0_0000,
    0x1_0000_0000,
];

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    match sing_sdk::args::get(1) {
        Some(word) if word == "without" => without(),
        Some(attempt) => child(&attempt),
        None => parent(),
    }
}

/// The device: its index.
fn edu() -> Result<u32, Error> {
    let all = device::all()?;
    let found = all
        .iter()
        .position(|d| d.signature == "/pci/00/ff/1234/11e8");
    found.map(|i| i as u32).ok_or(Error::NotFound)
}

/// Nobody gets a device that must reach memory where nothing confines it.
fn without() -> Result<i32, Error> {
    let edu = edu()?;
    let confined = device::info(edu)?.is_none_or(|d| d.confined);
    let child = Child::of("hostile-dma").arg("hostile-dma").arg("honest");
    let child = child.create().map_err(|e| e.error())?;
    let given = child.give_device(0, edu);
    println!("confined {confined}, given {given:?}");
    child.stop(0)?;
    Ok(0)
}

fn parent() -> Result<i32, Error> {
    let attempts = Attempts {
        program: "hostile-dma",
        device: edu()?,
        times: 1,
    };
    attempts.all(0, &TRAPS, &REFUSED)
}

/// The device, and what it does.
struct Edu {
    device: Device,
    registers: Registers,
}

impl Edu {
    fn take() -> Result<Edu, Error> {
        let device = startup::edu().ok_or(Error::NotFound)?;
        let registers = device.registers(0)?;
        let edu = Edu { device, registers };
        // It has no reset, and may be at what the driver before has told it.
        edu.wait()?;
        Ok(edu)
    }

    /// Starts a copy between the device's buffer and memory.
    fn start(&self, memory: u64, count: u32, to_memory: bool) {
        let (source, target) = if to_memory {
            (BUFFER, memory)
        } else {
            (memory, BUFFER)
        };
        self.registers.write_u64(SOURCE, source);
        self.registers.write_u64(TARGET, target);
        self.registers.write_u64(COUNT, count.into());
        let direction = if to_memory { TO_MEMORY } else { 0 };
        self.registers.write_u32(COMMAND, START | direction);
    }

    /// Copies, and waits for the end.
    fn copy(&self, memory: u64, count: u32, to_memory: bool) -> Result<(), Error> {
        self.start(memory, count, to_memory);
        self.wait()
    }

    /// Waits until it does nothing.
    fn wait(&self) -> Result<(), Error> {
        for _ in 0..1000 {
            if self.registers.read_u32(COMMAND) & START == 0 {
                return Ok(());
            }
            sleep(Duration::from_millis(5));
        }
        Err(Error::Timeout)
    }

    /// A page that device and driver share, filled with this byte.
    fn shared(&self, byte: u8) -> Result<Mapping, Error> {
        let block = Block::new(SIZE as usize)?;
        let shared = self.device.map(block, 0..SIZE, Access::Shared);
        let shared = shared.map_err(|refused| refused.error)?;
        self.device
            .copy_in(shared.address(), &[byte; SIZE as usize]);
        Ok(shared)
    }

    /// Fills the device's buffer with this byte, by way of a shared page, which stays.
    fn prepare(&self, byte: u8) -> Result<Mapping, Error> {
        let shared = self.shared(byte)?;
        self.copy(shared.address(), MOST, false)?;
        Ok(shared)
    }

    /// Whether all bytes of a shared page that the device writes are this one.
    fn holds(&self, shared: &Mapping, byte: u8) -> bool {
        let mut bytes = [0; MOST as usize];
        self.device.copy_out(shared.address(), &mut bytes);
        bytes.iter().all(|&b| b == byte)
    }

    fn map(&self, block: Block, access: Access) -> Result<Mapping, Error> {
        let len = block.len() as u32;
        let mapped = self.device.map(block, 0..len, access);
        mapped.map_err(|refused| refused.error)
    }

    fn unmap(&self, mapping: Mapping) -> Result<Block, Error> {
        self.device.unmap(mapping).map_err(|n| n.error)
    }

    /// Whether the last access that was refused is one to this page, and there was one.
    fn was_kept_from(&self, address: u64, write: bool) -> bool {
        let page = address / u64::from(SIZE) * u64::from(SIZE);
        let fault = self.device.fault();
        let good = fault == Some(Fault { page, write });
        if !good {
            println!("{address:#x}, write {write}: {fault:x?}");
        }
        good
    }
}

/// Whether an interrupt is there within this time.
fn arrives(irq: &Irq, milliseconds: u64) -> bool {
    switch_receive! {
        case &*irq => true,
        timeout Duration::from_millis(milliseconds) => false,
    }
}

fn code(good: bool) -> Result<i32, Error> {
    Ok(i32::from(!good))
}

/// A block of whole pages with this byte everywhere.
fn filled(len: usize, byte: u8) -> Result<Block, Error> {
    let mut block = Block::new(len)?;
    for at in (0..len).step_by(8) {
        block.store_u64(at, u64::from_ne_bytes([byte; 8]));
    }
    Ok(block)
}

fn is_filled(block: &Block, byte: u8) -> bool {
    let wanted = u64::from_ne_bytes([byte; 8]);
    (0..block.len())
        .step_by(8)
        .all(|at| block.load_u64(at) == wanted)
}

fn child(attempt: &str) -> Result<i32, Error> {
    let edu = Edu::take()?;
    let device = &edu.device;
    match attempt {
        "load-behind" => {
            let shared = edu.shared(1)?;
            Ok(device.load_u32(shared.address() + u64::from(SIZE)) as i32)
        }
        "load-unaligned" => {
            let shared = edu.shared(1)?;
            Ok(device.load_u32(shared.address() + 2) as i32)
        }
        "load-unshared" => {
            let mapping = edu.map(Block::new(4096)?, Access::Write)?;
            Ok(device.load_u8(mapping.address()).into())
        }
        "store-unmapped" => {
            let shared = edu.shared(1)?;
            let address = shared.address();
            let _block = edu.unmap(shared)?;
            device.store_u64(address, 7);
            Ok(1)
        }
        "copy-behind" => {
            let shared = edu.shared(1)?;
            device.copy_in(shared.address() + 1, &[2; SIZE as usize]);
            Ok(1)
        }
        // It does not master the bus before there is something that it may reach.
        "before" => {
            edu.copy(FOREIGN[2], MOST, true)?;
            code(device.fault().is_none())
        }
        "foreign-write" => {
            let shared = edu.prepare(0xa5)?;
            let mut good = device.fault().is_none();
            for address in FOREIGN {
                edu.copy(address, 64, true)?;
                good &= edu.was_kept_from(address, true);
            }
            code(good && edu.holds(&shared, 0xa5))
        }
        "foreign-read" => {
            let shared = edu.prepare(0)?;
            let mut good = true;
            for address in FOREIGN {
                edu.copy(address, 64, false)?;
                good &= edu.was_kept_from(address, false);
                // What it has got is nothing.
                edu.copy(shared.address(), MOST, true)?;
                good &= edu.holds(&shared, 0);
            }
            code(good)
        }
        "after-unmap" => {
            let _shared = edu.prepare(0xa5)?;
            let mapping = edu.map(filled(8192, 0x11)?, Access::Write)?;
            let address = mapping.address();
            edu.copy(address, MOST, true)?;
            // While this is under way, too.
            edu.start(address + u64::from(SIZE), MOST, true);
            let block = edu.unmap(mapping)?;
            sleep(Duration::from_millis(250));
            let mut good = edu.was_kept_from(address + u64::from(SIZE), true);
            edu.copy(address, 64, true)?;
            good &= edu.was_kept_from(address, true);
            let half = |at: usize| block.load_u64(at);
            good &= half(0) == u64::from_ne_bytes([0xa5; 8]);
            good &= (4096..8192)
                .step_by(8)
                .all(|at| half(at) == u64::from_ne_bytes([0x11; 8]));
            code(good)
        }
        "read-only" => {
            let _shared = edu.prepare(0xa5)?;
            let mapping = edu.map(filled(4096, 0x11)?, Access::Read)?;
            edu.copy(mapping.address(), MOST, true)?;
            let good = edu.was_kept_from(mapping.address(), true);
            code(good && is_filled(&edu.unmap(mapping)?, 0x11))
        }
        "write-only" => {
            let shared = edu.prepare(0)?;
            let mapping = edu.map(filled(4096, 0x11)?, Access::Write)?;
            edu.copy(mapping.address(), MOST, false)?;
            let good = edu.was_kept_from(mapping.address(), false);
            edu.copy(shared.address(), MOST, true)?;
            code(good && edu.holds(&shared, 0))
        }
        // Across the end of what is mapped: no byte behind it.
        "behind" => {
            let _shared = edu.prepare(0xa5)?;
            let mapping = edu.map(filled(4096, 0x11)?, Access::Write)?;
            let end = mapping.address() + u64::from(SIZE);
            edu.copy(end - 64, 128, true)?;
            code(edu.was_kept_from(end, true))
        }
        "refused" => refused(&edu),
        "too-much" => too_much(&edu),
        // A write to where interrupts go is an interrupt: the machine takes it for a stray one.
        "interrupt" => {
            let shared = edu.shared(0)?;
            device.store_u32(shared.address(), 0x3e);
            edu.copy(shared.address(), 4, false)?;
            edu.copy(MESSAGES, 4, true)?;
            code(edu.holds(&edu.shared(3)?, 3))
        }
        "entries" => entries(&edu),
        "old-form" => old_form(&edu),
        // Its pin stays raised, and is never acknowledged: the next driver has its interrupts.
        "raise" => {
            let irq = device.irq()?;
            edu.registers.write_u32(RAISE, 1);
            let good = arrives(&irq, 1000);
            irq.acknowledge();
            // It is still raised.
            code(good && arrives(&irq, 1000))
        }
        "interrupts" => {
            edu.registers
                .write_u32(QUIET, edu.registers.read_u32(CAUSES));
            let irq = device.irq()?;
            irq.acknowledge();
            let mut good = !arrives(&irq, 50);
            for cause in [1, 2, 4] {
                edu.registers.write_u32(RAISE, cause);
                good &= arrives(&irq, 1000) && edu.registers.read_u32(CAUSES) == cause;
                edu.registers.write_u32(QUIET, cause);
                irq.acknowledge();
                good &= !arrives(&irq, 50);
            }
            code(good)
        }
        "die" => {
            let shared = edu.prepare(0xa5)?;
            let mapping = edu.map(Block::new(1 << 20)?, Access::Write)?;
            edu.start(mapping.address(), MOST, true);
            // Nothing is dropped.
            core::mem::forget((edu, shared, mapping));
            sing_sdk::process::exit(0);
        }
        "honest" => {
            let shared = edu.prepare(0x5a)?;
            let mapping = edu.map(filled(8192, 0)?, Access::Write)?;
            edu.copy(mapping.address() + 4096, MOST, true)?;
            let block = edu.unmap(mapping)?;
            let good = (0..8192).step_by(8).all(|at| {
                let byte = if (4096..4096 + MOST as usize).contains(&at) {
                    0x5a
                } else {
                    0
                };
                block.load_u64(at) == u64::from_ne_bytes([byte; 8])
            });
            code(good && edu.holds(&shared, 0x5a) && edu.device.fault().is_none())
        }
        _ => Err(Error::BadArgument),
    }
}

/// Writes a message for processors: to this address behind the first one, this data.
fn send(edu: &Edu, word: &Mapping, address: u64, data: u32) -> Result<(), Error> {
    edu.device.store_u32(word.address(), data);
    edu.copy(word.address(), 4, false)?;
    edu.copy(MESSAGES + address, 4, true)
}

/// Messages that name entries of the table of interrupts: those of others and that of its own line,
/// whose sender is the interrupt controller, and such as there are none. They end nothing, and the
/// device's own interrupts come as before.
fn entries(edu: &Edu) -> Result<i32, Error> {
    let irq = edu.device.irq()?;
    let word = edu.shared(0)?;
    // With the entry's number in the address, and with it in the data.
    send(edu, &word, 1 << 4, 0)?;
    for entry in 1..16 {
        edu.copy(MESSAGES + (entry << 5 | 1 << 4), 4, true)?;
    }
    for entry in [1, 4, 31, 255, 256, 0xffff] {
        send(edu, &word, 1 << 4 | 1 << 3, entry)?;
    }
    code(goes_on(edu, &irq))
}

/// Messages of the form that names vectors, of devices, of the machine and of nobody, likewise.
/// (Exceptions and resets are not tried: QEMU lets this form pass.)
fn old_form(edu: &Edu) -> Result<i32, Error> {
    let irq = edu.device.irq()?;
    let word = edu.shared(0)?;
    for vector in (0x20..0x30).chain([0x3e, 0x7f, 0xe7, 0xff]) {
        send(edu, &word, 0, vector)?;
    }
    code(goes_on(edu, &irq))
}

/// Whether what was recorded is right (machines may record nothing), and the device's interrupt
/// comes when it raises it, and only then.
fn goes_on(edu: &Edu, irq: &Irq) -> bool {
    let fault = edu.device.fault();
    let mut good = fault.is_none_or(|f| (f.page, f.write) == (MESSAGES, true));
    if !good {
        println!("{fault:x?}");
    }
    irq.acknowledge();
    good &= !arrives(irq, 50);
    edu.registers.write_u32(RAISE, 1);
    good &= arrives(irq, 1000);
    edu.registers.write_u32(QUIET, 1);
    irq.acknowledge();
    good && !arrives(irq, 50)
}

/// Blocks that a device must not get; each comes back.
fn refused(edu: &Edu) -> Result<i32, Error> {
    let mut good = true;
    let mut refuse = |block: Block, bytes: core::ops::Range<u32>, access, wanted| {
        let error = edu.device.map(block, bytes.clone(), access).err();
        let refused = error.is_some_and(|r| r.error == wanted);
        if !refused {
            println!("{bytes:?} is not refused");
        }
        good &= refused;
    };
    // On a page with others' blocks.
    refuse(Block::new(64)?, 0..64, Access::Read, Error::Held);
    refuse(Block::new(2048)?, 0..2048, Access::Write, Error::Held);
    // Half of a page, the other half of which is another's.
    let mut first = Block::new(4096)?;
    let second = first.split(2048)?;
    refuse(first, 0..2048, Access::Read, Error::Held);
    refuse(second, 0..2048, Access::Read, Error::Held);
    // Outside, or nothing.
    refuse(Block::new(4096)?, 0..4097, Access::Read, Error::BadArgument);
    refuse(
        Block::new(4096)?,
        4095..u32::MAX,
        Access::Read,
        Error::BadArgument,
    );
    refuse(Block::new(4096)?, 7..7, Access::Read, Error::BadArgument);
    // Too large.
    refuse(
        Block::new(2 << 20)?,
        0..(1 << 20) + 1,
        Access::Read,
        Error::BadArgument,
    );
    // What others can read is not written.
    let mut shared = Block::new(4096)?;
    let _view = shared.share(0..4096)?;
    refuse(shared, 0..4096, Access::Write, Error::BadArgument);
    let mut shared = Block::new(4096)?;
    let _view = shared.share(0..4096)?;
    refuse(shared, 0..4096, Access::Shared, Error::BadArgument);
    code(good)
}

/// As much as the manifest says and no more, and as many as there are places.
fn too_much(edu: &Edu) -> Result<i32, Error> {
    let mut mapped = Vec::new();
    let would_block = |block| {
        let refused = edu.map(block, Access::Read);
        refused.is_err_and(|e| e == Error::WouldBlock)
    };
    mapped.push(edu.map(Block::new(1 << 20)?, Access::Read)?);
    mapped.push(edu.map(Block::new(1 << 20)?, Access::Read)?);
    let mut good = would_block(Block::new(4096)?);
    for mapping in mapped.drain(..) {
        edu.unmap(mapping)?;
    }
    for _ in 0..MAX_MAPPINGS {
        mapped.push(edu.map(Block::new(4096)?, Access::Read)?);
    }
    good &= would_block(Block::new(4096)?);
    code(good)
}
