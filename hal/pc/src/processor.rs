//! The processor: its features, segments, stacks and control registers.

use core::cell::UnsafeCell;
use raw_cpuid::CpuId;
use x86_64::VirtAddr;
use x86_64::instructions::tables::{lidt, load_tss};
use x86_64::registers::control::{Cr0, Cr0Flags, Cr4, Cr4Flags};
use x86_64::registers::segmentation::{CS, DS, ES, SS, Segment};
use x86_64::structures::DescriptorTablePointer;
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable};
use x86_64::structures::tss::TaskStateSegment;

/// Bytes of a stack, and of the guard page below it, which is never mapped.
pub const STACK: usize = 128 * 1024;
const GUARD: usize = 4096;
/// Bytes from one stack to the next.
pub const STACK_SPAN: usize = STACK + GUARD;

/// A stack above its guard page.
#[repr(C, align(4096))]
pub struct Stack {
    guard: [u8; GUARD],
    body: UnsafeCell<[u8; STACK]>,
}

// SAFETY: the processor alone uses the bytes, as the stack they are.
unsafe impl Sync for Stack {}

/// The stacks that the processor switches to for faults, as the faulting code's stack may be the
/// cause.
#[derive(Clone, Copy)]
#[repr(u16)]
pub enum FaultStack {
    PageFault = 1,
    OtherFault,
    DoubleFault,
    NonMaskable,
    MachineCheck,
}
const STACKS: usize = 6;

/// The stacks; the first one is the boot stack, on which the kernel's idle context runs.
pub static STACK_AREA: [Stack; STACKS] = [const {
    Stack {
        guard: [0; GUARD],
        body: UnsafeCell::new([0; STACK]),
    }
}; STACKS];

impl FaultStack {
    /// Number of this stack in the interrupt stack table.
    pub fn table_index(self) -> u16 {
        self as u16 - 1
    }

    fn top(self) -> VirtAddr {
        VirtAddr::from_ptr(&raw const STACK_AREA[self as usize]) + STACK_SPAN as u64
    }
}

/// Addresses of the guard pages.
pub fn guards() -> impl Iterator<Item = u64> {
    STACK_AREA.iter().map(|s| s.guard.as_ptr() as u64)
}

/// The tables that the processor reads.
struct Tables {
    segments: UnsafeCell<GlobalDescriptorTable>,
    task: UnsafeCell<TaskStateSegment>,
}

// SAFETY: written by `init` only, before anything else runs.
unsafe impl Sync for Tables {}

static TABLES: Tables = Tables {
    segments: UnsafeCell::new(GlobalDescriptorTable::new()),
    task: UnsafeCell::new(TaskStateSegment::new()),
};

/// Loads segments and the stacks for faults, and enables the processor's protections that the
/// kernel can use.
pub fn init() {
    // SAFETY: called once, at the start, on the only processor: nothing else refers to the tables.
    let (segments, task) = unsafe { (&mut *TABLES.segments.get(), &mut *TABLES.task.get()) };
    for stack in [
        FaultStack::PageFault,
        FaultStack::OtherFault,
        FaultStack::DoubleFault,
        FaultStack::NonMaskable,
        FaultStack::MachineCheck,
    ] {
        task.interrupt_stack_table[usize::from(stack.table_index())] = stack.top();
    }
    let code = segments.append(Descriptor::kernel_code_segment());
    let data = segments.append(Descriptor::kernel_data_segment());
    // SAFETY: the static task segment outlives everything, and is not written after this function.
    let task = segments.append(unsafe { Descriptor::tss_segment_unchecked(task) });
    // SAFETY: the table is static, and the selectors are those that were appended to it.
    unsafe {
        segments.load_unsafe();
        CS::set_reg(code);
        SS::set_reg(data);
        DS::set_reg(data);
        ES::set_reg(data);
        load_tss(task);
    }
    let features = CpuId::new().get_extended_feature_info();
    // SAFETY: write protection and numeric errors are what the kernel's code assumes; the others
    // only forbid what the kernel does not do: run or touch pages of a less privileged mode, of
    // which there are none.
    unsafe {
        Cr0::update(|c| c.insert(Cr0Flags::WRITE_PROTECT | Cr0Flags::NUMERIC_ERROR));
        Cr4::update(|c| {
            if let Some(f) = &features {
                c.set(Cr4Flags::SUPERVISOR_MODE_EXECUTION_PROTECTION, f.has_smep());
                c.set(Cr4Flags::SUPERVISOR_MODE_ACCESS_PREVENTION, f.has_smap());
                c.set(Cr4Flags::USER_MODE_INSTRUCTION_PREVENTION, f.has_umip());
            }
        });
    }
}

/// Whether the processor is virtual: a hypervisor or emulator runs it.
pub fn is_virtual() -> bool {
    CpuId::new()
        .get_feature_info()
        .is_some_and(|f| f.has_hypervisor())
}

/// Whether the processor has a feature, by the names that compiled code uses. Vector extensions
/// count only if their registers are enabled and saved (`fpu`).
pub fn has_feature(name: &str) -> bool {
    let id = CpuId::new();
    let Some(basic) = id.get_feature_info() else {
        return false;
    };
    let extended = id.get_extended_feature_info();
    let amd = id.get_extended_processor_and_feature_identifiers();
    let ext = |f: fn(&raw_cpuid::ExtendedFeatures) -> bool| extended.as_ref().is_some_and(f);
    let avx = basic.has_avx() && crate::fpu::saves_avx();
    let avx512 = avx && crate::fpu::saves_avx512();
    match name {
        "sse" => basic.has_sse(),
        "sse2" => basic.has_sse2(),
        "sse3" => basic.has_sse3(),
        "ssse3" => basic.has_ssse3(),
        "sse4.1" | "sse4_1" | "sse41" => basic.has_sse41(),
        "sse4.2" | "sse4_2" | "sse42" => basic.has_sse42(),
        "popcnt" => basic.has_popcnt(),
        "cx16" | "cmpxchg16b" => basic.has_cmpxchg16b(),
        "lzcnt" | "abm" => amd.is_some_and(|f| f.has_lzcnt()),
        "bmi1" => ext(raw_cpuid::ExtendedFeatures::has_bmi1),
        "bmi2" => ext(raw_cpuid::ExtendedFeatures::has_bmi2),
        "avx" => avx,
        "fma" => avx && basic.has_fma(),
        "avx2" => avx && ext(raw_cpuid::ExtendedFeatures::has_avx2),
        "avx512f" => avx512 && ext(raw_cpuid::ExtendedFeatures::has_avx512f),
        "avx512dq" => avx512 && ext(raw_cpuid::ExtendedFeatures::has_avx512dq),
        "avx512vl" => avx512 && ext(raw_cpuid::ExtendedFeatures::has_avx512vl),
        "avx512bitalg" => avx512 && ext(raw_cpuid::ExtendedFeatures::has_avx512bitalg),
        "avx512vbmi" => avx512 && ext(raw_cpuid::ExtendedFeatures::has_avx512vbmi),
        _ => false,
    }
}

/// Resets the processor by a fault without a handler.
pub fn triple_fault() {
    let none = DescriptorTablePointer {
        limit: 0,
        base: VirtAddr::zero(),
    };
    // SAFETY: this is the end: a fault that no table handles resets the processor, which is what is
    // wanted.
    unsafe {
        lidt(&none);
        core::arch::asm!("ud2");
    }
}
