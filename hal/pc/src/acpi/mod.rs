//! The firmware's tables (ACPI), read once at the start into plain data ([`Platform`]).
//!
//! The crate `acpi` finds and checks the tables. It works on copies (`Copies`), so that nothing
//! refers to the firmware's memory afterwards, and a table shorter than its type reads as zeros
//! behind its end.

use crate::firmware::entries::{self, RemappingUnit, Scope};
use crate::firmware::root::Root;
use crate::firmware::sleep;
use crate::memory;
use acpi::address::{AddressSpace, GenericAddress};
use acpi::fadt::Fadt;
use acpi::madt::{Madt, MadtEntry};
use acpi::mcfg::Mcfg;
use acpi::sdt::{SdtHeader, Signature};
use acpi::{AcpiHandler, AcpiTable, AcpiTables, PhysicalMapping};
use alloc::vec;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Tables with more bytes than this are taken for invalid.
const LARGEST: usize = 1 << 20;
/// The least size of a copy, in bytes; no type of the crate is larger.
const ROOM: usize = 512;
const HEADER: usize = size_of::<SdtHeader>();

/// The machine, as the tables describe it.
#[derive(Debug, Default)]
pub struct Platform {
    /// APIC ids of the processors that can be used.
    pub processors: Vec<u32>,
    /// I/O APICs.
    pub io_apics: Vec<IoApic>,
    /// ISA lines that do not arrive at the input of the same number, or have another signal.
    pub overrides: Vec<Override>,
    /// Windows onto the configuration space of PCI devices.
    pub pci: Vec<PciWindow>,
    /// DMA remapping units (IOMMUs).
    pub remapping: Vec<RemappingUnit>,
    /// Devices that those serve.
    pub remapped: Vec<Scope>,
    /// Whether those may remap interrupts, and the numbers by which I/O APICs send them: id, then
    /// bus, device and function.
    pub remaps_interrupts: bool,
    pub io_apic_sources: Vec<(u8, u16)>,
    /// Fixed hardware; `None` if there is no such table.
    pub fixed: Option<Fixed>,
}

/// An I/O APIC.
#[derive(Clone, Copy, Debug)]
pub struct IoApic {
    /// Its id.
    pub id: u8,
    /// Physical address of its registers.
    pub registers: u64,
    /// Number of its first input among the inputs of all.
    pub first: u32,
}

/// An ISA line with another input or signal than usual.
#[derive(Clone, Copy, Debug)]
pub struct Override {
    /// Number of the line.
    pub line: u8,
    /// Input at which it arrives.
    pub input: u32,
    /// Whether it is active low.
    pub low: bool,
    /// Whether it is a level, not an edge.
    pub level: bool,
}

/// The memory-mapped PCI configuration space of a range of buses.
#[derive(Clone, Copy, Debug)]
pub struct PciWindow {
    /// Physical address of bus 0's part.
    pub base: u64,
    /// The segment.
    pub segment: u16,
    /// First and last bus.
    pub buses: (u8, u8),
}

/// A register of fixed hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// An I/O port.
    Port(u16),
    /// A physical address.
    Memory(u64),
}

impl Register {
    fn of(address: GenericAddress) -> Option<Register> {
        match address.address_space {
            _ if address.address == 0 => None,
            AddressSpace::SystemIo => u16::try_from(address.address).ok().map(Register::Port),
            AddressSpace::SystemMemory => Some(Register::Memory(address.address)),
            _ => None,
        }
    }

    /// The register `bytes` further on.
    pub fn plus(self, bytes: u8) -> Register {
        match self {
            Register::Port(at) => Register::Port(at.wrapping_add(u16::from(bytes))),
            Register::Memory(at) => Register::Memory(at.wrapping_add(u64::from(bytes))),
        }
    }
}

/// Fixed hardware, as described by the FADT.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    /// The two power-management control registers (PM1a, PM1b); the second is often absent.
    pub control: [Option<Register>; 2],
    /// The two event registers (PM1a, PM1b), each with a status half and an enable half, and the
    /// bytes of a half.
    pub event: [Option<Register>; 2],
    pub event_half: u8,
    /// The sleep control register of hardware-reduced ACPI, which has none of the others.
    pub sleep_control: Option<Register>,
    /// The values for "soft off" (`\_S5`).
    pub soft_off: Option<(u8, u8)>,
    /// Port (SMI command) and value by which the firmware is told to hand over its registers.
    pub hand_over: Option<(u16, u8)>,
    /// The register that resets the machine, and the value to write.
    pub reset: Option<(Register, u8)>,
    /// The power-management timer, and whether it has 32 bits instead of 24.
    pub timer: Option<(Register, bool)>,
    /// The line of the system control interrupt; an ISA line if there is an override for it.
    pub interrupt: u16,
    /// Whether the power button is fixed hardware.
    pub button: bool,
    /// What a PC usually has and this one does not.
    pub missing: Missing,
}

/// Devices of a usual PC that a machine says it lacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Missing {
    /// The real-time clock.
    pub clock: bool,
    /// The keyboard's controller.
    pub keyboard: bool,
}

/// Reads the tables; without a root, or if they are invalid, an empty platform.
pub fn read(root: Option<Root>) -> Platform {
    let mut platform = Platform::default();
    let Some(root) = root else { return platform };
    let revision = if root.wide { 2 } else { 0 };
    // SAFETY: the handler copies from wherever it can, and gives zeros for the rest, which are no
    // table.
    let tables = unsafe { AcpiTables::from_rsdt(Copies, revision, root.address as usize) };
    let Ok(tables) = tables else { return platform };
    if let Ok(table) = tables.find_table::<Madt>() {
        read_madt(&table, &mut platform);
    }
    if let Ok(table) = tables.find_table::<Mcfg>()
        && table.header().length as usize >= size_of::<Mcfg>()
    {
        platform
            .pci
            .extend(table.entries().iter().map(|e| PciWindow {
                base: e.base_address,
                segment: e.pci_segment_group,
                buses: (e.bus_number_start, e.bus_number_end),
            }));
    }
    if let Ok(table) = tables.find_table::<Dmar>() {
        let bytes = bytes_of(&table);
        // After the header: the width of addresses, flags, ten reserved bytes.
        platform.remaps_interrupts = bytes.get(HEADER + 1).is_some_and(|flags| flags & 1 != 0);
        let bytes = bytes.get(HEADER + 12..).unwrap_or(&[]);
        platform
            .io_apic_sources
            .extend(entries::io_apic_sources(bytes));
        platform.remapping.extend(entries::remapping_units(bytes));
        platform.remapped.extend(entries::scopes(bytes));
    }
    platform.fixed = tables
        .find_table::<Fadt>()
        .ok()
        .map(|table| read_fadt(&tables, &table));
    platform
}

fn read_madt(table: &PhysicalMapping<Copies, Madt>, platform: &mut Platform) {
    let least = |kind| match kind {
        0 | 4 => 6,
        1 | 5 => 12,
        2 => 10,
        9 => 16,
        _ => 2,
    };
    let listed = bytes_of(table).get(size_of::<Madt>()..).unwrap_or(&[]);
    if listed.is_empty() || !entries::are_whole(listed, least) {
        return;
    }
    for entry in table.get().entries() {
        match entry {
            MadtEntry::LocalApic(e) if e.flags & 1 != 0 => {
                platform.processors.push(u32::from(e.apic_id));
            }
            MadtEntry::LocalX2Apic(e) if e.flags & 1 != 0 => platform.processors.push(e.x2apic_id),
            MadtEntry::IoApic(e) => platform.io_apics.push(IoApic {
                id: e.io_apic_id,
                registers: u64::from(e.io_apic_address),
                first: e.global_system_interrupt_base,
            }),
            MadtEntry::InterruptSourceOverride(e) if e.bus == 0 => {
                platform.overrides.push(Override {
                    line: e.irq,
                    input: e.global_system_interrupt,
                    // 1 means high or edge, 3 low or level, 0 the bus's own, which is high and edge
                    // for ISA.
                    low: e.flags & 3 == 3,
                    level: e.flags >> 2 & 3 == 3,
                })
            }
            _ => {}
        }
    }
}

fn read_fadt(tables: &AcpiTables<Copies>, fadt: &Fadt) -> Fixed {
    let of = |address: GenericAddress| Register::of(address);
    let optional = |address: Result<Option<GenericAddress>, _>| address.ok().flatten().and_then(of);
    let event = fadt.pm1a_event_block().ok();
    let reduced = fadt.flags;
    let reduced = reduced.system_is_hw_reduced_acpi();
    let soft_off = tables
        .dsdt()
        .into_iter()
        .chain(tables.ssdts())
        .find_map(|t| sleep::soft_off(&copy(t.address, t.length as usize)));
    let flags = fadt.flags;
    let (port, value) = (fadt.smi_cmd_port, fadt.acpi_enable);
    Fixed {
        control: [
            fadt.pm1a_control_block().ok().and_then(of),
            optional(fadt.pm1b_control_block()),
        ],
        event: [event.and_then(of), optional(fadt.pm1b_event_block())],
        event_half: event.map_or(2, |e| (e.bit_width / 16).max(2)),
        sleep_control: optional(fadt.sleep_control_register()).filter(|_| reduced),
        soft_off,
        hand_over: u16::try_from(port)
            .ok()
            .filter(|&p| p != 0 && value != 0)
            .map(|p| (p, value)),
        reset: fadt
            .reset_register()
            .ok()
            .and_then(of)
            .filter(|_| flags.supports_system_reset_via_fadt())
            .map(|r| (r, fadt.reset_value)),
        timer: optional(fadt.pm_timer_block()).map(|r| (r, flags.pm_timer_is_32_bit())),
        interrupt: fadt.sci_interrupt,
        button: !reduced && !flags.power_button_is_control_method(),
        missing: missing(fadt),
    }
}

/// What the table says is missing. Tables before version 2 do not say; in that of a machine with
/// reduced hardware, the flag of the keyboard's controller means nothing.
fn missing(fadt: &Fadt) -> Missing {
    let (flags, revision) = (fadt.iapc_boot_arch, fadt.header().revision);
    let reduced = fadt.flags;
    if revision < 2 {
        return Missing::default();
    }
    Missing {
        clock: flags.use_time_and_alarm_namespace_for_rtc(),
        keyboard: !flags.motherboard_implements_8042() && !reduced.system_is_hw_reduced_acpi(),
    }
}

/// The table of DMA remapping units (DMAR).
#[repr(transparent)]
struct Dmar(SdtHeader);

// SAFETY: the type is a header, which every table begins with.
unsafe impl AcpiTable for Dmar {
    const SIGNATURE: Signature = Signature::DMAR;

    fn header(&self) -> &SdtHeader {
        &self.0
    }
}

/// A table's bytes, header included.
fn bytes_of<T>(table: &PhysicalMapping<Copies, T>) -> &[u8] {
    // SAFETY: the handler has made a copy of so many bytes, which lives as long as the mapping.
    unsafe {
        let at = table.virtual_start().as_ptr().cast::<u8>();
        core::slice::from_raw_parts(at, table.region_length())
    }
}

/// A copy of physical memory, at most [`LARGEST`] bytes; zeros if it cannot be read.
fn copy(at: usize, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size.min(LARGEST)];
    memory::read_tables(at as u64, &mut bytes);
    bytes
}

/// The crate's mapping interface, which returns copies.
#[derive(Clone, Debug)]
struct Copies;

/// Words of the copy for a mapping of `size` bytes.
fn words(size: usize) -> usize {
    size.max(ROOM).div_ceil(8)
}

impl AcpiHandler for Copies {
    unsafe fn map_physical_region<T>(&self, at: usize, size: usize) -> PhysicalMapping<Self, T> {
        let mut bytes = copy(at, size);
        if size == HEADER {
            // The header of every table is read first. The crate trusts the length that it finds
            // there.
            let length = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
            if !(HEADER..=LARGEST).contains(&length) {
                bytes.fill(0);
            }
        }
        let mut copy = vec![0u64; words(size.max(size_of::<T>()))];
        for (word, bytes) in copy.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
        let size = size.max(size_of::<T>());
        let start = NonNull::from(copy.leak()).cast::<T>();
        // SAFETY: the copy is as large as that, aligned to 8 as nothing in a packed table needs it,
        // and nobody else's.
        unsafe { PhysicalMapping::new(at, start, size, size, Copies) }
    }

    fn unmap_physical_region<T>(region: &PhysicalMapping<Self, T>) {
        let words = words(region.mapped_length());
        let start = region.virtual_start().cast::<u64>().as_ptr();
        // SAFETY: `map_physical_region` leaked a vector of so many words, and this is called once
        // for it.
        drop(unsafe { Vec::from_raw_parts(start, words, words) });
    }
}
