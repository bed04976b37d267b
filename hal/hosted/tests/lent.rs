//! Threads of a program that run the system inside it for their calls: what they are afterwards, and
//! what becomes of programs that go on on another of them. Each scene is a process of its own.

mod common;

use common::scene;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sing_calls::{Limits, Op, Outcome};
use sing_hosted::embed::{Image, Running};
use sing_hosted::{Asked, Config, Port, Reply};
use sing_kernel::Options;
use std::arch::asm;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

fn start() -> Running {
    let path = std::env::var_os("SING_EMBED_IMAGE")
        .expect("the system image for these tests; `cargo xtask test embed` makes it");
    let image = Image::open(path.as_ref()).unwrap();
    Running::start(&image, Config::default(), Options::default()).unwrap()
}

/// A call of the plug-in.
fn asked(limits: Limits, bytes: &[u8]) -> Asked<'_> {
    Asked {
        name: "plugin",
        limits,
        bytes,
        ..Asked::of(Op::Call, 0)
    }
}

/// Calls the plug-in, which has this many milliseconds.
fn call_within(port: &Arc<Port>, bytes: &[u8], milliseconds: u64) -> Reply {
    let deadline = milliseconds * 1_000_000;
    let limits = Limits {
        deadline,
        ..Limits::NONE
    };
    port.call(&asked(limits, bytes))
}

fn call(port: &Arc<Port>, bytes: &[u8]) -> Reply {
    port.call(&asked(Limits::NONE, bytes))
}

/// Whether this is the process of the scene; else runs it, which has to succeed.
fn plays(test: &str) -> bool {
    if std::env::var_os("SCENE").is_some() {
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(60));
            eprintln!("the scene hangs");
            std::process::abort();
        });
        return true;
    }
    let ended = scene(test, "plays").arg("--ignored").status().unwrap();
    assert!(ended.success(), "{ended}");
    false
}

/// The signals that the calling thread has blocked, as Linux has them.
fn blocked() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
}

/// Blocks signals of the calling thread.
fn block(signals: &[libc::c_int]) {
    // SAFETY: all zeros is a valid value of this plain structure, which is valid for the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        if signals.is_empty() {
            libc::sigfillset(&raw mut set);
        }
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Where the calling thread's alternate stack is.
fn alternate() -> (usize, usize) {
    // SAFETY: asks only; all zeros is a valid value of this plain structure.
    unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(std::ptr::null(), &raw mut stack);
        (stack.ss_sp as usize, stack.ss_size)
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_thread_that_blocks_all_signals_can_call() {
    if !plays("a_thread_that_blocks_all_signals_can_call") {
        return;
    }
    let system = start();
    for _ in 0..2 {
        block(&[]);
        let spun = call_within(system.port(), b"loop", 50);
        assert_eq!(spun.outcome, Some(Outcome::TimedOut));
        block(&[]);
        let crashed = call(system.port(), b"crash").outcome;
        assert_eq!(crashed, Some(Outcome::Crashed));
    }
}

static COUNTED: AtomicU32 = AtomicU32::new(0);

extern "C" fn counts(_: libc::c_int) {
    COUNTED.fetch_add(1, SeqCst);
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn the_programs_own_signals_come_during_calls() {
    if !plays("the_programs_own_signals_come_during_calls") {
        return;
    }
    // SAFETY: the handler only counts.
    unsafe { libc::signal(libc::SIGUSR1, counts as *const () as usize) };
    let system = start();
    // SAFETY: takes nothing, and cannot fail.
    let caller = unsafe { libc::pthread_self() };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(SeqCst) {
                // SAFETY: the thread lives as long as the scope.
                unsafe { libc::pthread_kill(caller, libc::SIGUSR1) };
                thread::sleep(Duration::from_micros(50));
            }
        });
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(1) {
            assert_eq!(call(system.port(), b"echo on").bytes, b"on");
            let crashed = call(system.port(), b"crash").outcome;
            assert_eq!(crashed, Some(Outcome::Crashed));
        }
        // Also while it spins.
        let before = COUNTED.load(SeqCst);
        let spun = call_within(system.port(), b"loop", 200);
        assert_eq!(spun.outcome, Some(Outcome::TimedOut));
        assert!(COUNTED.load(SeqCst) > before + 10);
        over.store(true, SeqCst);
    });
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_deadline_is_kept_though_linux_has_no_signal_for_a_while() {
    if !plays("a_deadline_is_kept_though_linux_has_no_signal_for_a_while") {
        return;
    }
    let system = start();
    assert_eq!(call(system.port(), b"echo on").bytes, b"on");
    let before = getrlimit(Resource::Sigpending);
    let (maximum, current) = (before.maximum, Some(0));
    let late = thread::spawn(move || {
        // The deadline is over before there are signals again.
        thread::sleep(Duration::from_millis(50));
        setrlimit(Resource::Sigpending, Rlimit { current, maximum }).unwrap();
        thread::sleep(Duration::from_millis(300));
        setrlimit(Resource::Sigpending, before).unwrap();
    });
    let begun = Instant::now();
    let spun = call_within(system.port(), b"loop", 150);
    assert_eq!(spun.outcome, Some(Outcome::TimedOut));
    assert!(begun.elapsed() < Duration::from_secs(10));
    late.join().unwrap();
}

/// The floating-point modes of this thread.
fn modes() -> u32 {
    let mut modes = 0u32;
    // SAFETY: writes four bytes that are there.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut modes) };
    modes
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn programs_compute_the_same_on_any_thread() {
    /// Results and operands that are too small are zeros; rounded towards zero.
    const FAST: u32 = 0x1f80 | 1 << 15 | 1 << 6 | 3 << 13;
    if !plays("programs_compute_the_same_on_any_thread") {
        return;
    }
    let system = start();
    assert_eq!(call(system.port(), b"tiny").bytes, [1]);
    let caller = thread::spawn({
        let port = Arc::clone(system.port());
        move || {
            // SAFETY: reads four bytes that are there; what this thread computes is not looked at.
            unsafe { asm!("ldmxcsr [{}]", in(reg) &FAST) };
            let mut answers = Vec::new();
            for _ in 0..100 {
                answers.push(call(&port, b"tiny").bytes);
            }
            (answers, modes() & 0xffc0)
        }
    });
    let (answers, modes) = caller.join().unwrap();
    assert!(answers.iter().all(|answer| answer == &[1]), "{answers:?}");
    assert_eq!(modes, FAST, "the thread's own modes");
}

/// As the plug-in's.
fn sum(turns: u64) -> f64 {
    let step = |sum: f64, turn: u64| sum * 0.999_999 + turn as f64;
    (0..turns).fold(0.0, step)
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_program_goes_on_on_another_thread() {
    const TURNS: u64 = 10_000_000;
    if !plays("a_program_goes_on_on_another_thread") {
        return;
    }
    let system = start();
    let right = sum(TURNS).to_le_bytes();
    let (over, ready) = (AtomicBool::new(false), Barrier::new(4));
    thread::scope(|scope| {
        // Each thread blocks a signal of its own.
        let others = [libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH].map(|signal| {
            let (system, over, ready) = (&system, &over, &ready);
            scope.spawn(move || {
                block(&[signal]);
                // It has a stack of its own for handlers when it has run the system.
                while alternate().1 < 64 << 10 {
                    call(system.port(), b"echo on");
                }
                let before = (blocked(), alternate());
                ready.wait();
                let mut calls = 0;
                while !over.load(SeqCst) {
                    assert_eq!(call(system.port(), b"echo on").bytes, b"on");
                    calls += 1;
                    assert_eq!((blocked(), alternate()), before, "after {calls} calls");
                    // Now and then nobody calls, and the system's own thread takes over.
                    thread::sleep(Duration::from_micros(calls % 13 * 100));
                }
                alternate()
            })
        });
        ready.wait();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            let mut sums: Vec<_> = (0..2)
                .map(|_| {
                    let text = format!("sum {TURNS}");
                    let port = system.port();
                    port.ask(&asked(Limits::NONE, text.as_bytes()))
                })
                .collect();
            for pending in &mut sums {
                assert_eq!(pending.wait().bytes, right);
            }
        }
        over.store(true, SeqCst);
        let mut stacks = others.map(|other| other.join().unwrap());
        stacks.sort_unstable();
        let apart = stacks.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0);
        assert!(apart, "alternate stacks: {stacks:?}");
    });
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_system_ends_under_callers() {
    if !plays("a_system_ends_under_callers") {
        return;
    }
    for round in 0..40u64 {
        let system = start();
        let callers: Vec<_> = [&b"loop"[..], b"wait", b"echo on", b"crash"]
            .map(|word| {
                let port = Arc::clone(system.port());
                thread::spawn(move || while call(&port, word).outcome.is_some() {})
            })
            .into();
        thread::sleep(Duration::from_micros(round * 500));
        let begun = Instant::now();
        drop(system);
        for caller in callers {
            caller.join().unwrap();
        }
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}
