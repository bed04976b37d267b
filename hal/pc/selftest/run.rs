//! The list of tests, and their runner.
//!
//! [`arrive`] and [`fault`](crate::probe::fault) are called instead of the kernel. Each test prints
//! a line; the last line is `N passed, N failed`, and the exit status is 0 if none failed. The
//! words `fault`, `panic` and `exit N` of the command line show the ways in which the system ends
//! instead.

use crate::{faults, lines, memory, preemption, probe, time, views};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sing_abi::exit::machine::USAGE;
use sing_kernel::hal::{Hal, LINE_TIMER};
use sing_pc::inside::LINES;
use sing_pc::{Hooks, Pc, Start};

sing_pc::hooks!(Hooks {
    start,
    interrupt: arrive,
    fault: probe::fault,
});

/// Interrupts that arrived, by line.
pub static ARRIVED: [AtomicU64; LINES] = [const { AtomicU64::new(0) }; LINES];
/// Those of them that interrupted SIP code.
pub static IN_SIP: AtomicU64 = AtomicU64::new(0);

/// The first and last address of the module in the system image's place; 0 without one.
static IMAGE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The first and last address of the module in the system image's place, if there is one.
pub fn image() -> Option<[u64; 2]> {
    let ends = IMAGE.each_ref().map(|end| end.load(Relaxed));
    (ends != [0; 2]).then_some(ends)
}

/// Takes the place of `sing_kernel::interrupt::arrive`.
fn arrive(line: u32, in_sip: bool) {
    ARRIVED[line as usize].fetch_add(1, Relaxed);
    if in_sip {
        IN_SIP.fetch_add(1, Relaxed);
    }
    if line == LINE_TIMER {
        preemption::tick(in_sip);
    }
}

/// Interrupts that have arrived on a line.
pub fn arrived(line: u32) -> u64 {
    ARRIVED[line as usize].load(Relaxed)
}

/// A test's result: success, or what is wrong.
pub type Outcome = Result<(), String>;

/// Fails the test unless the condition holds.
macro_rules! check {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(alloc::format!($($message)+));
        }
    };
}
pub(crate) use check;

type Test = (&'static str, fn() -> Outcome);

const TESTS: &[Test] = &[
    (
        "registers that are hidden read as ones, and the program goes on",
        views::hidden_registers_read_as_ones,
    ),
    (
        "committed memory is zeroed and writable",
        memory::commits_zeroed,
    ),
    (
        "decommitted memory is inaccessible, then zeroed again",
        memory::decommits,
    ),
    ("discarded memory reads as zero", memory::discards),
    (
        "memory that is short is refused and nothing changes",
        memory::refuses_too_much,
    ),
    (
        "released memory and its page tables are free again",
        memory::releases_everything,
    ),
    (
        "reservations are many, large and apart",
        memory::reserves_apart,
    ),
    (
        "the heap grows, and keeps what it holds",
        memory::heap_grows,
    ),
    (
        "the null page and what surrounds the kernel is not mapped",
        faults::null_is_unmapped,
    ),
    (
        "what can be written cannot be executed",
        faults::data_is_not_executable,
    ),
    (
        "what can be executed cannot be written, under any address",
        faults::code_is_read_only,
    ),
    (
        "the system image can be read, and neither written nor executed",
        faults::image_is_read_only,
    ),
    (
        "faults of SIP code are told apart and jumped from",
        faults::are_told_apart,
    ),
    ("a fault whose cause is removed is retried", faults::retries),
    (
        "a SIP without a stack faults like any other",
        faults::survives_a_bad_stack,
    ),
    ("code arena keeps what it is given", faults::loads_code),
    (
        "code that finds no memory leaves nothing behind that is executable and writable",
        faults::loads_all_or_nothing,
    ),
    (
        "frames side by side, aligned, below a limit",
        memory::takes_runs,
    ),
    (
        "the clock goes on, the date is of this century",
        time::clock,
    ),
    (
        "the timer comes once, never early, soon after its time",
        time::timer_is_punctual,
    ),
    (
        "a timer can be replaced, cancelled, and set in the past",
        time::timer_changes,
    ),
    ("no wake-up is lost", time::no_lost_wake_up),
    (
        "input at the console is reported and read",
        time::console_input,
    ),
    (
        "input that nobody reads is kept",
        time::console_keeps_everything,
    ),
    ("processor features", time::features),
    (
        "an interrupt that nobody knows keeps no other from coming",
        lines::unknown_interrupts_are_ended,
    ),
    (
        "a device's line comes when it is unmasked, once, and has one holder",
        lines::a_line_is_masked_and_unmasked,
    ),
    (
        "kernel code is interrupted without a switch",
        preemption::kernel_is_interrupted,
    ),
    (
        "an endless SIP is taken off the processor",
        preemption::endless_loop,
    ),
    (
        "all registers survive pre-emption",
        preemption::registers_survive,
    ),
];

/// Prints a line.
macro_rules! line {
    ($($argument:tt)*) => { sing_pc::say(format_args!($($argument)*)) };
}

/// Runs all tests, or shows one of the ways in which the system ends.
fn start(machine: Start<'_>) -> ! {
    let words: Vec<String> = machine
        .request
        .words()
        .map(|word| word.chars().collect())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some([first, .., last]) = machine.image {
        IMAGE[0].store(&raw const *first as u64, Relaxed);
        IMAGE[1].store(&raw const *last as u64, Relaxed);
    }
    match words[..] {
        [] => {}
        ["fault"] => {
            probe::touch(8);
            line!("the kernel read address 8 and lives");
            Pc.exit(1)
        }
        ["panic"] => panic!("asked to"),
        ["exit", status] => Pc.exit(status.parse().unwrap_or(1)),
        _ => {
            line!("the test knows `fault`, `panic` and `exit N`, and no {words:?}");
            Pc.exit(USAGE)
        }
    }
    let mut failed = 0;
    for (name, test) in TESTS {
        match test() {
            Ok(()) => line!("ok      {name}"),
            Err(why) => {
                failed += 1;
                line!("FAILED  {name}: {why}");
            }
        }
    }
    line!("{} passed, {failed} failed", TESTS.len() - failed);
    Pc.exit(i32::from(failed > 0))
}

/// A found and an expected value, for messages.
pub fn versus<T: core::fmt::Debug>(found: T, expected: T) -> String {
    format!("found {found:x?}, expected {expected:x?}")
}
