//! The interrupt table, and what happens at an interrupt.
//!
//! An interrupt is handled on the stack of the interrupted code, so that the kernel can switch
//! threads inside the handler, and each thread restores its own registers. For SIP code the whole
//! register file is saved there, vectors included; for kernel code (soft-float) only the general
//! registers, and the kernel only notes the interrupt.

use crate::hooks::HOOKS;
use crate::processor::FaultStack;
use crate::{apic, clock, devices, faults, fpu, memory, power, serial};
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use sing_kernel::hal::{LINE_CONSOLE, LINE_OUTPUT, LINE_POWER, LINE_TIMER};
use x86_64::VirtAddr;
use x86_64::instructions::interrupts;
use x86_64::structures::idt::InterruptDescriptorTable;

/// The number of lines: the kernel has a 32-bit word for them and keeps one bit for itself. Line
/// `n` has vector `FIRST_VECTOR + n`.
pub const LINES: usize = 31;
/// Vector of line 0.
pub const FIRST_VECTOR: u8 = 0x20;
/// The vector of a line; `None` if there is no such line.
pub fn vector(line: u32) -> Option<u8> {
    let line = u8::try_from(line).ok()?;
    (usize::from(line) < LINES).then(|| FIRST_VECTOR + line)
}

/// Vector of the local APIC's timer.
pub const TIMER: u8 = FIRST_VECTOR + LINE_TIMER as u8;
/// The vector number that the entry of all other vectors passes.
const UNKNOWN: u8 = 0;
/// First vector of the legacy interrupt controllers, which are masked but may still raise spurious
/// interrupts.
pub const LEGACY: u8 = 0xe0;
/// Vector of the local APIC's spurious interrupts.
pub const SPURIOUS: u8 = 0xff;

struct Table(UnsafeCell<InterruptDescriptorTable>);
// SAFETY: written by `init` only, before interrupts are enabled.
unsafe impl Sync for Table {}
static TABLE: Table = Table(UnsafeCell::new(InterruptDescriptorTable::new()));

/// Whether an interrupt has arrived since `idle` last returned.
static ARRIVED: AtomicBool = AtomicBool::new(false);

/// Cycle count of the first interrupt that was noted in kernel code and not acted on yet; 0 for
/// none.
static NOTED: AtomicU64 = AtomicU64::new(0);

/// How long the oldest noted interrupt has been waiting, in nanoseconds, and clears the note; 0 if
/// there is none.
pub fn held() -> u64 {
    match NOTED.swap(0, SeqCst) {
        0 => 0,
        since => clock::ticks_to_nanoseconds(sing_arch::cycles().wrapping_sub(since)).max(1),
    }
}

/// Fills and loads the table.
pub fn init() {
    // SAFETY: called once, at the start, on the only processor: nothing else refers to the table.
    let table: &'static mut InterruptDescriptorTable = unsafe { &mut *TABLE.0.get() };
    let address = |f: unsafe extern "sysv64" fn()| VirtAddr::new(f as *const () as u64);
    macro_rules! fault {
        ($($field:ident $entry:ident $stack:ident),* $(,)?) => { $(
            // SAFETY: the entry is one for this vector (with or without an error code), and the
            // stack is the table's own.
            unsafe {
                table
                    .$field
                    .set_handler_addr(address(faults::$entry))
                    .set_stack_index(FaultStack::$stack.table_index());
            }
        )* };
    }
    fault! {
        divide_error divide OtherFault,
        debug debug OtherFault,
        non_maskable_interrupt non_maskable NonMaskable,
        breakpoint breakpoint OtherFault,
        overflow overflow OtherFault,
        bound_range_exceeded bound OtherFault,
        invalid_opcode undefined OtherFault,
        device_not_available no_device OtherFault,
        double_fault double DoubleFault,
        invalid_tss task_segment OtherFault,
        segment_not_present segment OtherFault,
        stack_segment_fault stack_segment OtherFault,
        general_protection_fault protection OtherFault,
        page_fault page PageFault,
        x87_floating_point x87 OtherFault,
        alignment_check alignment OtherFault,
        machine_check machine_check MachineCheck,
        simd_floating_point vector OtherFault,
    }
    for vector in 32..=255u8 {
        let entry = match LINE_ENTRIES.get(usize::from(vector - FIRST_VECTOR)) {
            Some(entry) => *entry,
            None => line::<UNKNOWN>,
        };
        // SAFETY: the entries save and restore what they interrupt and end in `iretq`.
        unsafe { table[vector].set_handler_addr(address(entry)) };
    }
    table.load();
}

/// Waits for an interrupt, unless one has arrived since the last call.
pub fn idle() {
    interrupts::disable();
    apic::forget_reminder();
    if ARRIVED.swap(false, SeqCst) {
        interrupts::enable();
    } else {
        // The processor takes no interrupt between the two instructions, so none is missed.
        interrupts::enable_and_hlt();
        ARRIVED.store(false, SeqCst);
    }
}

/// Whether SIP code lies at this address.
pub fn is_sip_code(pc: u64) -> bool {
    memory::CODE_ARENA.contains(&pc)
}

/// Handles an interrupt of SIP code (`in_sip`) or of kernel code. Called by the entries with
/// interrupts off.
extern "sysv64" fn dispatch(vector: u64, in_sip: bool) {
    let line = match vector as u8 {
        UNKNOWN => {
            // An unknown interrupt left in service would block all of lower priority. The
            // controller's own spurious interrupts are not in service, but a device may raise the
            // same vector.
            if apic::is_serving() {
                apic::end_of_interrupt();
            }
            return;
        }
        vector => u32::from(vector - FIRST_VECTOR),
    };
    let if_so = |so: bool, line: u32| u32::from(so) << line;
    // What is to be reported, one bit for each line.
    let (timer, mut others) = match line {
        LINE_TIMER => {
            let (due, typed) = apic::timer_interrupt();
            devices::tick();
            (due, if_so(typed, LINE_CONSOLE))
        }
        LINE_CONSOLE => (false, if_so(serial::receive(), line)),
        LINE_POWER => (false, if_so(power::button_pressed(), line)),
        // The device stays active until its driver has served it; the driver then unmasks the line.
        _ => (false, devices::arrived(line)),
    };
    // Before the kernel is told, as that call may switch threads and return much later.
    apic::end_of_interrupt();
    ARRIVED.store(true, SeqCst);
    // Only the last call may switch threads: a switch would delay the others until this thread runs
    // again.
    if serial::has_room_again() {
        report(LINE_OUTPUT, in_sip && !timer && others == 0);
    }
    while others != 0 {
        let line = others.trailing_zeros();
        others &= others - 1;
        report(line, in_sip && !timer && others == 0);
    }
    if timer {
        report(LINE_TIMER, in_sip);
    }
}

/// Reports an interrupt to the hook. With interrupts off.
fn report(line: u32, may_switch: bool) {
    if !may_switch {
        // The time of the first one that the kernel has not acted on. Never 0, which means none.
        let _ = NOTED.compare_exchange(0, sing_arch::cycles().max(1), SeqCst, SeqCst);
    }
    if may_switch {
        // The thread that runs next expects interrupts enabled, as all kernel code does.
        interrupts::enable();
    }
    (HOOKS.interrupt)(line, may_switch);
    interrupts::disable();
    if !may_switch {
        apic::remind();
    }
}

macro_rules! line_entries {
    ($($line:literal)*) => { [$(line::<{ FIRST_VECTOR + $line }>),*] };
}

/// The entries of the lines.
static LINE_ENTRIES: [unsafe extern "sysv64" fn(); LINES] = line_entries!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
);

#[unsafe(naked)]
unsafe extern "sysv64" fn line<const VECTOR: u8>() {
    naked_asm!("push {vector}", "jmp {common}", vector = const VECTOR, common = sym common)
}

/// Saves the registers (vectors only for SIP code), and calls `dispatch`.
#[unsafe(naked)]
unsafe extern "sysv64" fn common() {
    naked_asm!(
        "push rax", "push rcx", "push rdx", "push rbx", "push rbp", "push rsi", "push rdi",
        "push r8", "push r9", "push r10", "push r11", "push r12", "push r13", "push r14", "push r15",
        "cld",
        "mov rbx, rsp",                         // kept by what is called, across switches too
        // For debuggers: from here on, the interrupted code's registers lie behind `rbx`.
        ".cfi_startproc",
        ".cfi_def_cfa rbx, 168",
        ".cfi_offset r15, -168", ".cfi_offset r14, -160", ".cfi_offset r13, -152",
        ".cfi_offset r12, -144", ".cfi_offset r11, -136", ".cfi_offset r10, -128",
        ".cfi_offset r9, -120", ".cfi_offset r8, -112", ".cfi_offset rdi, -104",
        ".cfi_offset rsi, -96", ".cfi_offset rbp, -88", ".cfi_offset rbx, -80",
        ".cfi_offset rdx, -72", ".cfi_offset rcx, -64", ".cfi_offset rax, -56",
        ".cfi_offset rsp, -16",
        // The address is `[rbx + 128] + 1`: debuggers take a caller's for that behind a call, and look one lower
        // for its line. What says that this is none is not in this form of the description.
        ".cfi_escape 0x16, 0x10, 0x06, 0x73, 0x80, 0x01, 0x06, 0x23, 0x01",
        "mov rdi, [rbx + 120]",                 // vector
        "mov rax, [rbx + 128]",                 // interrupted instruction
        "mov rcx, {arena}",
        "sub rax, rcx",
        "cmp rax, {arena_size}",
        "jae 4f",

        "sub rsp, [rip + {area}]",
        "and rsp, -64",
        "xor eax, eax",                         // xrstor wants the header's unused part zero
        "mov [rsp + 512], rax", "mov [rsp + 520], rax", "mov [rsp + 528], rax", "mov [rsp + 536], rax",
        "mov [rsp + 544], rax", "mov [rsp + 552], rax", "mov [rsp + 560], rax", "mov [rsp + 568], rax",
        "mov esi, 1",
        "cmp qword ptr [rip + {components}], 0",
        "je 2f",
        "mov eax, -1",
        "mov edx, eax",
        "xsave64 [rsp]",
        "call {dispatch}",
        "mov eax, -1",
        "mov edx, eax",
        "xrstor64 [rsp]",
        "jmp 5f",
        "2:",
        "fxsave64 [rsp]",
        "call {dispatch}",
        "fxrstor64 [rsp]",
        "jmp 5f",

        "4:",
        "and rsp, -16",
        "xor esi, esi",
        "call {dispatch}",

        "5:",
        "mov rsp, rbx",
        ".cfi_endproc",
        "pop r15", "pop r14", "pop r13", "pop r12", "pop r11", "pop r10", "pop r9", "pop r8",
        "pop rdi", "pop rsi", "pop rbp", "pop rbx", "pop rdx", "pop rcx", "pop rax",
        "add rsp, 8",
        "iretq",
        arena = const memory::CODE_ARENA.start,
        arena_size = const memory::CODE_ARENA.end - memory::CODE_ARENA.start,
        area = sym fpu::AREA,
        components = sym fpu::COMPONENTS,
        dispatch = sym dispatch,
    )
}
