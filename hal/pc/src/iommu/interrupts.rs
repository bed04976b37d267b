//! The remapping of interrupts (Intel VT-d, chapter 5): a message that a device sends is an
//! interrupt only if it names an entry of this table, and comes from the device that the entry
//! names.
//!
//! So a device that writes wherever its driver tells it to raises no interrupt but its own. Messages
//! of the older form, which say themselves what happens at which processor, are refused: the units
//! do so while the command bit that would let them pass is not set.
//!
//! QEMU's model does less, up to version 11 at least: it lets the older form pass, compares the sender
//! of the messages of MSI-X only, not of those that a device writes otherwise, and up to 8.1 it
//! records nothing of what it has refused.
//!
//! Invariants:
//! - Line `n` has entry `n`; the others are not present. An entry is written once.
//! - All units have the same table, which is never freed.

use super::registers::Unit;
use super::{STATE, State, written};
use crate::acpi::Platform;
use crate::memory::{self, LOW, PAGE, Run};
use crate::messages::Remapped;
use crate::serial::line;
use crate::{apic, interrupts};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::SeqCst;

/// Who sends an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The I/O APIC with registers at this physical address.
    IoApic(u64),
    /// A function with this number.
    Function(u16),
}

/// How a line's interrupt is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// As a message that says all itself.
    Direct,
    /// By this entry of the table.
    By(u16),
}

/// The table, and the numbers by which I/O APICs send.
pub(super) struct Table {
    entries: Run,
    io_apics: Vec<(u64, u16)>,
    extended: bool,
}

/// What a machine lacks for the remapping of interrupts; `None` if nothing.
fn lacking(platform: &Platform, units: &[Unit], io_apics: usize) -> Option<&'static str> {
    if !platform.remaps_interrupts {
        Some("the firmware does not offer it")
    } else if !units.iter().all(Unit::remaps_interrupts) {
        Some("not all units do it")
    } else if apic::is_extended() && !units.iter().all(Unit::has_wide_destinations) {
        Some("the processors' ids are too wide for the units")
    } else if platform.io_apics.is_empty() || io_apics != platform.io_apics.len() {
        Some("the firmware does not say how the I/O APICs are numbered")
    } else {
        None
    }
}

/// Switches the remapping of interrupts on in all units, or in none. `None`, with a line that says
/// why, if it stays off: what devices reach of memory is confined all the same.
pub(super) fn start(platform: &Platform, units: &mut [Unit]) -> Option<Table> {
    let number = |id: u8| platform.io_apic_sources.iter().find(|(i, _)| *i == id);
    let io_apics: Vec<(u64, u16)> = platform
        .io_apics
        .iter()
        .filter_map(|a| Some((a.registers, number(a.id)?.1)))
        .collect();
    if let Some(lacks) = lacking(platform, units, io_apics.len()) {
        line!("machine: interrupts are not remapped: {lacks}");
        return None;
    }
    let Some(entries) = memory::take_run(1, PAGE, LOW) else {
        line!("machine: interrupts are not remapped: memory is short");
        return None;
    };
    let extended = apic::is_extended();
    written(units.iter().any(Unit::is_incoherent), entries.words());
    let table = entries.physical().start;
    let started = units
        .iter_mut()
        .all(|unit| unit.start_interrupts(table, extended));
    if !started {
        line!("machine: interrupts are not remapped: a unit does not begin to");
        units.iter().for_each(Unit::stop_interrupts);
        // One that does not stop either goes on reading its table.
        core::mem::forget(entries);
        return None;
    }
    Some(Table {
        entries,
        io_apics,
        extended,
    })
}

/// Whether a device raises no interrupt but its own.
pub fn are_remapped() -> bool {
    STATE.lock().as_ref().is_some_and(|s| s.table.is_some())
}

/// Lets a line be interrupted by this sender, and by nobody else where interrupts are remapped. How
/// the sender says so; `None` if it is to say nothing, as the units have not confirmed the entry or
/// the sender is not known to them.
pub fn route(line: u32, level: bool, sender: Sender) -> Option<Route> {
    match STATE.lock().as_ref() {
        Some(state) if state.table.is_some() => state.enter(line, level, sender).map(Route::By),
        _ => Some(Route::Direct),
    }
}

impl State {
    fn enter(&self, line: u32, level: bool, sender: Sender) -> Option<u16> {
        let table = self.table.as_ref()?;
        let vector = interrupts::vector(line)?;
        let source = match sender {
            Sender::Function(number) => number,
            Sender::IoApic(at) => table.io_apics.iter().find(|(a, _)| *a == at)?.1,
        };
        let entry = Remapped {
            vector,
            destination: apic::id(),
            extended: table.extended,
            level,
            source,
        };
        let [first, second] = entry.entry();
        let place = line as usize * 2;
        let words = &table.entries.words()[place..place + 2];
        // Not present while it changes.
        words[0].store(0, SeqCst);
        words[1].store(second, SeqCst);
        words[0].store(first, SeqCst);
        written(self.incoherent, words);
        let known = self.units.iter().all(Unit::forget_interrupts);
        u16::try_from(line).ok().filter(|_| known)
    }
}
