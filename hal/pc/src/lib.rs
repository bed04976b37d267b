//! The PC HAL: x86-64 hardware and virtual machines.
//!
//! Entered by a PVH or multiboot2 loader, it prepares the processor, memory, timer and console, and
//! then passes control through its hooks: to the portable kernel (`main.rs`), which calls back
//! through [`sing_kernel::hal::Hal`], or to the HAL's test in the kernel's place (`selftest/`).
//! `README.md` beside `Cargo.toml` has the command lines.
//!
//! Invariants kept throughout:
//! - Kernel code runs with interrupts enabled on one processor; data shared with an interrupt
//!   handler is atomic, or behind a lock that is only taken with interrupts off.
//! - No memory is both writable and executable, under any address.
//! - The kernel is compiled soft-float: only SIP code uses vector registers, and only an interrupt
//!   of SIP code saves them.
//!
//! For other targets only the modules that need no hardware are built, with their tests.
#![cfg_attr(target_os = "none", no_std)]
#![cfg_attr(
    not(target_os = "none"),
    allow(dead_code, reason = "used by the modules that only a PC has")
)]

#[cfg(target_os = "none")]
extern crate alloc;

mod bootinfo;
mod calendar;
mod command_line;
mod firmware;
mod frame_map;
mod function_reset;
mod guard;
mod messages;
mod overtaken;
mod regions;
mod spaces;
mod virtio_kinds;

#[cfg(target_os = "none")]
mod acpi;
#[cfg(target_os = "none")]
mod apic;
#[cfg(target_os = "none")]
mod clock;
#[cfg(target_os = "none")]
mod devices;
#[cfg(target_os = "none")]
mod entry;
#[cfg(target_os = "none")]
mod exit;
#[cfg(target_os = "none")]
mod faults;
#[cfg(target_os = "none")]
mod fpu;
#[cfg(target_os = "none")]
mod hal;
#[cfg(target_os = "none")]
mod hooks;
#[cfg(target_os = "none")]
pub mod inside;
#[cfg(target_os = "none")]
mod interrupts;
#[cfg(target_os = "none")]
mod ioapic;
#[cfg(target_os = "none")]
mod iommu;
#[cfg(target_os = "none")]
mod machine_check;
#[cfg(target_os = "none")]
mod memory;
#[cfg(target_os = "none")]
mod port;
#[cfg(target_os = "none")]
mod power;
#[cfg(target_os = "none")]
mod processor;
#[cfg(target_os = "none")]
mod report;
#[cfg(target_os = "none")]
mod serial;

pub use command_line::{Request, Word};
#[cfg(target_os = "none")]
pub use hal::Pc;
#[cfg(target_os = "none")]
pub use hooks::{Hooks, Start};
#[cfg(target_os = "none")]
pub use serial::say;
