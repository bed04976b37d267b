//! From the boot code to the hook that starts the kernel: initialises each part of the HAL, in the
//! order of their dependencies. A machine that lacks something is refused with a message.

use crate::bootinfo::{self, BootInfo, LineError};
use crate::command_line::{Request, WATCH};
use crate::hooks::{HOOKS, Start};
use crate::regions::REACH;
use crate::serial::line;
use crate::{
    acpi, apic, clock, devices, exit, fpu, hal, interrupts, ioapic, iommu, machine_check, memory,
    power, processor, report, serial,
};
use alloc::vec::Vec;
use sing_kernel::hal::LINE_CONSOLE;

core::arch::global_asm!(
    include_str!("boot.s"),
    include_str!("refuse.s"),
    COM1 = const serial::COM1,
    DEBUG_CONSOLE = const exit::DEBUG_CONSOLE,
    DEBUG_EXIT = const exit::DEBUG_EXIT,
    UNSUITABLE = const exit::UNSUITABLE,
    PVH = const bootinfo::PVH,
    MULTIBOOT2 = const bootinfo::MULTIBOOT2,
    STACK_SPAN = const processor::STACK_SPAN,
    stacks = sym processor::STACK_AREA,
    main = sym main,
);

/// With less memory than this (in MiB), a warning is printed: the system may start, but programs
/// may not.
const SCARCE: u64 = 16;

/// The first Rust code, on the boot stack with interrupts off: `info` is the physical address of
/// the loader's information, `protocol` its format ([`bootinfo::PVH`] or [`bootinfo::MULTIBOOT2`]).
extern "sysv64" fn main(info: u64, protocol: u32) -> ! {
    processor::init();
    interrupts::init();
    machine_check::init();
    fpu::init();
    serial::init();
    let physical = |at, len| memory::boot_memory(at, len);
    let boot = BootInfo::read(protocol, info, &physical).unwrap_or_else(|e| match e {
        bootinfo::Error::ImageBeyond => stop(format_args!(
            "the system image lies above {} TiB of memory: have it loaded lower",
            REACH >> 40
        )),
        bootinfo::Error::UnknownLoader | bootinfo::Error::Malformed => stop(format_args!(
            "no boot information ({e:?}): start by PVH or multiboot2"
        )),
    });
    let command_line = boot.command_line().unwrap_or_else(|e| match e {
        LineError::TooLong => stop(format_args!(
            "the command line is longer than {} bytes: shorten it",
            bootinfo::LINE
        )),
        LineError::NotText => stop(format_args!(
            "the command line is no UTF-8: write it in UTF-8 or plain ASCII"
        )),
    });
    let too_little = |_| {
        let found = boot.memory.bytes() >> 20;
        stop(format_args!(
            "too little memory ({found} MiB): give the machine 64 MiB"
        ))
    };
    let memory::Taken { image, unrecorded } = memory::init(&boot).unwrap_or_else(too_little);
    if boot.memory.lost() > 0 {
        let lost = boot.memory.lost() >> 20;
        line!(
            "machine: {lost} MiB of memory are not used: the firmware reports it in too many pieces"
        );
    }
    let beyond = (boot.beyond + unrecorded) >> 20;
    if beyond > 0 {
        line!(
            "machine: {beyond} MiB of memory are not used: they lie above {} TiB, or too far above the rest",
            REACH >> 40
        );
    }
    let mib = (memory::frame_counts().0 * memory::PAGE) >> 20;
    if mib < SCARCE {
        line!(
            "machine: {mib} MiB of memory are left for programs, which may be too little; give the machine 64 MiB"
        );
    }
    let request = Request::parse(command_line);
    if let Some(word) = request.mistake {
        let (least, most) = (WATCH.start(), WATCH.end());
        stop(format_args!(
            "`{word}` on the command line: no time between ticks; write microseconds from {least} to {most}"
        ));
    }
    let platform = acpi::read(boot.root);
    apic::enable();
    let source = clock::init(&platform, request.clock).unwrap_or_else(|_| no_clock(request.clock));
    ioapic::init(&platform);
    // Before lines are connected: how their interrupts are sent depends on it.
    iommu::init(&platform);
    let console = ioapic::isa(&platform, serial::ISA_LINE);
    let polled = request.polled || !ioapic::connect(LINE_CONSOLE, console);
    apic::init(polled);
    if !polled {
        ioapic::unmask(LINE_CONSOLE);
        serial::enable_interrupt();
    }
    power::init(&platform);
    devices::init(&platform, &boot.memory, &request);
    if request.report {
        report::print(&boot, &platform, source);
        if iommu::interrupts::are_remapped() {
            line!("machine: interrupts are remapped");
        }
        devices::print();
    }
    let processors = platform.processors.len();
    if processors > 1 {
        line!("machine: {processors} processors, of which one is used");
    }
    drop(platform);
    serial::set_terminal(request.console);
    hal::init();
    x86_64::instructions::interrupts::enable();

    (HOOKS.start)(Start { request, image })
}

fn no_clock(only: Option<&str>) -> ! {
    let names: Vec<&str> = clock::source_names().collect();
    let names = names.join(", ");
    match only {
        Some(name) => stop(format_args!(
            "the clock source `{name}` of the command line gives no rate here; there are {names}"
        )),
        None => stop(format_args!(
            "no clock: none of {names} gives a rate; give the machine one of these devices"
        )),
    }
}

fn stop(reason: core::fmt::Arguments) -> ! {
    line!("cannot start: {reason}");
    exit::exit(exit::UNSUITABLE)
}
