//! The context switch, and the first frame of a thread.
//!
//! A thread that does not run is represented by its saved stack pointer, which points at the
//! address of the code that resumes it; that code's data lies above. A switch jumps there, with a
//! word for the thread in `rax`: a jump is predicted by its last target, a return by a call that
//! another thread has made. Three kinds of code resume a thread: the end of [`switch`], which
//! restores the six callee-saved registers, the end of a blocking entry ([`entry`](crate::entry)),
//! and the first instructions of a thread. Nothing else is saved, because a switch is a call: the
//! compiler (rustc's and ours) has saved the other registers that it needs. A thread interrupted in
//! SIP code has its whole register file on its stack already, saved by the HAL, and switches from
//! inside the HAL's handler like any other.

use core::arch::naked_asm;

/// Switches stacks: saves the caller's stack pointer at `save` and resumes at the one in `to`,
/// which receives `told`.
///
/// # Safety
/// `to` was saved by this function or by a blocking entry, or made by [`first_frame`]; its stack is
/// intact, no execution uses it, and `to` is used for one switch only. `save` stays valid until the
/// caller is switched back to.
#[unsafe(naked)]
pub unsafe extern "C" fn switch_with(save: *mut u64, to: u64, told: u64) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "lea rax, [rip + 2f]",
        "push rax",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "mov rax, rdx",
        "pop rcx",
        "jmp rcx",
        "2:",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Switches stacks and tells 0.
///
/// # Safety
/// As for [`switch_with`].
#[inline(always)]
pub unsafe fn switch(save: *mut u64, to: u64) {
    // SAFETY: as the caller says.
    unsafe { switch_with(save, to, 0) };
}

/// The first function of a new thread on its own stack, with its argument.
pub type Entry = extern "C" fn(argument: u64) -> !;

/// Prepares the stack that ends at `top` so that a [`switch_with`] to the returned stack pointer
/// calls `entry(argument)`.
///
/// # Safety
/// The 128 bytes below `top` are writable and have no other user; `top` is a multiple of 16.
#[must_use]
pub unsafe fn first_frame(top: u64, entry: Entry, argument: u64) -> u64 {
    let sp = top - 80;
    let frame = [
        start as *const () as usize as u64,
        argument,
        entry as usize as u64,
    ];
    for (i, word) in frame.iter().enumerate() {
        // SAFETY: within the bytes that the caller vouches for.
        unsafe { (sp as *mut u64).add(i).write(*word) };
    }
    sp
}

/// First instructions of a thread.
#[unsafe(naked)]
unsafe extern "C" fn start() {
    naked_asm!(
        "pop rdi",
        "pop rcx",
        "xor ebp, ebp",
        "and rsp, -16",
        "call rcx",
        "ud2"
    )
}

/// Calls compiled code: `code(context)`.
///
/// # Safety
/// `code` is the address of a function that our compiler made with this type, `context` its
/// thread's context record.
pub unsafe fn call(code: u64, context: u64) -> i32 {
    // SAFETY: as the caller says.
    let f: extern "C" fn(u64) -> i32 = unsafe { core::mem::transmute(code as usize) };
    f(context)
}

/// Calls compiled code: `code(context, argument)`.
///
/// # Safety
/// As for [`call`].
pub unsafe fn call_with(code: u64, context: u64, argument: u64) {
    // SAFETY: as the caller says.
    let f: extern "C" fn(u64, u64) = unsafe { core::mem::transmute(code as usize) };
    f(context, argument);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::vec;
    use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static MAIN: AtomicU64 = AtomicU64::new(0);
    static OTHER: AtomicU64 = AtomicU64::new(0);

    extern "C" fn other(argument: u64) -> ! {
        let mut n = argument;
        loop {
            n += 1;
            let sum: f64 = (0..n).map(|x| x as f64).sum();
            assert!(sum >= 0.0);
            MAIN.store(MAIN.load(Relaxed), Relaxed);
            // SAFETY: MAIN holds what `main`'s switch saved.
            unsafe { switch(OTHER.as_ptr(), MAIN.load(Relaxed)) };
        }
    }

    #[test]
    fn goes_there_and_back() {
        let stack = Box::leak(vec![0u128; 4096].into_boxed_slice());
        let top = stack.as_ptr_range().end as u64 & !15;
        // SAFETY: the stack is ours and never freed.
        let sp = unsafe { first_frame(top, other, 40) };
        OTHER.store(sp, Relaxed);
        for _ in 0..1000 {
            // SAFETY: OTHER holds what `first_frame` or the other side's switch left.
            unsafe { switch(MAIN.as_ptr(), OTHER.load(Relaxed)) };
        }
    }
}
