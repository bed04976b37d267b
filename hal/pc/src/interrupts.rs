//! The interrupt table, and what happens at an interrupt of the timer or the console.
//!
//! An interrupt is handled on the stack of what it interrupted, so that the kernel can switch threads inside
//! the handler and each finds its own registers again. In SIP code the whole register file is saved there,
//! vectors included; in kernel code (soft-float) only the general registers, and the kernel only takes note.

use crate::processor::Use;
use crate::{apic, faults, fpu, memory, selftest, serial};
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use sing_kernel::hal::{LINE_CONSOLE, LINE_TIMER};
use x86_64::VirtAddr;
use x86_64::instructions::interrupts;
use x86_64::structures::idt::InterruptDescriptorTable;

/// Vector of the local APIC's timer.
pub const TIMER: u8 = 0x20;
/// Vector of the console.
pub const CONSOLE: u8 = 0x21;
/// First vector of the old interrupt controllers, which are masked but may still raise spurious ones.
pub const LEGACY: u8 = 0xe0;
/// Vector of the local APIC's spurious interrupts.
pub const SPURIOUS: u8 = 0xff;

struct Table(UnsafeCell<InterruptDescriptorTable>);
// SAFETY: written by `init` only, before interrupts are enabled.
unsafe impl Sync for Table {}
static TABLE: Table = Table(UnsafeCell::new(InterruptDescriptorTable::new()));

/// Whether an interrupt has arrived since `idle` last returned.
static ARRIVED: AtomicBool = AtomicBool::new(false);

/// Fills and loads the table.
pub fn init() {
    // SAFETY: called once, at the start, on the only processor: nothing else refers to the table.
    let table: &'static mut InterruptDescriptorTable = unsafe { &mut *TABLE.0.get() };
    let address = |f: unsafe extern "sysv64" fn()| VirtAddr::new(f as *const () as u64);
    macro_rules! fault {
        ($($field:ident $entry:ident $stack:ident),* $(,)?) => { $(
            // SAFETY: the entry is one for this vector (with or without an error code), and the stack is the
            // table's own.
            unsafe {
                table
                    .$field
                    .set_handler_addr(address(faults::$entry))
                    .set_stack_index(Use::$stack.table_index());
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
        machine_check machine_check NonMaskable,
        simd_floating_point vector OtherFault,
    }
    for vector in 32..=255u8 {
        let entry = match vector {
            TIMER => timer,
            CONSOLE => console,
            _ => spurious,
        };
        // SAFETY: the entries save and restore what they interrupt and end in `iretq`.
        unsafe { table[vector].set_handler_addr(address(entry)) };
    }
    table.load();
}

/// Waits for an interrupt, if none has arrived since this was called last.
pub fn idle() {
    interrupts::disable();
    apic::forget_reminder();
    if ARRIVED.swap(false, SeqCst) {
        interrupts::enable();
    } else {
        // The processor takes no interrupt between the two instructions: none can slip by.
        interrupts::enable_and_hlt();
        ARRIVED.store(false, SeqCst);
    }
}

/// Whether SIP code lies at this address.
pub fn is_sip_code(pc: u64) -> bool {
    memory::CODE_ARENA.contains(&pc)
}

/// What the entries call, with interrupts off.
extern "sysv64" fn dispatch(vector: u64, in_sip: bool) {
    let (timer, console) = match vector as u8 {
        TIMER => apic::timer_interrupt(),
        _ => (false, serial::receive()),
    };
    // Before the kernel hears of it: this call may return much later.
    apic::end_of_interrupt();
    ARRIVED.store(true, SeqCst);
    // A call that may switch comes last: it would keep the other back until this thread runs again.
    if console {
        report(LINE_CONSOLE, in_sip && !timer);
    }
    if timer {
        report(LINE_TIMER, in_sip);
    }
}

/// Lets the kernel, or the test in its place, know. With interrupts off.
fn report(line: u32, may_switch: bool) {
    if may_switch {
        // The thread that runs next expects interrupts enabled, as all kernel code does.
        interrupts::enable();
    }
    if selftest::is_running() {
        selftest::arrive(line, may_switch);
    } else {
        sing_kernel::interrupt::arrive(line, may_switch);
    }
    interrupts::disable();
    if line == LINE_TIMER && !may_switch {
        apic::remind();
    }
}

#[unsafe(naked)]
unsafe extern "sysv64" fn timer() {
    naked_asm!("push {vector}", "jmp {common}", vector = const TIMER, common = sym common)
}

#[unsafe(naked)]
unsafe extern "sysv64" fn console() {
    naked_asm!("push {vector}", "jmp {common}", vector = const CONSOLE, common = sym common)
}

#[unsafe(naked)]
unsafe extern "sysv64" fn spurious() {
    naked_asm!("iretq")
}

/// Saves the registers, the vectors only where SIP code was interrupted, and calls `dispatch`.
#[unsafe(naked)]
unsafe extern "sysv64" fn common() {
    naked_asm!(
        "push rax", "push rcx", "push rdx", "push rbx", "push rbp", "push rsi", "push rdi",
        "push r8", "push r9", "push r10", "push r11", "push r12", "push r13", "push r14", "push r15",
        "cld",
        "mov rbx, rsp",                         // kept by what is called, across switches too
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
