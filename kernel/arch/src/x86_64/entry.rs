//! How an entry of the kernel is left that may switch to another thread.
//!
//! The functions behind such entries only say whom to switch to. The switch itself is made here, when they have
//! returned, so that nothing of the kernel lies on the stack of a thread that waits: its frame is the address of the code
//! where it goes on, the six callee-saved registers as its SIP has them, and the return address into the SIP.
//!
//! A processor predicts each return by the call before it. After a switch that call was another thread's, so the return to
//! SIP code would be predicted wrongly every time, at the cost of a third of a switch. A jump is predicted by where it went
//! before: a thread that has been switched away from goes back by one, and one that has not by a return. It is told what
//! the entry comes to, or 0: then it has to look again.

/// The body of a naked function that is the common part of all blocking entries: calls the function whose address is in
/// `rax` with the arguments that the entry got. What that returns is two words: where a thread's stack pointer is saved to
/// switch to, or 0 where the entry is done; and what arrives there, or the entry's result.
///
/// - `again`: an `extern "C"` function without arguments that returns the same, for a thread that has been told nothing.
/// - `running`: holds where the stack pointer of the thread that runs goes, and of the one that is switched to from then on.
/// - `runs`: what a word for a stack pointer holds while its thread runs; less than that where there is nothing to go on
///   with. `refused`: an `extern "C"` function that does not return, for a switch to such a one.
/// - `pending`: the address of a `u32`; where that is not 0 when a thread goes back that has been told something,
///   `interrupted`: `extern "C" fn(u32) -> u32` is called with what the entry comes to, and returns that.
///
/// Whoever goes there does so by [`through`](crate::through): `rax` holds the address of a function of the entry's arguments,
/// all of them in registers, which returns two words like these. Where the first is not 0, what is saved there is
/// what [`switch_with`](crate::switch::switch_with) asks, or tells that there is nothing.
#[macro_export]
macro_rules! blocking_entries {
    (
        again: $again:path, running: $running:path, runs: $runs:expr, refused: $refused:path,
        pending: $pending:path, interrupted: $interrupted:path
    ) => {
        core::arch::naked_asm!(
            // A frame as compiled code has them, which also aligns the stack.
            "push rbp",
            "mov rbp, rsp",
            "call rax",
            "test rax, rax",
            "jnz 3f",
            "pop rbp",
            "mov eax, edx",
            "ret",
            // Switches to another thread.
            "3:",
            "mov rsi, [rax]",
            "cmp rsi, {runs}",
            "jbe 8f",
            "mov rcx, [rip + {running}]",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "lea rdi, [rip + 4f]",
            "push rdi",
            "mov [rcx], rsp",
            "mov rsp, rsi",
            "mov qword ptr [rax], {runs}",
            "mov [rip + {running}], rax",
            "mov eax, edx",
            "pop rcx",
            "jmp rcx",
            // Goes on.
            "4:",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "sub eax, 1",
            "jb 6f",
            "mov rcx, [rip + {pending}]",
            "cmp dword ptr [rcx], 0",
            "jne 5f",
            "pop rbp",
            "pop rcx",
            "jmp rcx",
            // Interrupts have come meanwhile.
            "5:",
            "mov rbp, rsp",
            "mov edi, eax",
            "call {interrupted}",
            "7:",
            "pop rbp",
            "pop rcx",
            "jmp rcx",
            // Looks again.
            "6:",
            "mov rbp, rsp",
            "call {again}",
            "test rax, rax",
            "jnz 3b",
            "mov eax, edx",
            "jmp 7b",
            "8:",
            "call {refused}",
            "ud2",
            again = sym $again,
            running = sym $running,
            runs = const $runs,
            refused = sym $refused,
            pending = sym $pending,
            interrupted = sym $interrupted,
        )
    };
}

/// The body of a naked function: an entry that goes to `enter`, made by [`blocking_entries`](crate::blocking_entries), with
/// this function.
#[macro_export]
macro_rules! through {
    ($enter:path, $function:path) => {
        core::arch::naked_asm!(
            "lea rax, [rip + {function}]",
            "jmp {enter}",
            function = sym $function,
            enter = sym $enter,
        )
    };
}
