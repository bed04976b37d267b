//! The timer, waiting, and pre-emption: threads switched inside the timer's handler, at any
//! instruction.

use sing_arch::switch::{first_frame, switch};
use sing_hosted::{Config, Hooks, HostedHal};
use sing_kernel::fault::Action;
use sing_kernel::hal::{Hal, LINE_CONSOLE, LINE_TIMER};
use std::arch::global_asm;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

static HAL: OnceLock<&'static HostedHal> = OnceLock::new();
/// Interrupts so far: in SIP code, and elsewhere.
static IN_SIP: AtomicU64 = AtomicU64::new(0);
static ELSEWHERE: AtomicU64 = AtomicU64::new(0);
/// A word that code in the arena watches.
static STOP: AtomicU64 = AtomicU64::new(0);

/// The threads' saved stack pointers; the last is the test itself.
const THREADS: usize = 4;
static SAVED: [AtomicU64; THREADS + 1] = [const { AtomicU64::new(0) }; THREADS + 1];
static CURRENT: AtomicU64 = AtomicU64::new(THREADS as u64);
/// Whether the hook switches threads, and in which steps it sets the timer.
static SWITCHING: AtomicBool = AtomicBool::new(false);
static QUANTUM: AtomicU64 = AtomicU64::new(0);

fn hal() -> &'static HostedHal {
    HAL.get().unwrap()
}

/// The kernel's place: counts, and switches to the next thread if SIP code was interrupted.
fn arrive(line: u32, in_sip: bool) {
    assert!(line == LINE_TIMER || line == LINE_CONSOLE);
    if in_sip { &IN_SIP } else { &ELSEWHERE }.fetch_add(1, SeqCst);
    let quantum = QUANTUM.load(SeqCst);
    if quantum > 0 && line == LINE_TIMER {
        hal().set_timer(hal().now() + quantum);
    }
    if in_sip && SWITCHING.load(SeqCst) {
        let from = CURRENT.load(SeqCst) as usize;
        // Every now and then the test itself.
        let to = if IN_SIP.load(SeqCst).is_multiple_of(16) {
            THREADS
        } else {
            (from + 1) % THREADS
        };
        go(from, to);
    } else {
        STOP.store(1, SeqCst);
    }
}

fn go(from: usize, to: usize) {
    if from != to {
        CURRENT.store(to as u64, SeqCst);
        // SAFETY: one Linux thread runs all of this; `to` was saved by a switch or made by
        // `first_frame`, and is not running, because `from` is.
        unsafe { switch(SAVED[from].as_ptr(), SAVED[to].load(SeqCst)) };
    }
}

// Position-independent code to copy into the arena.
//
// `waiter(word)`: returns when *word is not 0.
//
// `worker(record)`: for ever fills every register (all of all vector registers, too) and flag with
// values made from a counter, gives the timer time to strike, and checks that nothing has changed.
// Counts rounds in record[0] and mismatches in record[1].
global_asm!(
    ".globl waiter_start, waiter_end, worker_start, worker_end",
    "waiter_start:",
    "cmp qword ptr [rdi], 0",
    "je waiter_start",
    "ret",
    "waiter_end:",
    "worker_start:",
    "mov [rdi + 16], rsp",
    "2:",
    "inc qword ptr [rdi]",
    "mov rax, [rdi]",
    "add rax, [rdi + 24]",
    // Registers: rax plus a number of their own.
    "lea rbx, [rax + 1]",
    "lea rcx, [rax + 2]",
    "lea rdx, [rax + 3]",
    "lea rsi, [rax + 4]",
    "lea rbp, [rax + 5]",
    "lea r8, [rax + 8]",
    "lea r9, [rax + 9]",
    "lea r10, [rax + 10]",
    "lea r11, [rax + 11]",
    "lea r12, [rax + 12]",
    "lea r13, [rax + 13]",
    "lea r14, [rax + 14]",
    "lea r15, [rax + 15]",
    // Vectors: four quarters that differ, and differ from register to register.
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "mov r15, rax",
    "rol r15, \\i",
    "mov [rsp - 96], r15",
    "not r15",
    "mov [rsp - 88], r15",
    "add r15, \\i",
    "mov [rsp - 80], r15",
    "not r15",
    "mov [rsp - 72], r15",
    "vmovdqu ymm\\i, [rsp - 96]",
    ".endr",
    "lea r15, [rax + 15]",
    // The red zone of the interrupted code is Linux's to spare.
    "mov [rsp - 64], rax",
    // Carry set and direction down: flags must survive too.
    "std",
    "stc",
    "mov rax, 40",
    "3:",
    "dec rax",
    "jnz 3b",
    "jnc 9f",
    "pushfq",
    "pop rax",
    "cld",
    "test rax, 0x400",
    "jz 9f",
    "mov rax, [rdi]",
    "add rax, [rdi + 24]",
    "sub rbx, rax",
    "cmp rbx, 1",
    "jne 9f",
    "sub rcx, rax",
    "cmp rcx, 2",
    "jne 9f",
    "sub rdx, rax",
    "cmp rdx, 3",
    "jne 9f",
    "sub rsi, rax",
    "cmp rsi, 4",
    "jne 9f",
    "sub rbp, rax",
    "cmp rbp, 5",
    "jne 9f",
    "sub r8, rax",
    "cmp r8, 8",
    "jne 9f",
    "sub r9, rax",
    "cmp r9, 9",
    "jne 9f",
    "sub r10, rax",
    "cmp r10, 10",
    "jne 9f",
    "sub r11, rax",
    "cmp r11, 11",
    "jne 9f",
    "sub r12, rax",
    "cmp r12, 12",
    "jne 9f",
    "sub r13, rax",
    "cmp r13, 13",
    "jne 9f",
    "sub r14, rax",
    "cmp r14, 14",
    "jne 9f",
    "sub r15, rax",
    "cmp r15, 15",
    "jne 9f",
    "cmp rax, [rsp - 64]",
    "jne 9f",
    "cmp rsp, [rdi + 16]",
    "jne 9f",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "vmovdqu [rsp - 96], ymm\\i",
    "mov rcx, rax",
    "rol rcx, \\i",
    "cmp rcx, [rsp - 96]",
    "jne 9f",
    "not rcx",
    "cmp rcx, [rsp - 88]",
    "jne 9f",
    "add rcx, \\i",
    "cmp rcx, [rsp - 80]",
    "jne 9f",
    "not rcx",
    "cmp rcx, [rsp - 72]",
    "jne 9f",
    ".endr",
    "jmp 2b",
    "9:",
    "cld",
    "inc qword ptr [rdi + 8]",
    "jmp 2b",
    "worker_end:",
);

unsafe extern "C" {
    static waiter_start: u8;
    static waiter_end: u8;
    static worker_start: u8;
    static worker_end: u8;
}

/// Copies the code between two labels into the arena.
fn load(start: *const u8, end: *const u8) -> u64 {
    // SAFETY: both are labels of this file's code, in this order.
    let code = unsafe { std::slice::from_raw_parts(start, end as usize - start as usize) };
    hal().load_code(code).unwrap()
}

extern "C" fn start(argument: u64) -> ! {
    // SAFETY: `worker` in the arena and its record, which `preemption` keeps for ever.
    let (code, record) = unsafe { *(argument as *const (u64, u64)) };
    // SAFETY: as above.
    let worker: extern "sysv64" fn(u64) -> ! = unsafe { std::mem::transmute(code as usize) };
    worker(record)
}

/// Runs a function for this long, in nanoseconds.
fn for_a_while(nanoseconds: u64, mut function: impl FnMut()) {
    let end = hal().now() + nanoseconds;
    while hal().now() < end {
        function();
    }
}

fn waits() {
    let hal = hal();
    let took = |at: u64, count: u64| {
        let before = ELSEWHERE.load(SeqCst);
        let start = hal.now();
        hal.set_timer(at);
        while ELSEWHERE.load(SeqCst) < before + count {
            assert!(hal.now() < start + 2_000_000_000, "the timer does not come");
            hal.idle();
        }
        hal.now()
    };
    // Never early, and not late by much more than the machine is busy.
    for after in [0, 1, 1_000, 100_000, 5_000_000] {
        let at = hal.now() + after;
        let came = took(at, 1);
        assert!(
            came >= at && came < at + 500_000_000,
            "{after}: {came} for {at}"
        );
    }
    took(0, 1);
    // A later time instead of an earlier one, and an earlier instead of a later one.
    let now = hal.now();
    hal.set_timer(now + 2_000_000);
    assert!(took(now + 20_000_000, 1) >= now + 20_000_000);
    let now = hal.now();
    hal.set_timer(now + 1_000_000_000);
    assert!(took(now + 1_000_000, 1) < now + 900_000_000);
    // One that came to nothing: no interrupt, though Linux's timer strikes.
    let before = ELSEWHERE.load(SeqCst);
    hal.set_timer(hal.now() + 1_000_000);
    hal.set_timer(u64::MAX);
    for_a_while(5_000_000, || {});
    assert_eq!(ELSEWHERE.load(SeqCst), before);
    // One that came between the look for work and the wait is not lost: `idle` returns at once.
    for _ in 0..200 {
        let before = ELSEWHERE.load(SeqCst);
        hal.set_timer(hal.now() + 20_000);
        let here = ELSEWHERE.load(SeqCst) > before;
        for_a_while(15_000 + hal.now() % 10_000, || {});
        if !here {
            hal.idle();
        }
        hal.set_timer(u64::MAX);
    }
}

fn says_where() {
    // A kernel loop: never in SIP code.
    let before = IN_SIP.load(SeqCst);
    QUANTUM.store(100_000, SeqCst);
    hal().set_timer(0);
    for_a_while(50_000_000, || {});
    assert_eq!(IN_SIP.load(SeqCst), before);
    QUANTUM.store(0, SeqCst);
    hal().set_timer(u64::MAX);
    // A loop in the arena: always.
    let waiter = load(&raw const waiter_start, &raw const waiter_end);
    // SAFETY: the code above.
    let waiter: extern "sysv64" fn(*mut u64) = unsafe { std::mem::transmute(waiter as usize) };
    for i in 0..100 {
        let before = (IN_SIP.load(SeqCst), ELSEWHERE.load(SeqCst));
        STOP.store(0, SeqCst);
        hal().set_timer(hal().now() + 200_000 + i * 1000);
        waiter(STOP.as_ptr());
        let (sip, other) = (
            IN_SIP.load(SeqCst) - before.0,
            ELSEWHERE.load(SeqCst) - before.1,
        );
        // On a busy machine the time may have passed before the code was entered.
        assert!(sip + other == 1, "{sip} in SIP code, {other} elsewhere");
    }
    assert!(IN_SIP.load(SeqCst) > before + 50);
}

/// The most of a thread's stack that interrupts may need: two frames of the largest that is allowed
/// would fit what the kernel keeps free, and the frames of today's processors are much smaller.
const MOST_STACK: usize = 12 << 10;

/// So many pre-emptions, and rounds of each thread between them, are waited for.
const LEAST: u64 = 1000;

/// Sends the console's signal to the calling thread as fast as another can, while `body` runs.
fn in_a_storm(body: impl FnOnce()) {
    static OVER: AtomicBool = AtomicBool::new(false);
    // SAFETY: names the calling thread, which outlives the one started below.
    let target = unsafe { libc::pthread_self() };
    let storm = std::thread::spawn(move || {
        let mut sent = 0u64;
        while !OVER.load(SeqCst) {
            // SAFETY: as above.
            unsafe { libc::pthread_kill(target, libc::SIGIO) };
            sent += 1;
        }
        sent
    });
    body();
    OVER.store(true, SeqCst);
    println!("a storm of {} signals", storm.join().unwrap());
}

fn preemption(time: u64) {
    if !hal().has_cpu_feature("avx2") {
        eprintln!("no AVX2: pre-emption not tried");
        return;
    }
    const STACK: u64 = 64 << 10;
    let worker = load(&raw const worker_start, &raw const worker_end);
    let mut records = Vec::new();
    let mut stacks = Vec::new();
    for (i, saved) in SAVED[..THREADS].iter().enumerate() {
        let mut range = hal().reserve(STACK).unwrap();
        assert!(hal().commit(range.part(0, STACK)));
        let stack = range.at();
        // SAFETY: just committed, and nobody else's yet.
        let bytes = unsafe { std::slice::from_raw_parts_mut(stack as *mut u8, STACK as usize) };
        bytes.fill(0xa5);
        let record: &'static [AtomicU64; 4] = Box::leak(Box::default());
        record[3].store(0x0101_0101_0101 * (i as u64 + 1), SeqCst);
        let argument = Box::leak(Box::new((worker, record.as_ptr() as u64)));
        // SAFETY: the stack is committed, the thread's own, and never released.
        let sp = unsafe { first_frame(stack + STACK, start, argument as *const _ as u64) };
        saved.store(sp, SeqCst);
        records.push(record);
        stacks.push(bytes);
    }
    let before = IN_SIP.load(SeqCst);
    SWITCHING.store(true, SeqCst);
    QUANTUM.store(30_000, SeqCst);
    hal().set_timer(0);
    let mut next = 0;
    // A busy machine, or one that is slow to deliver signals, takes longer for as many.
    let (least, most) = (hal().now() + time, hal().now() + 40 * time);
    let few = || {
        IN_SIP.load(SeqCst) - before <= LEAST || records.iter().any(|r| r[0].load(SeqCst) <= LEAST)
    };
    while hal().now() < least || (few() && hal().now() < most) {
        go(THREADS, next % THREADS);
        next += 1;
    }
    SWITCHING.store(false, SeqCst);
    QUANTUM.store(0, SeqCst);
    hal().set_timer(u64::MAX);
    let switches = IN_SIP.load(SeqCst) - before;
    let rounds: Vec<u64> = records.iter().map(|r| r[0].load(SeqCst)).collect();
    let errors: Vec<u64> = records.iter().map(|r| r[1].load(SeqCst)).collect();
    let used =
        |stack: &&mut [u8]| STACK as usize - stack.iter().take_while(|b| **b == 0xa5).count();
    let used: Vec<usize> = stacks.iter().map(used).collect();
    println!("{switches} pre-emptions, rounds {rounds:?}, bytes of stack {used:?}");
    assert!(
        used.iter().all(|u| *u < MOST_STACK),
        "{used:?} bytes of stack"
    );
    assert_eq!(errors, [0; THREADS], "registers were not kept");
    assert!(switches > LEAST, "only {switches} pre-emptions");
    assert!(rounds.iter().all(|r| *r > LEAST), "{rounds:?}");
}

/// A timer that finds the kernel, between its last look for interrupts and its return to SIP code,
/// comes again.
fn reminds() {
    let waiter = load(&raw const waiter_start, &raw const waiter_end);
    // SAFETY: the code above.
    let waiter: extern "sysv64" fn(*mut u64) = unsafe { std::mem::transmute(waiter as usize) };
    let strike_here = || {
        let before = ELSEWHERE.load(SeqCst);
        hal().set_timer(hal().now());
        while ELSEWHERE.load(SeqCst) == before {}
    };
    for _ in 0..20 {
        strike_here();
        STOP.store(0, SeqCst);
        waiter(STOP.as_ptr());
    }
    // But not where the kernel has set another time, or has nothing to run.
    for idle in [false, true] {
        strike_here();
        if idle {
            hal().idle();
        } else {
            hal().set_timer(u64::MAX);
        }
        let before = ELSEWHERE.load(SeqCst);
        for_a_while(5_000_000, || {});
        assert_eq!(ELSEWHERE.load(SeqCst), before, "idle: {idle}");
    }
}

fn clocks() {
    let (start, cycles) = (hal().now(), sing_arch::cycles());
    for_a_while(200_000_000, || {});
    let (took, cycles) = (hal().now() - start, sing_arch::cycles() - cycles);
    let rate = (u128::from(cycles) * 1_000_000_000 / u128::from(took)) as i64;
    let told = hal().cycles_per_second() as i64;
    assert!(
        (rate - told).abs() < told / 1000,
        "{told} cycles a second, measured {rate}"
    );
    let utc = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert!(utc.as_nanos().abs_diff(u128::from(hal().utc())) < 1_000_000_000);
}

/// One test, because interrupts come to one thread.
#[test]
fn interrupts() {
    let hooks = Hooks {
        interrupt: arrive,
        fault: |_| Action::Fatal,
    };
    let config = Config {
        memory_limit: Some(64 << 20),
        hooks,
        ..Config::default()
    };
    HAL.get_or_init(|| HostedHal::new(config).unwrap());
    waits();
    clocks();
    says_where();
    reminds();
    preemption(1_500_000_000);
    in_a_storm(|| preemption(1_500_000_000));
    // And all of it again: nothing is left behind by threads that never come back.
    waits();
}
