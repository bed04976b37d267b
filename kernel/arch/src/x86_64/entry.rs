//! The way out of kernel entries that may switch to another thread.
//!
//! The functions behind such entries only name the thread to switch to. The switch itself is made
//! here, when they have returned, so that a waiting thread has no kernel frame on its stack, only
//! the address of the code that resumes it, the six callee-saved registers of its SIP, and the
//! return address into the SIP.
//!
//! A processor predicts each return by the call before it. After a switch that call was another
//! thread's, so the return to SIP code would be mispredicted every time, at the cost of a third of
//! a switch. A jump is predicted by its last target: a thread that has been switched away from goes
//! back by a jump, one that has not by a return. The resumed thread is told the entry's result plus
//! 1, or 0: then it must look again.

/// The body of a naked function that is the common part of all blocking entries: calls the function
/// whose address is in `rax` with the arguments of the entry. That function returns two words: the
/// address of the saved stack pointer to switch to, or 0 if the entry is done; and the word for the
/// resumed thread, or the entry's result.
///
/// - `again`: an `extern "C"` function without arguments that returns the same, for a resumed
///   thread that was told 0.
/// - `running`: holds the address of the running thread's word for its stack pointer; set to that
///   of the thread switched to.
/// - `runs`: the value of such a word while its thread runs; a smaller value if the thread cannot
///   be resumed. `refused`: an `extern "C"` function that does not return, called for a switch to a
///   thread that runs or cannot be resumed.
/// - `pending`: the address of a `u32`; if that is not 0 when a resumed thread goes back with a
///   result, `interrupted`: `extern "C" fn(u32) -> u32` is called with the result, and returns it.
///
/// An entry gets there by [`through`](crate::through): `rax` holds the address of a function of the
/// entry's arguments, all of them in registers, that returns two words like these. If the first is
/// not 0, the stack pointer saved there fulfils the conditions of
/// [`switch_with`](crate::switch::switch_with), or says that the thread cannot be resumed.
#[macro_export]
macro_rules! blocking_entries {
    (
        again: $again:path, running: $running:path, runs: $runs:expr, refused: $refused:path,
        pending: $pending:path, interrupted: $interrupted:path
    ) => {
        core::arch::naked_asm!(
            // A frame like those of compiled code, which also aligns the stack.
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
            // Resumes here.
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
            // Interrupts have arrived meanwhile.
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

/// The body of a naked function: an entry that runs `function` by way of `enter`, made by
/// [`blocking_entries`](crate::blocking_entries).
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
