//! The registers of a remapping unit (Intel VT-d, chapter 11), by which it is switched on and told
//! to forget.
//!
//! Once a unit remaps interrupts, it is told to forget by its queue ([`Queue`]) alone.

use super::queue::{Forget, Queue};
use crate::messages::Fault;
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
const INTERRUPTS: u64 = 0xb8;
/// Bytes of registers that are mapped.
const MAPPED: u64 = 0x1000;

/// Bits of command and status.
const TRANSLATE: u32 = 1 << 31;
const SET_ROOT: u32 = 1 << 30;
const WRITE_BUFFER: u32 = 1 << 27;
const QUEUED: u32 = 1 << 26;
const REMAP_INTERRUPTS: u32 = 1 << 25;
const SET_INTERRUPTS: u32 = 1 << 24;
/// Interrupts that do not name an entry of the table pass.
const PASS_OTHERS: u32 = 1 << 23;
/// Errors of the queue, among the faults.
const QUEUE_ERRORS: u32 = 7 << 4;
/// The table of interrupts has 2 to the power of this number plus 1 entries: a page of them.
const INTERRUPTS_SIZE: u64 = 7;
/// Messages have wide destinations.
const WIDE: u64 = 1 << 11;
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
    /// How it is told to forget; `None`: by registers.
    queue: Option<Queue>,
}

impl Unit {
    /// The unit with registers at a physical address. `None` if there is none that can be used.
    pub fn at(physical: u64) -> Option<Unit> {
        let at = memory::map_device(physical, MAPPED)?;
        let mut unit = Unit {
            at,
            capabilities: 0,
            further: 0,
            queue: None,
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
            if self.read32(STATUS) & bit != 0 && !self.command(bit, 0) {
                return false;
            }
        }
        // Faults are looked for, and raise no interrupt.
        self.write32(FAULT_CONTROL, 1 << 31);
        self.write64(ROOT, root);
        let known = self.command(SET_ROOT, SET_ROOT);
        if !known || !self.forget_contexts() || !self.forget(None) {
            return false;
        }
        if !self.command(TRANSLATE, TRANSLATE) {
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
        self.command(TRANSLATE, 0);
    }

    /// Whether it can remap interrupts.
    pub fn remaps_interrupts(&self) -> bool {
        const QUEUE: u64 = 1 << 1;
        const REMAPS: u64 = 1 << 3;
        self.further & (QUEUE | REMAPS) == QUEUE | REMAPS
    }

    /// Whether it can send interrupts to processors whose ids have more than 8 bits.
    pub fn has_wide_destinations(&self) -> bool {
        self.further & 1 << 4 != 0
    }

    /// Remaps interrupts from now on, by the table at this address, and refuses those that do not
    /// name an entry. Whether it has confirmed that.
    pub fn start_interrupts(&mut self, table: u64, wide: bool) -> bool {
        self.queue = Queue::new(self);
        if self.queue.is_none() || !self.command(QUEUED, QUEUED) {
            return false;
        }
        let wide = if wide { WIDE } else { 0 };
        self.write64(INTERRUPTS, table | wide | INTERRUPTS_SIZE);
        self.command(SET_INTERRUPTS, SET_INTERRUPTS)
            && self.forget_interrupts()
            && self.command(PASS_OTHERS, 0)
            && self.command(REMAP_INTERRUPTS, REMAP_INTERRUPTS)
    }

    /// Remaps interrupts no longer.
    pub fn stop_interrupts(&self) {
        self.command(REMAP_INTERRUPTS, 0);
    }

    /// Forgets what it knows of the table of interrupts. Whether it has confirmed that.
    pub fn forget_interrupts(&self) -> bool {
        let queue = self.queue.as_ref();
        queue.is_some_and(|queue| queue.forget(self, Forget::Interrupts))
    }

    /// Whether its queue has come to an error, and goes no further.
    pub fn has_queue_error(&self) -> bool {
        self.read32(FAULTS) & QUEUE_ERRORS != 0
    }

    /// Gives a bit of the command this value. Whether the status has it, too, in time.
    fn command(&self, bit: u32, value: u32) -> bool {
        self.write32(COMMAND, self.read32(STATUS) & KEPT & !bit | value);
        self.wait(|| self.read32(STATUS) & bit == value)
    }

    /// Forgets what it knows of contexts. Whether it has confirmed that.
    pub fn forget_contexts(&self) -> bool {
        if let Some(queue) = &self.queue {
            return queue.forget(self, Forget::Contexts);
        }
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
        if let Some(queue) = &self.queue {
            return queue.forget(self, Forget::Pages(domain, drains));
        }
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
        let at = self.fault_register(i);
        let fault = Fault::of(self.read64(at), self.read64(at + 8))?;
        self.write64(at + 8, THERE);
        Some(fault)
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

    /// Waits a little until this is so; whether it is.
    pub(super) fn wait(&self, done: impl Fn() -> bool) -> bool {
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

    pub(super) fn read64(&self, at: u64) -> u64 {
        debug_assert!(at + 8 <= MAPPED);
        // SAFETY: as for `read32`.
        unsafe { ((self.at + at) as *const u64).read_volatile() }
    }

    fn write32(&self, at: u64, value: u32) {
        debug_assert!(at + 4 <= MAPPED);
        // SAFETY: as for `read32`. What is written only takes memory away from devices, but for the
        // addresses of the root, of the table of interrupts and of the queue, which are this folder's.
        unsafe { ((self.at + at) as *mut u32).write_volatile(value) }
    }

    pub(super) fn write64(&self, at: u64, value: u64) {
        debug_assert!(at + 8 <= MAPPED);
        // SAFETY: as for `write32`.
        unsafe { ((self.at + at) as *mut u64).write_volatile(value) }
    }
}
