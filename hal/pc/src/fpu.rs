//! Vector and floating-point registers: enabling them, and the size of their save area.
//!
//! The kernel itself is soft-float, and SIP code keeps nothing in these registers across a call. So
//! they are saved in one place only: at an interrupt of SIP code (`interrupts`), on the interrupted
//! stack.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use raw_cpuid::CpuId;
use x86_64::registers::control::{Cr0, Cr0Flags, Cr4, Cr4Flags};
use x86_64::registers::xcontrol::{XCr0, XCr0Flags};

/// Bytes of the save area, which the interrupt entry aligns to 64. It has room for the XSAVE header
/// even if only `fxsave` is available.
pub static AREA: AtomicU64 = AtomicU64::new(576);
/// The components (XCR0) that `xsave` saves; 0 if the processor has only `fxsave`.
pub static COMPONENTS: AtomicU64 = AtomicU64::new(0);

const AVX512: XCr0Flags = XCr0Flags::OPMASK
    .union(XCr0Flags::ZMM_HI256)
    .union(XCr0Flags::HI16_ZMM);

/// Enables the registers and sets them to their initial values.
pub fn init() {
    let id = CpuId::new();
    // SAFETY: nothing uses the registers yet; the kernel's own code never does.
    unsafe {
        Cr0::update(|c| {
            c.remove(Cr0Flags::EMULATE_COPROCESSOR | Cr0Flags::TASK_SWITCHED);
            c.insert(Cr0Flags::MONITOR_COPROCESSOR);
        });
        Cr4::update(|c| c.insert(Cr4Flags::OSFXSR | Cr4Flags::OSXMMEXCPT_ENABLE));
    }
    if id.get_feature_info().is_some_and(|f| f.has_xsave()) {
        // SAFETY: the processor has XSAVE.
        unsafe { Cr4::update(|c| c.insert(Cr4Flags::OSXSAVE)) };
        let supported = raw_cpuid::cpuid!(0xd, 0).eax;
        let mut wanted = XCr0Flags::X87 | XCr0Flags::SSE;
        for part in [XCr0Flags::AVX, AVX512] {
            // In this order, as AVX-512 requires AVX.
            if u64::from(supported) & part.bits() == part.bits() {
                wanted |= part;
            } else {
                break;
            }
        }
        // SAFETY: a valid combination of components that the processor supports.
        unsafe { XCr0::write(wanted) };
        COMPONENTS.store(wanted.bits(), Relaxed);
        AREA.store(u64::from(raw_cpuid::cpuid!(0xd, 0).ebx).max(576), Relaxed);
    }
    let default: u32 = 0x1f80;
    // SAFETY: sets x87 and SSE to their start values, all exceptions masked.
    unsafe {
        core::arch::asm!("fninit", "ldmxcsr [{}]", in(reg) &raw const default, options(nostack));
    }
}

/// Whether AVX registers are enabled and saved.
pub fn saves_avx() -> bool {
    COMPONENTS.load(Relaxed) & XCr0Flags::AVX.bits() != 0
}

/// Whether AVX-512 registers are enabled and saved.
pub fn saves_avx512() -> bool {
    COMPONENTS.load(Relaxed) & AVX512.bits() == AVX512.bits()
}
