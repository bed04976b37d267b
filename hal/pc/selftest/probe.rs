//! Performs accesses that should fault, and survives them: the test's own fault handler.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_arch::lock::SpinLock;
use sing_kernel::fault::{Action, Fault};
use sing_pc::inside::{PAGE, commit};

/// The address at which execution continues after a fault; 0 if a fault is fatal.
static LANDING: AtomicU64 = AtomicU64::new(0);
static LANDING_STACK: AtomicU64 = AtomicU64::new(0);
/// A page to commit when it is accessed; 0 for none.
static ON_DEMAND: AtomicU64 = AtomicU64::new(0);
static LAST: SpinLock<Option<Fault>> = SpinLock::new(None);

/// The kind of access of [`attempt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Access {
    Read = 0,
    Write = 1,
    Call = 2,
}

/// The argument of a jump out of a fault.
const FAULTED: u64 = 0x5a5a_f00d;

/// Takes the place of `sing_kernel::fault::handle`.
pub fn fault(fault: &Fault) -> Action {
    *LAST.lock() = Some(*fault);
    let page = ON_DEMAND.load(Relaxed);
    if page != 0 && fault.address / PAGE == page / PAGE && commit(page..page + PAGE) {
        return Action::Retry;
    }
    match LANDING.load(Relaxed) {
        0 => Action::Fatal,
        pc => Action::Jump {
            pc,
            sp: LANDING_STACK.load(Relaxed),
            argument: FAULTED,
        },
    }
}

/// Reads, writes (a zero) or calls an address: the fault, if there was one, whether it was jumped
/// from or retried.
pub fn attempt(access: Access, at: u64, argument: u64) -> Option<Fault> {
    *LAST.lock() = None;
    // SAFETY: a fault comes back here with the stack as it was. Where there is none, the tests pass
    // addresses of their own memory or of code that returns.
    let result = unsafe { attempt_raw(access as u64, at, argument) };
    let fault = LAST.lock().take();
    assert!(
        result == FAULTED || result == 0,
        "a jump passes its argument"
    );
    assert!(
        result == 0 || fault.is_some(),
        "nobody jumps but for a fault"
    );
    fault
}

/// Reads an address without surviving a fault.
pub fn touch(at: u64) {
    // SAFETY: a read without effect, or a fault that ends the system.
    unsafe {
        core::arch::asm!("mov al, [{}]", in(reg) at, out("al") _, options(nostack, readonly))
    };
}

/// Makes the fault handler commit this page when it is accessed; 0 for none.
pub fn commit_on_demand(page: u64) {
    ON_DEMAND.store(page, Relaxed);
}

#[unsafe(naked)]
unsafe extern "sysv64" fn attempt_raw(access: u64, at: u64, argument: u64) -> u64 {
    naked_asm!(
        "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
        "sub rsp, 8",
        "lea rax, [rip + 5f]",
        "mov [rip + {landing}], rax",
        "mov [rip + {landing_stack}], rsp",
        "mov rcx, rdi",
        "mov rdi, rdx",
        "cmp rcx, 1",
        "je 2f",
        "ja 3f",
        "mov al, [rsi]",
        "jmp 4f",
        "2:",
        "mov byte ptr [rsi], 0",
        "jmp 4f",
        "3:",
        "call rsi",
        "4:",
        "xor edi, edi",
        "5:",
        "mov qword ptr [rip + {landing}], 0",
        "mov rax, rdi",
        "add rsp, 8",
        "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
        "ret",
        landing = sym LANDING,
        landing_stack = sym LANDING_STACK,
    )
}
