//! Tests of interrupts of SIP code: that they arrive, and that all registers survive.
//!
//! Two threads run code in the arena that keeps a pattern in every register and counts changes. At
//! each tick [`tick`], in the place of the kernel's scheduler, switches to the other thread.

use crate::memory::Reserved;
use crate::run::{ARRIVED, IN_SIP, Outcome, check};
use core::arch::global_asm;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_arch::switch::{first_frame, switch};
use sing_kernel::hal::{Hal, LINE_TIMER};
use sing_pc::Pc;

const QUANTUM: u64 = 100_000;
const STACK: u64 = 64 * 1024;

/// Saved stack pointers: the test itself, and two threads.
static SAVED: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// The index of the one that runs.
static CURRENT: AtomicU64 = AtomicU64::new(0);
/// Ticks until the threads are told to stop.
static LEFT: AtomicU64 = AtomicU64::new(0);
/// The word that the threads' code reads; 1 stops it.
static STOP: AtomicU64 = AtomicU64::new(0);
/// Whether a tick switches to the test when no ticks are left.
static THEN_LEAVE: AtomicU64 = AtomicU64::new(0);
/// The address of the threads' code, and the number of changes found.
static CODE: AtomicU64 = AtomicU64::new(0);
static CHANGED: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

fn switch_to(next: u64) {
    let current = CURRENT.swap(next, Relaxed);
    let (save, to) = (
        SAVED[current as usize].as_ptr(),
        SAVED[next as usize].load(Relaxed),
    );
    // SAFETY: what is saved there came from `switch` or `first_frame`, and nobody runs on it.
    unsafe { switch(save, to) };
}

/// The scheduler's part at a tick.
pub fn tick(in_sip: bool) {
    // Between the test and a thread there is nothing to switch; the timer comes again.
    if !in_sip {
        return;
    }
    let left = LEFT.load(Relaxed);
    if left == 0 {
        if THEN_LEAVE.load(Relaxed) != 0 {
            switch_to(0);
        }
        return;
    }
    LEFT.store(left - 1, Relaxed);
    if left == 1 {
        STOP.store(1, Relaxed);
    }
    Pc.set_timer(Pc.now() + QUANTUM);
    match CURRENT.load(Relaxed) {
        1 if SAVED[2].load(Relaxed) != 0 => switch_to(2),
        2 => switch_to(1),
        _ => {}
    }
}

/// A thread: runs the code, notes the result, and switches to the other thread or, at the end, to
/// the test.
extern "C" fn thread(number: u64) -> ! {
    let code = CODE.load(Relaxed);
    let wide = u64::from(Pc.has_cpu_feature("avx"));
    let stop = STOP.as_ptr() as u64;
    let changed: u64;
    // SAFETY: the code keeps to the calling convention.
    unsafe {
        core::arch::asm!(
            "call {}", in(reg) code, in("rdi") number * 0x0101_0101_0101, in("rsi") stop, in("rdx") wide,
            lateout("rax") changed, clobber_abi("sysv64"),
        );
    }
    CHANGED.fetch_add(changed, Relaxed);
    ENDED.fetch_add(1, Relaxed);
    loop {
        switch_to(if ENDED.load(Relaxed) == 2 {
            0
        } else {
            3 - number
        });
    }
}

/// Runs threads on `code` until it ends or no ticks are left.
fn run(code: &[u8], threads: u64, ticks: u64, then_leave: bool) -> Result<(), &'static str> {
    CODE.store(Pc.load_code(code).ok_or("the arena is full")?, Relaxed);
    LEFT.store(ticks, Relaxed);
    THEN_LEAVE.store(u64::from(then_leave), Relaxed);
    for counter in [&STOP, &CHANGED, &ENDED, &SAVED[1], &SAVED[2]] {
        counter.store(0, Relaxed);
    }
    let mut stacks = [Reserved::new(STACK), Reserved::new(STACK)];
    for (number, stack) in (1..=threads).zip(&mut stacks) {
        if !stack.commit(stack.at, STACK) {
            return Err("no memory for a stack");
        }
        // SAFETY: just committed, and released only after the thread's last switch.
        let sp = unsafe { first_frame(stack.at + STACK, thread, number) };
        SAVED[number as usize].store(sp, Relaxed);
    }
    Pc.set_timer(Pc.now() + QUANTUM);
    switch_to(1);
    Pc.set_timer(u64::MAX);
    Ok(())
}

/// A timer interrupt of kernel code is repeated until the kernel sets the timer.
pub fn kernel_is_interrupted() -> Outcome {
    let ticks = || ARRIVED[LINE_TIMER as usize].load(Relaxed);
    let (before, in_sip) = (ticks(), IN_SIP.load(Relaxed));
    Pc.set_timer(Pc.now() + QUANTUM);
    let end = Pc.now() + 500_000_000;
    while ticks() < before + 3 && Pc.now() < end {
        sing_arch::pause();
    }
    Pc.set_timer(u64::MAX);
    check!(
        ticks() >= before + 3,
        "reported {} times, then never again",
        ticks() - before
    );
    check!(IN_SIP.load(Relaxed) == in_sip, "taken for SIP code");
    Ok(())
}

pub fn endless_loop() -> Outcome {
    let in_sip = IN_SIP.load(Relaxed);
    run(&[0xeb, 0xfe], 1, 3, true)?; // jmp to itself
    check!(
        IN_SIP.load(Relaxed) == in_sip + 4,
        "{} ticks",
        IN_SIP.load(Relaxed) - in_sip
    );
    check!(
        x86_64::instructions::interrupts::are_enabled(),
        "interrupts are off after the switch"
    );
    Ok(())
}

pub fn registers_survive() -> Outcome {
    unsafe extern "C" {
        static pattern_start: u8;
        static pattern_end: u8;
    }
    let (start, end) = (&raw const pattern_start, &raw const pattern_end);
    // SAFETY: the two symbols below enclose the code.
    let code = unsafe { core::slice::from_raw_parts(start, end as usize - start as usize) };
    let before = IN_SIP.load(Relaxed);
    run(code, 2, 400, false)?;
    let switches = IN_SIP.load(Relaxed) - before;
    check!(switches >= 400, "only {switches} ticks");
    check!(
        CHANGED.load(Relaxed) == 0,
        "{} registers changed",
        CHANGED.load(Relaxed)
    );
    check!(
        ENDED.load(Relaxed) == 2,
        "{} threads ended",
        ENDED.load(Relaxed)
    );
    Ok(())
}

global_asm!(
    // fn(rdi: pattern, rsi: address of the word that stops it, rdx: whether there is AVX) ->
    // changes found
    ".pushsection .rodata.pattern, \"a\"",
    ".global pattern_start, pattern_end",
    "pattern_start:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 24",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "lea rax, [rdi + \\i]",
    "movq xmm\\i, rax",
    "punpcklqdq xmm\\i, xmm\\i",
    "test edx, edx",
    "jz 2f",
    "vinsertf128 ymm\\i, ymm\\i, xmm\\i, 1",
    "2:",
    ".endr",
    "lea rbx, [rdi + 100]",
    "lea rbp, [rdi + 101]",
    ".irp i, 8, 9, 10, 11, 12, 13, 14, 15",
    "lea r\\i, [rdi + 102 + \\i]",
    ".endr",
    "3:",
    "xor ecx, ecx", // changes found
    "lea rax, [rdi + 100]",
    "cmp rax, rbx",
    "je 2f",
    "inc ecx",
    "2:",
    "lea rax, [rdi + 101]",
    "cmp rax, rbp",
    "je 2f",
    "inc ecx",
    "2:",
    ".irp i, 8, 9, 10, 11, 12, 13, 14, 15",
    "lea rax, [rdi + 102 + \\i]",
    "cmp rax, r\\i",
    "je 2f",
    "inc ecx",
    "2:",
    ".endr",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "movups [rsp], xmm\\i",
    "lea rax, [rdi + \\i]",
    "cmp rax, [rsp]",
    "jne 4f",
    "cmp rax, [rsp + 8]",
    "jne 4f",
    "test edx, edx",
    "jz 2f",
    "vextractf128 [rsp], ymm\\i, 1",
    "cmp rax, [rsp]",
    "je 2f",
    "4:",
    "inc ecx",
    "2:",
    ".endr",
    "test ecx, ecx",
    "jnz 5f",
    "cmp qword ptr [rsi], 0",
    "je 3b",
    "5:",
    "mov eax, ecx",
    "test edx, edx",
    "jz 2f",
    "vzeroupper",
    "2:",
    "add rsp, 24",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
    "pattern_end:",
    ".popsection",
);
