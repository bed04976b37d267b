//! Processor faults: describes each to the fault hook, and carries out the answer.
//!
//! Faults are handled on separate stacks, with interrupts off. A second fault during the handling
//! of one is a defect of the kernel, and fatal.

use crate::hooks::HOOKS;
use crate::serial::line;
use crate::{exit, interrupts, machine_check, memory, overtaken};
use core::arch::naked_asm;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use sing_kernel::fault::{Action, Fault, Kind};
use x86_64::registers::control::Cr2;

/// The registers of the faulting code, as the entries push them.
#[repr(C)]
#[derive(Debug)]
pub struct Frame {
    r15: u64,
    r14: u64,
    r13: u64,
    r12: u64,
    r11: u64,
    r10: u64,
    r9: u64,
    r8: u64,
    rdi: u64,
    rsi: u64,
    rbp: u64,
    rbx: u64,
    rdx: u64,
    rcx: u64,
    rax: u64,
    vector: u64,
    error: u64,
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

const DIVIDE: u64 = 0;
const NON_MASKABLE: u64 = 2;
const UNDEFINED: u64 = 6;
const DOUBLE: u64 = 8;
const PAGE: u64 = 14;
const MACHINE_CHECK: u64 = 18;

/// Error code of a write to a page that is mapped read-only.
const WRITE_DENIED: u64 = 3;

/// Interrupts enabled, all else clear.
const PLAIN_FLAGS: u64 = 0x202;

static HANDLING: AtomicBool = AtomicBool::new(false);

extern "sysv64" fn handle(frame: &mut Frame) {
    let address = if frame.vector == PAGE {
        Cr2::read_raw()
    } else {
        0
    };
    if frame.vector == PAGE
        && frame.error & WRITE_DENIED == WRITE_DENIED
        && !interrupts::is_sip_code(frame.rip)
        && memory::fill_blank(address)
    {
        return;
    }
    if frame.vector == PAGE && memory::is_view(address) && step_over(frame) {
        return;
    }
    let kind = match frame.vector {
        PAGE => Kind::Page,
        UNDEFINED => Kind::Undefined,
        DIVIDE => Kind::Divide,
        // Execution cannot resume after these.
        DOUBLE | NON_MASKABLE => fatal(frame, address),
        MACHINE_CHECK => {
            machine_check::report();
            fatal(frame, address)
        }
        _ => Kind::Other,
    };
    if HANDLING.swap(true, Relaxed) {
        fatal(frame, address);
    }
    let fault = Fault {
        kind,
        pc: frame.rip,
        sp: frame.rsp,
        fp: frame.rbp,
        address,
    };
    let action = (HOOKS.fault)(&fault);
    HANDLING.store(false, Relaxed);
    match action {
        Action::Retry => {}
        Action::Jump { pc, sp, argument } => {
            frame.rip = pc;
            frame.rsp = sp;
            frame.rdi = argument;
            frame.rflags = PLAIN_FLAGS;
        }
        Action::Fatal => fatal(frame, address),
    }
}

/// Ends an access of SIP code to registers that are hidden from it; false if it is none.
fn step_over(frame: &mut Frame) -> bool {
    let at = frame.rip;
    // SAFETY: bytes of the instruction that has faulted, as `decode` reads no others.
    let byte = |i: u64| unsafe { memory::code_byte(at + i) };
    let Some(access) = overtaken::decode(byte) else {
        return false;
    };
    if let Some((number, ones)) = access.loads {
        let register = match number {
            0 => &mut frame.rax,
            1 => &mut frame.rcx,
            2 => &mut frame.rdx,
            3 => &mut frame.rbx,
            5 => &mut frame.rbp,
            6 => &mut frame.rsi,
            7 => &mut frame.rdi,
            8 => &mut frame.r8,
            9 => &mut frame.r9,
            10 => &mut frame.r10,
            11 => &mut frame.r11,
            12 => &mut frame.r12,
            13 => &mut frame.r13,
            14 => &mut frame.r14,
            15 => &mut frame.r15,
            // The stack pointer: no load's.
            _ => return false,
        };
        *register = ones;
    }
    frame.rip += access.len;
    true
}

fn fatal(f: &Frame, address: u64) -> ! {
    let place = if interrupts::is_sip_code(f.rip) {
        "SIP code"
    } else {
        "the kernel"
    };
    line!(
        "fatal fault in {place}: vector {}, error {:#x}, address {address:#x}",
        f.vector,
        f.error
    );
    line!(
        "rip {:016x} rsp {:016x} rbp {:016x} flags {:x}",
        f.rip,
        f.rsp,
        f.rbp,
        f.rflags
    );
    line!(
        "rax {:016x} rbx {:016x} rcx {:016x} rdx {:016x}",
        f.rax,
        f.rbx,
        f.rcx,
        f.rdx
    );
    line!(
        "rsi {:016x} rdi {:016x} r8  {:016x} r9  {:016x}",
        f.rsi,
        f.rdi,
        f.r8,
        f.r9
    );
    line!(
        "r10 {:016x} r11 {:016x} r12 {:016x} r13 {:016x}",
        f.r10,
        f.r11,
        f.r12,
        f.r13
    );
    line!(
        "r14 {:016x} r15 {:016x} cs  {:016x} ss  {:016x}",
        f.r14,
        f.r15,
        f.cs,
        f.ss
    );
    exit::exit(exit::BROKEN)
}

macro_rules! entry {
    ($name:ident, $vector:expr) => {
        #[unsafe(naked)]
        pub unsafe extern "sysv64" fn $name() {
            naked_asm!("push 0", "push {}", "jmp {}", const $vector, sym common)
        }
    };
    ($name:ident, $vector:expr, with_error) => {
        #[unsafe(naked)]
        pub unsafe extern "sysv64" fn $name() {
            naked_asm!("push {}", "jmp {}", const $vector, sym common)
        }
    };
}

entry!(divide, DIVIDE);
entry!(debug, 1);
entry!(non_maskable, NON_MASKABLE);
entry!(breakpoint, 3);
entry!(overflow, 4);
entry!(bound, 5);
entry!(undefined, UNDEFINED);
entry!(no_device, 7);
entry!(double, DOUBLE, with_error);
entry!(task_segment, 10, with_error);
entry!(segment, 11, with_error);
entry!(stack_segment, 12, with_error);
entry!(protection, 13, with_error);
entry!(page, PAGE, with_error);
entry!(x87, 16);
entry!(alignment, 17, with_error);
entry!(machine_check, MACHINE_CHECK);
entry!(vector, 19);

/// Saves the general registers as a [`Frame`] and calls `handle`, which touches no vector register.
#[unsafe(naked)]
unsafe extern "sysv64" fn common() {
    naked_asm!(
        "push rax", "push rcx", "push rdx", "push rbx", "push rbp", "push rsi", "push rdi",
        "push r8", "push r9", "push r10", "push r11", "push r12", "push r13", "push r14", "push r15",
        "cld",
        "mov rdi, rsp",
        "mov rbx, rsp",
        "and rsp, -16",
        "call {handle}",
        "mov rsp, rbx",
        "pop r15", "pop r14", "pop r13", "pop r12", "pop r11", "pop r10", "pop r9", "pop r8",
        "pop rdi", "pop rsi", "pop rbp", "pop rbx", "pop rdx", "pop rcx", "pop rax",
        "add rsp, 16",
        "iretq",
        handle = sym handle,
    )
}
