//! Test of the views by which drivers' code reaches registers.

use crate::probe::{Access, attempt};
use crate::run::{Outcome, check};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_kernel::device::{MOST_DEVICES, MOST_RANGES};
use sing_kernel::hal::Hal;
use sing_pc::Pc;
use sing_pc::inside::{PAGE, hide, make_view, map_device, show};

/// Registers that every machine has: the processor's interrupt controller, and its version.
const REGISTERS: u64 = 0xfee0_0000;
const VERSION: u8 = 0x30;

/// The slot that is used; no machine here has that many devices.
const SLOT: (usize, usize) = (MOST_DEVICES - 1, MOST_RANGES - 1);

/// Where the code below writes what it has read.
static READ: AtomicU64 = AtomicU64::new(0);

pub fn hidden_registers_read_as_ones() -> Outcome {
    let kernels = map_device(REGISTERS, PAGE).ok_or("not mapped")?;
    let at = make_view(SLOT.0, SLOT.1, kernels, PAGE).ok_or("no view")?;
    // mov eax, [rdi + VERSION]; mov rsi, READ; mov [rsi], rax; xor eax, eax; ret
    let mut load: Vec<u8> = [&[0x8b, 0x47, VERSION, 0x48, 0xbe][..]].concat();
    load.extend((&raw const READ as u64).to_le_bytes());
    load.extend([0x48, 0x89, 0x06, 0x31, 0xc0, 0xc3]);
    let load = Pc.load_code(&load).ok_or("the arena is full")?;
    // mov dword [rdi + VERSION], 0; xor eax, eax; ret: nobody can write the version.
    let store = [0xc7, 0x47, VERSION, 0, 0, 0, 0, 0x31, 0xc0, 0xc3];
    let store = Pc.load_code(&store).ok_or("the arena is full")?;
    let read = || {
        READ.store(0, Relaxed);
        let fault = attempt(Access::Call, load, at);
        fault.map_or(Ok(READ.load(Relaxed)), |f| Err(alloc::format!("{f:x?}")))
    };
    // SAFETY: a register that has no effect when it is read.
    let version = unsafe { ((kernels + u64::from(VERSION)) as *const u32).read_volatile() };
    check!(version != u32::MAX, "no register");
    for _ in 0..3 {
        let hidden = read()?;
        check!(hidden == u64::from(u32::MAX), "hidden: {hidden:#x}");
        check!(
            attempt(Access::Call, store, at).is_none(),
            "a store ends its program"
        );
        check!(
            attempt(Access::Read, at, 0).is_some(),
            "the kernel reaches it"
        );
        show(SLOT.0, SLOT.1);
        let shown = read()?;
        check!(
            shown == u64::from(version),
            "shown: {shown:#x}, not {version:#x}"
        );
        check!(attempt(Access::Call, store, at).is_none(), "a store faults");
        hide(SLOT.0, SLOT.1);
    }
    Ok(())
}
