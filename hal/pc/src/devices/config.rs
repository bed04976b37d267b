//! The configuration space of PCI functions: by memory where the firmware's tables give a window,
//! else by the two ports.

use crate::acpi::PciWindow;
use crate::function_reset::{COMMAND, MASTER, MEMORY, NO_PIN, PORTS};
use crate::{memory, port};
use core::fmt;
use x86_64::instructions::interrupts::without_interrupts;

const ADDRESS: u16 = 0xcf8;
const DATA: u16 = 0xcfc;

/// In the status above the commands: the function wants to raise its pin.
const WANTS_PIN: u32 = 1 << 19;

/// How a bus's configuration is reached.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// A virtual address, of the bus's first function.
    Memory(u64),
    /// The ports, for the first 256 bytes.
    Ports,
}

impl Way {
    /// The way to a bus.
    pub fn to(bus: u8, windows: &[PciWindow]) -> Option<Way> {
        let covers = |w: &&PciWindow| w.segment == 0 && (w.buses.0..=w.buses.1).contains(&bus);
        match windows.iter().find(covers) {
            Some(w) => {
                let physical = w.base.checked_add(u64::from(bus) << 20)?;
                memory::map_device(physical, 1 << 20).map(Way::Memory)
            }
            // A machine with a window may have no ports, and none may have neither.
            None if windows.is_empty() => Some(Way::Ports),
            None => None,
        }
    }
}

/// A PCI function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    way: Way,
    bus: u8,
    /// Device and function: 5 and 3 bits.
    number: u8,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, function) = (self.number >> 3, self.number & 7);
        write!(f, "/pci/{:02x}/{device:02x}.{function}", self.bus)
    }
}

impl Function {
    /// The function of a bus with this number.
    pub fn new(way: Way, bus: u8, number: u8) -> Function {
        Function { way, bus, number }
    }

    /// The number by which its accesses to memory are known: bus, device and function.
    pub fn source(&self) -> u16 {
        u16::from(self.bus) << 8 | u16::from(self.number)
    }

    /// Reads 32 bits of its configuration, at a multiple of 4 below 4096; all ones where the way
    /// does not lead.
    pub fn read(&self, register: u16) -> u32 {
        match self.way {
            Way::Memory(base) => {
                let at = base + (u64::from(self.number) << 12) + u64::from(register & 0xffc);
                // SAFETY: `Way::to` has mapped the bus's window, uncached.
                unsafe { (at as *const u32).read_volatile() }
            }
            Way::Ports if register > 0xff => u32::MAX,
            Way::Ports => without_interrupts(|| {
                port::write32(ADDRESS, self.address(register));
                port::read32(DATA)
            }),
        }
    }

    /// Writes 32 bits.
    pub fn write(&self, register: u16, value: u32) {
        match self.way {
            Way::Memory(base) => {
                let at = base + (u64::from(self.number) << 12) + u64::from(register & 0xffc);
                // SAFETY: as for `read`. Only this folder writes: it moves no registers of a device
                // (their size is asked for with the device switched off), and lets a device master
                // the bus only as the kernel says.
                unsafe { (at as *mut u32).write_volatile(value) }
            }
            Way::Ports if register > 0xff => {}
            Way::Ports => without_interrupts(|| {
                port::write32(ADDRESS, self.address(register));
                port::write32(DATA, value);
            }),
        }
    }

    fn address(&self, register: u16) -> u32 {
        let place = u32::from(self.bus) << 16 | u32::from(self.number) << 8;
        1 << 31 | place | u32::from(register & 0xfc)
    }

    /// Reads a byte.
    pub fn read8(&self, register: u16) -> u8 {
        (self.read(register) >> (register % 4 * 8)) as u8
    }

    /// Reads 16 bits at an even place.
    pub fn read16(&self, register: u16) -> u16 {
        (self.read(register) >> (register % 4 * 8)) as u16
    }

    /// Changes its commands: the status in the upper half is cleared by ones, and so written as
    /// zeros. Returns them as they were.
    fn command(&self, clear: u32, set: u32) -> u32 {
        // An interrupt may mask the pin.
        without_interrupts(|| {
            let old = self.read(COMMAND) & 0xffff;
            self.write(COMMAND, old & !clear | set);
            // The read also makes sure that the write has arrived.
            self.read(COMMAND);
            old
        })
    }

    /// Calls `f` while it answers at no address.
    pub fn while_off<R>(&self, f: impl FnOnce() -> R) -> R {
        let old = self.command(PORTS | MEMORY | MASTER, 0);
        let result = f();
        self.command(0xffff, old & !MASTER);
        result
    }

    /// Lets it answer, and master the bus if it may.
    pub fn switch_on(&self, masters: bool) {
        let master = if masters { MASTER } else { 0 };
        self.command(MASTER, PORTS | MEMORY | master);
    }

    /// Lets it raise its interrupt pin, or not.
    pub fn let_pin(&self, raises: bool) {
        let (clear, set) = if raises { (NO_PIN, 0) } else { (0, NO_PIN) };
        self.command(clear, set);
    }

    /// Whether its pin can be masked, and so looked at: the bits for that came together. Leaves the
    /// pin masked.
    pub fn can_mask_pin(&self) -> bool {
        self.let_pin(false);
        self.read(COMMAND) & NO_PIN != 0
    }

    /// Masks its pin if it raises it. Whether it did.
    pub fn take_pin(&self) -> bool {
        let raises = self.read(COMMAND) & (WANTS_PIN | NO_PIN) == WANTS_PIN;
        if raises {
            self.let_pin(false);
        }
        raises
    }

    /// Keeps it from mastering the bus.
    pub fn stop_mastering(&self) {
        self.command(MASTER, NO_PIN);
    }
}
