//! The controller: its start, what it says of itself, and its queues.

use crate::command::{CREATE_COMPLETION, CREATE_SUBMISSION, Command, IDENTIFY, PAGE};
use crate::queue::Pair;
use core::time::Duration;
use sing_sdk::device::{Device, Irq, Registers};
use sing_sdk::dma::{Access, Mapping};
use sing_sdk::prelude::*;
use sing_sdk::thread::sleep;
use sing_sdk::time::uptime;

/// Registers.
const CAPABILITIES: u32 = 0x00;
const CONFIGURATION: u32 = 0x14;
const STATUS: u32 = 0x1c;
const ADMIN_SIZES: u32 = 0x24;
const ADMIN_COMMANDS: u32 = 0x28;
const ADMIN_ANSWERS: u32 = 0x30;

/// On; commands of 64 bytes, answers of 16; pages of 4096.
const ENABLE: u32 = 1;
const ENTRIES: u32 = 6 << 16 | 4 << 20;
/// Ready; stopped by an error of its own.
const READY: u32 = 1;
const FATAL: u32 = 2;

/// Entries of the admin queues, and at most of the others.
const ADMIN: u16 = 16;
pub const SIZE: u16 = 64;

/// Pages that are shared with the device: four queues, and a page for answers to `IDENTIFY`; then
/// those of the requests.
const QUEUES: u32 = 4;
const ANSWER: u32 = 4;
const FIRST_OF_REQUESTS: u32 = 5;

/// How long a command of the start may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the device says of itself and of its first namespace.
pub struct Facts {
    pub namespace: u32,
    pub sectors: u64,
    /// Log2 of the bytes of a sector.
    pub shift: u32,
    /// The most bytes of a request; `None` for any number.
    pub most: Option<u64>,
    pub read_only: bool,
    /// Whether it has a cache that loses what it holds, and can forget sectors.
    pub flushes: bool,
    pub discards: bool,
}

/// The controller.
pub struct Controller {
    pub device: Device,
    pub registers: Registers,
    pub irq: Irq,
    pub queue: Pair,
    pub facts: Facts,
    shared: Mapping,
}

impl Controller {
    /// Starts the device, with memory shared for requests, of so many pages.
    pub fn start(device: Device, pages: u32) -> Result<Controller, Error> {
        let registers = device.registers(0)?;
        let irq = device.irq()?;
        let capabilities = registers.read_u64(CAPABILITIES);
        // Half seconds; at least one.
        let slow = Duration::from_millis(500) * (capabilities >> 24 & 0xff).max(1) as u32;
        let stride = 4u32 << (capabilities >> 32 & 15);
        let smallest_page = capabilities >> 48 & 15;
        let size = (capabilities & 0xffff).min(u64::from(SIZE) - 1) as u16 + 1;
        if smallest_page != 0 || size < 2 {
            return Err(Error::NotFound);
        }
        // Whatever it was at, before it can reach anything of ours.
        registers.write_u32(CONFIGURATION, 0);
        wait(slow, || registers.read_u32(STATUS) & READY == 0)?;
        let bytes = (FIRST_OF_REQUESTS + pages) * PAGE;
        let block = Block::new(bytes as usize)?;
        let shared = device.map(block, 0..bytes, Access::Shared);
        let shared = shared.map_err(|refused| refused.error)?;
        let page = |i: u32| shared.address() + u64::from(i * PAGE);
        let mut admin = Pair::new(&registers, 0, stride, [page(0), page(1)], ADMIN)?;
        let queue = Pair::new(&registers, 1, stride, [page(2), page(3)], size)?;
        let sizes = u32::from(ADMIN - 1);
        registers.write_u32(ADMIN_SIZES, sizes << 16 | sizes);
        for (register, at) in [(ADMIN_COMMANDS, page(0)), (ADMIN_ANSWERS, page(1))] {
            registers.write_u32(register, at as u32);
            registers.write_u32(register + 4, (at >> 32) as u32);
        }
        registers.write_u32(CONFIGURATION, ENTRIES | ENABLE);
        wait(slow, || registers.read_u32(STATUS) & (READY | FATAL) != 0)?;
        if registers.read_u32(STATUS) & FATAL != 0 {
            return Err(Error::BadState);
        }
        let mut start = Start {
            device: &device,
            registers: &registers,
            admin: &mut admin,
            answer: page(ANSWER),
            number: 0,
        };
        let facts = start.facts()?;
        let sizes = u32::from(size - 1) << 16 | 1;
        start.queue(CREATE_COMPLETION, page(QUEUES - 1), sizes, 0b11)?;
        start.queue(CREATE_SUBMISSION, page(QUEUES - 2), sizes, 1 << 16 | 1)?;
        Ok(Controller {
            device,
            registers,
            irq,
            queue,
            facts,
            shared,
        })
    }

    /// The address of a page of the requests.
    pub fn page(&self, i: u32) -> u64 {
        self.shared.address() + u64::from((FIRST_OF_REQUESTS + i) * PAGE)
    }

    /// Whether it has stopped by an error of its own, or is gone.
    pub fn has_failed(&self) -> bool {
        let status = self.registers.read_u32(STATUS);
        status & FATAL != 0 || status & READY == 0
    }
}

fn wait(most: Duration, done: impl Fn() -> bool) -> Result<(), Error> {
    let end = uptime() + most;
    while !done() {
        if uptime() > end {
            return Err(Error::Timeout);
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Admin commands, one at a time.
struct Start<'a> {
    device: &'a Device,
    registers: &'a Registers,
    admin: &'a mut Pair,
    /// The page for answers.
    answer: u64,
    number: u16,
}

impl Start<'_> {
    fn run(&mut self, command: Command) -> Result<(), Error> {
        self.number += 1;
        let number = self.number;
        self.admin.put(self.device, &Command { number, ..command });
        self.admin.notify(self.registers);
        let end = uptime() + PATIENCE;
        loop {
            if let Some(answer) = self.admin.take(self.device) {
                self.admin.taken(self.registers);
                let done = answer.status == 0 && answer.number == number;
                return if done { Ok(()) } else { Err(Error::BadState) };
            }
            if uptime() > end {
                return Err(Error::Timeout);
            }
            sleep(Duration::from_millis(1));
        }
    }

    fn identify(&mut self, what: u32, namespace: u32) -> Result<(), Error> {
        self.run(Command {
            kind: IDENTIFY,
            namespace,
            data: [self.answer, 0],
            words: [what, 0, 0],
            ..Command::default()
        })
    }

    fn queue(&mut self, kind: u8, at: u64, sizes: u32, flags: u32) -> Result<(), Error> {
        self.run(Command {
            kind,
            data: [at, 0],
            words: [sizes, flags, 0],
            ..Command::default()
        })
    }

    /// What there is.
    fn facts(&mut self) -> Result<Facts, Error> {
        const CONTROLLER: u32 = 1;
        const NAMESPACES: u32 = 2;
        const NAMESPACE: u32 = 0;
        self.identify(CONTROLLER, 0)?;
        let at = |offset: u64| self.answer + offset;
        let largest = u32::from(self.device.load_u8(at(77)));
        let most = (largest > 0).then(|| u64::from(PAGE) << largest.min(32));
        let discards = self.device.load_u16(at(520)) & 1 << 2 != 0;
        let flushes = self.device.load_u8(at(525)) & 1 != 0;
        self.identify(NAMESPACES, 0)?;
        let namespace = self.device.load_u32(self.answer);
        if namespace == 0 {
            return Err(Error::NotFound);
        }
        self.identify(NAMESPACE, namespace)?;
        let at = |offset: u64| self.answer + offset;
        let sectors = self.device.load_u64(at(0));
        let format = u64::from(self.device.load_u8(at(26)) & 15);
        let format = self.device.load_u32(at(128 + 4 * format));
        let shift = format >> 16 & 0xff;
        // No bytes beside those of the sectors, which have a page at most.
        if !(9..=12).contains(&shift) || format & 0xffff != 0 {
            return Err(Error::NotFound);
        }
        Ok(Facts {
            namespace,
            sectors,
            shift,
            most,
            read_only: self.device.load_u8(at(99)) & 1 != 0,
            flushes,
            discards,
        })
    }
}
