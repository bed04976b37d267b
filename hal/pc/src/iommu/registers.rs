//! The registers of a remapping unit (Intel VT-d, chapter 11), by which it is switched on and told
//! to forget.

use crate::{clock, memory};
use sing_arch::pause;

const CAPABILITIES: u64 = 0x08;
const FURTHER: u64 = 0x10;
const COMMAND: u64 = 0x18;
const STATUS: u64 = 0x1c;
const ROOT: u64 = 0x20;
const CONTEXTS: u64 = 0x28;
const FAULTS: u64 = 0x34;
const FAULT_CONTROL: u64 = 0x38;
const PROTECTED: u64 = 0x64;
/// Bytes of registers that are mapped.
const MAPPED: u64 = 0x1000;

/// Bits of command and status.
const TRANSLATE: u32 = 1 << 31;
const SET_ROOT: u32 = 1 << 30;
const WRITE_BUFFER: u32 = 1 << 27;
const QUEUED: u32 = 1 << 26;
const REMAP_INTERRUPTS: u32 = 1 << 25;
/// The bits of the status that are kept when a command is written; the others are single acts.
const KEPT: u32 = 0x96ff_ffff;

/// How long a unit may take to confirm, in nanoseconds. Nothing else runs meanwhile.
const PATIENCE: u64 = 1_000_000;

/// A remapping unit.
#[derive(Debug)]
pub struct Unit {
    /// Where its registers are mapped.
    at: u64,
    capabilities: u64,
    further: u64,
}

/// An access that was refused.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Bus, device and function of the device.
    pub source: u16,
    /// The page's address.
    pub page: u64,
    /// Whether it was a write.
    pub write: bool,
    /// Why.
    pub reason: u8,
}

impl Unit {
    /// The unit with registers at a physical address. `None` if there is none that can be used.
    pub fn at(physical: u64) -> Option<Unit> {
        let at = memory::map_device(physical, MAPPED)?;
        let mut unit = Unit {
            at,
            capabilities: 0,
            further: 0,
        };
        unit.capabilities = unit.read64(CAPABILITIES);
        unit.further = unit.read64(FURTHER);
        let there = unit.capabilities != 0 && unit.capabilities != u64::MAX;
        let inside = unit.flush_register() + 16 <= MAPPED
            && unit.fault_register(unit.fault_registers()) <= MAPPED;
        // Fewer domains than devices.
        let enough = unit.capabilities & 7 >= 1;
        (there && inside && enough).then_some(unit)
    }

    /// The depths of page tables that it walks: bit 1 for three levels, bit 2 for four.
    pub fn depths(&self) -> u64 {
        self.capabilities >> 8 & 0x1f
    }

    /// Whether it reads tables from memory past the processor's caches.
    pub fn is_incoherent(&self) -> bool {
        self.further & 1 == 0
    }

    /// Translates from now on, by this table. Whether it has confirmed that.
    pub fn start(&self, root: u64) -> bool {
        // Firmware may have left it at work, in a way that is not ours.
        for bit in [TRANSLATE, REMAP_INTERRUPTS, QUEUED] {
            let status = self.read32(STATUS);
            if status & bit != 0 {
                self.write32(COMMAND, status & KEPT & !bit);
                if !self.wait(|| self.read32(STATUS) & bit == 0) {
                    return false;
                }
            }
        }
        // Faults are looked for, and raise no interrupt.
        self.write32(FAULT_CONTROL, 1 << 31);
        self.write64(ROOT, root);
        self.write32(COMMAND, self.read32(STATUS) & KEPT | SET_ROOT);
        let known = self.wait(|| self.read32(STATUS) & SET_ROOT != 0);
        if !known || !self.forget_contexts() || !self.forget(None) {
            return false;
        }
        self.write32(COMMAND, self.read32(STATUS) & KEPT | TRANSLATE);
        if !self.wait(|| self.read32(STATUS) & TRANSLATE != 0) {
            return false;
        }
        // Ranges that the firmware has kept from all devices meanwhile.
        if self.capabilities & 3 << 5 != 0 {
            self.write32(PROTECTED, 0);
        }
        true
    }

    /// Translates no longer.
    pub fn stop(&self) {
        self.write32(COMMAND, self.read32(STATUS) & KEPT & !TRANSLATE);
        self.wait(|| self.read32(STATUS) & TRANSLATE == 0);
    }

    /// Forgets what it knows of contexts. Whether it has confirmed that.
    pub fn forget_contexts(&self) -> bool {
        const GO: u64 = 1 << 63;
        const ALL: u64 = 1 << 61;
        const DONE: u64 = 3 << 59;
        self.write64(CONTEXTS, GO | ALL);
        self.wait(|| self.read64(CONTEXTS) & GO == 0) && self.read64(CONTEXTS) & DONE != 0
    }

    /// Forgets the translations of a domain, or all, after what is under way has ended. Whether it
    /// has confirmed that.
    pub fn forget(&self, domain: Option<u16>) -> bool {
        const GO: u64 = 1 << 63;
        const ALL: u64 = 1 << 60;
        const OF_DOMAIN: u64 = 2 << 60;
        const DONE: u64 = 3 << 57;
        if self.capabilities & 1 << 4 != 0 {
            self.write32(COMMAND, self.read32(STATUS) & KEPT | WRITE_BUFFER);
            if !self.wait(|| self.read32(STATUS) & WRITE_BUFFER == 0) {
                return false;
            }
        }
        let drains = self.capabilities >> 54 & 3;
        let what = match domain {
            Some(domain) => OF_DOMAIN | u64::from(domain) << 32,
            None => ALL,
        };
        let at = self.flush_register() + 8;
        // Writes and reads under way end first, where the unit can see to that: two bits, in the same
        // order here and there.
        self.write64(at, GO | what | drains << 48);
        self.wait(|| self.read64(at) & GO == 0) && self.read64(at) & DONE != 0
    }

    /// Takes the fault out of this record. `None` if there is none.
    pub fn take_fault(&self, i: u64) -> Option<Fault> {
        const THERE: u64 = 1 << 63;
        const READ: u64 = 1 << 62;
        let at = self.fault_register(i);
        let high = self.read64(at + 8);
        (high & THERE != 0).then(|| {
            let page = self.read64(at) & !0xfff;
            self.write64(at + 8, THERE);
            Fault {
                source: high as u16,
                page,
                write: high & READ == 0,
                reason: (high >> 32) as u8,
            }
        })
    }

    /// From now on it records faults again, if there was no room for some.
    pub fn clear_overflow(&self) {
        const OVERFLOW: u32 = 1;
        self.write32(FAULTS, OVERFLOW);
    }

    /// Whether it may remember that an address led nowhere, or has a buffer before it.
    pub fn remembers_absence(&self) -> bool {
        self.capabilities & (1 << 7 | 1 << 4) != 0
    }

    /// How many faults it can record.
    pub fn fault_registers(&self) -> u64 {
        (self.capabilities >> 40 & 0xff) + 1
    }

    fn fault_register(&self, i: u64) -> u64 {
        (self.capabilities >> 24 & 0x3ff) * 16 + i * 16
    }

    fn flush_register(&self) -> u64 {
        (self.further >> 8 & 0x3ff) * 16
    }

    fn wait(&self, done: impl Fn() -> bool) -> bool {
        let end = clock::now().saturating_add(PATIENCE);
        while !done() {
            if clock::now() > end {
                return done();
            }
            pause();
        }
        true
    }

    fn read32(&self, at: u64) -> u32 {
        debug_assert!(at + 4 <= MAPPED);
        // SAFETY: `Unit::at` has mapped the page, uncached, and has found the registers in it.
        unsafe { ((self.at + at) as *const u32).read_volatile() }
    }

    fn read64(&self, at: u64) -> u64 {
        debug_assert!(at + 8 <= MAPPED);
        // SAFETY: as for `read32`.
        unsafe { ((self.at + at) as *const u64).read_volatile() }
    }

    fn write32(&self, at: u64, value: u32) {
        debug_assert!(at + 4 <= MAPPED);
        // SAFETY: as for `read32`. What is written only takes memory away from devices, but for the
        // root's address, which is that of a table of this module.
        unsafe { ((self.at + at) as *mut u32).write_volatile(value) }
    }

    fn write64(&self, at: u64, value: u64) {
        debug_assert!(at + 8 <= MAPPED);
        // SAFETY: as for `write32`.
        unsafe { ((self.at + at) as *mut u64).write_volatile(value) }
    }
}
