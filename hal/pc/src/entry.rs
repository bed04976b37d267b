//! From the boot code to the kernel.

use crate::bootinfo::{self, BootInfo};
use crate::command_line::Request;
use crate::serial::line;
use crate::{apic, clock, exit, fpu, hal, interrupts, memory, processor, selftest, serial};
use alloc::string::String;
use alloc::vec::Vec;

core::arch::global_asm!(
    include_str!("boot.s"),
    PVH = const bootinfo::PVH,
    MULTIBOOT2 = const bootinfo::MULTIBOOT2,
    STACK_SPAN = const processor::STACK_SPAN,
    stacks = sym processor::STACK_AREA,
    main = sym main,
);

/// First Rust code, on the boot stack with interrupts off: `info` is the loader's information, `protocol` which loader
/// it was.
extern "sysv64" fn main(info: u64, protocol: u32) -> ! {
    processor::init();
    interrupts::init();
    fpu::init();
    serial::init();
    let physical = |at, len| memory::boot_memory(at, len);
    let boot = BootInfo::read(protocol, info, &physical).unwrap_or_else(|e| {
        stop(format_args!(
            "no boot information ({e:?}): start by PVH or multiboot2"
        ))
    });
    let image = memory::init(&boot)
        .unwrap_or_else(|_| stop(format_args!("too little memory: give the machine 64 MiB")));
    let request = Request::parse(boot.command_line());
    if clock::init().is_err() {
        stop(format_args!(
            "no clock: neither the processor nor an interval timer gives a rate"
        ));
    }
    apic::init(request.polled);
    hal::init(request.console);
    x86_64::instructions::interrupts::enable();

    if let Some(which) = request.selftest {
        selftest::run(which);
    }
    let Some(image) = image else {
        stop(format_args!(
            "no system image: pass one with -initrd to QEMU, or with module2 in GRUB"
        ))
    };
    let args: Vec<String> = request.words().map(|w| w.chars().collect()).collect();
    sing_kernel::boot(&hal::Pc, sing_kernel::Options { args }, image)
}

fn stop(reason: core::fmt::Arguments) -> ! {
    line!("cannot start: {reason}");
    exit::exit(exit::NO_IMAGE)
}
