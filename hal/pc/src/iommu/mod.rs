//! IOMMUs (Intel VT-d): what devices reach of memory, and which interrupts they raise
//! ([`interrupts`]).
//!
//! When they are switched on, at the start, no device reaches anything. A device gets a domain of its
//! own when its driver maps the first block; the domain's page tables, all made at once, lead to
//! what the kernel has mapped.
//!
//! Invariants:
//! - All units translate by one root table, so it does not matter which of them a device is behind.
//! - A device whose accesses carry another's number (one behind a bridge to conventional PCI), or
//!   that is behind a switch, is not confined ([`confines`] and `pci.rs`). That
//!   functions of one device on the root bus pass no access on to each other is believed, not
//!   looked at; of those behind ports, `acs.rs` asks.
//! - Tables are freed when the units have confirmed that they know them no longer. Tables of a
//!   device for which they have not are kept for good.

pub mod interrupts;
mod queue;
mod registers;

use crate::acpi::Platform;
use crate::firmware::entries::Scope;
use crate::memory::{self, LOW, PAGE, Run};
use crate::serial::line;
use alloc::vec::Vec;
use core::arch::asm;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use registers::Unit;
use sing_arch::lock::SpinLock;
use sing_kernel::device::MOST_DEVICES;
use sing_kernel::hal::{DeviceAccess, Refused, WINDOW_PAGES, WINDOW_TABLES};

/// The most units that are used.
const MOST_UNITS: usize = 8;
/// Entries of a page table.
const ENTRIES: usize = 512;
/// Page tables of the lowest level in a domain.
const LOWEST: usize = WINDOW_PAGES as usize / ENTRIES;
/// Bits of an entry.
const READ: u64 = 1;
const WRITE: u64 = 2;
/// A root or context entry is there.
const PRESENT: u64 = 1;

struct State {
    units: Vec<Unit>,
    /// Whether tables are written back from the processor's caches.
    incoherent: bool,
    /// Levels of page tables: 3 or 4.
    levels: usize,
    root: Run,
    /// The table of interrupts, if they are remapped.
    table: Option<interrupts::Table>,
    /// The context tables, by bus.
    contexts: Vec<(u8, Run)>,
    domains: [Option<Domain>; MOST_DEVICES],
    /// The numbers of devices whose accesses were refused.
    refused: [Option<Refused>; MOST_DEVICES],
}

/// What a device reaches.
struct Domain {
    source: u16,
    tables: Run,
}

static STATE: SpinLock<Option<State>> = SpinLock::new(None);

/// Switches the units on: from now on no device reaches memory. Does nothing if there are none.
pub fn init(platform: &Platform) {
    let listed: Vec<_> = platform.remapping.iter().collect();
    if listed.is_empty() {
        return;
    }
    let units: Vec<Unit> = listed
        .iter()
        .filter(|u| u.segment == 0)
        .filter_map(|u| Unit::at(u.registers))
        .collect();
    if units.len() != listed.len() || units.len() > MOST_UNITS {
        line!("machine: the IOMMU is not used: not all of its units are understood");
        return;
    }
    let depths = units.iter().fold(!0, |all, unit| all & unit.depths());
    let levels = match depths {
        d if d & 2 != 0 => 3,
        d if d & 4 != 0 => 4,
        _ => {
            line!("machine: the IOMMU is not used: its page tables have neither 3 nor 4 levels");
            return;
        }
    };
    let Some(root) = memory::take_run(1, PAGE, LOW) else {
        line!("machine: the IOMMU is not used: memory is short");
        return;
    };
    let address = root.physical().start;
    let mut state = State {
        incoherent: units.iter().any(Unit::is_incoherent),
        units,
        levels,
        root,
        table: None,
        contexts: Vec::new(),
        domains: [const { None }; MOST_DEVICES],
        refused: [None; MOST_DEVICES],
    };
    state.written(state.root.words());
    if state.units.iter().all(|unit| unit.start(address)) {
        state.table = interrupts::start(platform, &mut state.units);
        *STATE.lock() = Some(state);
    } else {
        line!("machine: the IOMMU is not used: it does not start");
        state.units.iter().for_each(Unit::stop);
        // One that does not stop either goes on reading its table.
        core::mem::forget(state);
    }
}

/// Whether a unit confines a device: `source` is its bus, device and function, `port` the number of
/// the bridge on bus 0 that it is directly behind, if it is behind one.
pub fn confines(platform: &Platform, source: u16, port: Option<u8>) -> bool {
    let [bus, number] = source.to_be_bytes();
    let named = |scope: &Scope| match (scope.bridge, port) {
        (true, Some(port)) => scope.bus == 0 && scope.number == port,
        (false, _) => (scope.bus, scope.number) == (bus, number),
        (true, None) => false,
    };
    let rest = platform.remapping.iter().any(|u| u.all && u.segment == 0);
    STATE.lock().is_some() && (rest || platform.remapped.iter().any(named))
}

fn with<R>(f: impl FnOnce(&mut State) -> R) -> Option<R> {
    STATE.lock().as_mut().map(f)
}

/// Gives a device a domain that leads nowhere. False if it has one, or memory is short.
pub fn open(device: usize, source: u16) -> bool {
    with(|state| state.open(device, source).is_some()).unwrap_or(false)
}

/// Lets a page of a device's domain lead to the page at a physical address. False if it has no
/// domain.
pub fn map(device: usize, page: u32, frame: u64, access: DeviceAccess) -> bool {
    let rights = match access {
        DeviceAccess::Read => READ,
        DeviceAccess::Write => WRITE,
        DeviceAccess::Both => READ | WRITE,
    };
    let mapped = with(|state| {
        // A unit may have to be told that what led nowhere leads somewhere: else it stays so.
        let remember = |state: &State| state.units.iter().any(Unit::remembers_absence);
        state.set(device, page..page + 1, frame | rights)
            && (!remember(state) || state.forget(device))
    });
    mapped.unwrap_or(false)
}

/// Lets pages of a device's domain lead nowhere. Whether all units have confirmed that.
pub fn unmap(device: usize, pages: Range<u32>) -> bool {
    let unmapped = with(|state| state.set(device, pages, 0) && state.forget(device));
    unmapped.unwrap_or(false)
}

/// Takes a device's domain away. Whether all units have confirmed that; true if it has none.
pub fn close(device: usize) -> bool {
    with(|state| state.close(device)).unwrap_or(true)
}

/// The last access of a device that was refused since the last call.
pub fn refused(device: usize) -> Option<Refused> {
    with(|state| {
        state.collect();
        state.refused.get_mut(device).and_then(Option::take)
    })
    .flatten()
}

/// Makes words visible to units, which may read past the processor's caches.
fn written(incoherent: bool, words: &[AtomicU64]) {
    if incoherent {
        // Eight words are a line.
        for word in words.iter().step_by(8).chain(words.last()) {
            // SAFETY: writes a line back to memory, and changes nothing.
            unsafe { asm!("clflush [{}]", in(reg) word, options(nostack, preserves_flags)) };
        }
    }
    core::sync::atomic::fence(SeqCst);
}

/// The number of a device's domain.
fn number(device: usize) -> u16 {
    device as u16 + 1
}

impl State {
    /// Makes words of a table visible to the units.
    fn written(&self, words: &[AtomicU64]) {
        written(self.incoherent, words);
    }

    fn write(&self, words: &[AtomicU64], index: usize, value: u64) {
        let word = &words[index..=index];
        word[0].store(value, SeqCst);
        self.written(word);
    }

    /// The context table of a bus, made at first use.
    fn contexts(&mut self, bus: u8) -> Option<usize> {
        if let Some(i) = self.contexts.iter().position(|(b, _)| *b == bus) {
            return Some(i);
        }
        let table = memory::take_run(1, PAGE, u64::MAX)?;
        self.written(table.words());
        let entry = table.physical().start | PRESENT;
        self.write(self.root.words(), usize::from(bus) * 2, entry);
        self.contexts.push((bus, table));
        Some(self.contexts.len() - 1)
    }

    fn open(&mut self, device: usize, source: u16) -> Option<()> {
        if self.domains.get(device)?.is_some() {
            return None;
        }
        let contexts = self.contexts((source >> 8) as u8)?;
        let upper = self.levels - 1;
        let count = (upper + LOWEST) as u64;
        debug_assert!(count <= WINDOW_TABLES);
        let tables = memory::take_run(count, PAGE, u64::MAX)?;
        let at = |table: usize| (tables.physical().start + table as u64 * PAGE) | READ | WRITE;
        let words = tables.words();
        for table in 1..upper {
            words[(table - 1) * ENTRIES].store(at(table), SeqCst);
        }
        for table in 0..LOWEST {
            words[(upper - 1) * ENTRIES + table].store(at(upper + table), SeqCst);
        }
        self.written(words);
        // The second half says how many levels there are, and the domain's number.
        let second = (self.levels - 2) as u64 | u64::from(number(device)) << 8;
        let place = usize::from(source & 0xff) * 2;
        let first = tables.physical().start | PRESENT;
        let context = self.contexts[contexts].1.words();
        self.write(context, place + 1, second);
        self.write(context, place, first);
        self.domains[device] = Some(Domain { source, tables });
        self.refused[device] = None;
        // A unit may remember that there was nothing.
        let known = self.units.iter().all(Unit::forget_contexts) && self.forget(device);
        (known || !self.close(device)).then_some(())
    }

    /// Sets the entries of pages: one that leads to a frame, or none.
    fn set(&self, device: usize, pages: Range<u32>, entry: u64) -> bool {
        let domain = self.domains.get(device).and_then(Option::as_ref);
        let inside = pages.end <= WINDOW_PAGES;
        let Some(domain) = domain.filter(|_| inside) else {
            return false;
        };
        let first = (self.levels - 1) * ENTRIES;
        let entries = first + pages.start as usize..first + pages.end as usize;
        let words = &domain.tables.words()[entries];
        for word in words {
            word.store(entry, SeqCst);
        }
        self.written(words);
        true
    }

    /// Lets all units forget a domain's translations.
    fn forget(&self, device: usize) -> bool {
        let domain = Some(number(device));
        self.units.iter().all(|unit| unit.forget(domain))
    }

    fn close(&mut self, device: usize) -> bool {
        let Some(domain) = self.domains.get(device).and_then(Option::as_ref) else {
            return true;
        };
        let (bus, place) = (domain.source >> 8, usize::from(domain.source & 0xff) * 2);
        let found = self.contexts.iter().find(|(b, _)| u16::from(*b) == bus);
        if let Some((_, table)) = found {
            self.write(table.words(), place, 0);
        }
        let forgotten = self.units.iter().all(Unit::forget_contexts) && self.forget(device);
        self.collect();
        // Otherwise the tables stay, and this is asked again.
        if forgotten {
            self.domains[device] = None;
        }
        forgotten
    }

    /// Takes the faults out of the units' records, looking at each record once.
    fn collect(&mut self) {
        for unit in &self.units {
            for fault in (0..unit.fault_registers()).filter_map(|i| unit.take_fault(i)) {
                let of = |d: &Option<Domain>| d.as_ref().is_some_and(|d| d.source == fault.source);
                if let Some(device) = self.domains.iter().position(of) {
                    self.refused[device] = Some(Refused {
                        page: fault.page,
                        write: fault.write,
                        reason: fault.reason,
                    });
                }
            }
            unit.clear_overflow();
        }
    }
}
