//! Prints what the machine has, for the option `report`.

use crate::acpi::Platform;
use crate::bootinfo::BootInfo;
use crate::serial::line;
use crate::{clock, memory};

/// Prints what was found; `clock_source` is where the clock's rate comes from.
pub fn print(boot: &BootInfo, platform: &Platform, clock_source: &str) {
    let ranges = boot.memory.iter().count();
    let (frames, _) = memory::frame_counts();
    line!(
        "machine: memory {} MiB in {ranges} ranges",
        (frames * memory::PAGE) >> 20
    );
    line!(
        "machine: clock {} MHz by {clock_source}",
        clock::rate() / 1_000_000
    );
    let tables = if boot.root.is_some() { "found" } else { "none" };
    line!("machine: ACPI tables {tables}");
    line!("machine: processors {:?}", platform.processors);
    for io in &platform.io_apics {
        line!(
            "machine: I/O APIC at {:#x}, inputs from {}",
            io.registers,
            io.first
        );
    }
    for o in &platform.overrides {
        let kind = if o.level { "level" } else { "edge" };
        let sense = if o.low { "low" } else { "high" };
        line!(
            "machine: ISA line {} at input {}, {kind}, active {sense}",
            o.line,
            o.input
        );
    }
    for window in &platform.pci {
        line!(
            "machine: PCI configuration at {:#x}, segment {}, buses {} to {}",
            window.base,
            window.segment,
            window.buses.0,
            window.buses.1
        );
    }
    for unit in &platform.remapping {
        let rest = if unit.all {
            ", all devices that no other unit names"
        } else {
            ""
        };
        line!(
            "machine: DMA remapping at {:#x}, segment {}{rest}",
            unit.registers,
            unit.segment
        );
    }
    let Some(fixed) = &platform.fixed else {
        line!("machine: no fixed hardware (FADT)");
        return;
    };
    let way = match (fixed.soft_off, fixed.sleep_control, fixed.control[0]) {
        (None, ..) => "unknown, as \\_S5 is not declared as a constant",
        (_, Some(_), _) => "by the sleep control register",
        (_, None, Some(_)) => "by the power-management control register",
        (_, None, None) => "unknown, as no register is named",
    };
    line!("machine: power off {way}");
    line!(
        "machine: power button {}",
        if fixed.button {
            "fixed"
        } else {
            "none that is fixed"
        }
    );
    if let Some((register, _)) = fixed.reset {
        line!("machine: reset by {register:x?}");
    }
    if fixed.timer.is_some() {
        line!("machine: power-management timer");
    }
}
