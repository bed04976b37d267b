//! The HAL's own test, without the kernel: `selftest` on the command line.
//!
//! The tests try to break what `sing_kernel::hal` asks for. They stand in for the kernel: [`arrive`] and [`fault`] are
//! called instead of it. Each prints a line; the last line is `N passed, N failed`, and the exit status is 0
//! where none failed. `selftest fault`, `selftest panic` and `selftest exit N` show how the system ends instead.

mod faults;
mod lines;
mod memory;
mod preemption;
mod probe;
mod time;

use crate::interrupts::LINES;
use crate::serial::line;
use crate::{exit, hal::Pc};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use sing_kernel::hal::{Hal, LINE_TIMER};

pub use probe::fault;

static RUNNING: AtomicBool = AtomicBool::new(false);
/// Interrupts that arrived, by line.
static ARRIVED: [AtomicU64; LINES] = [const { AtomicU64::new(0) }; LINES];
/// Those of them that interrupted SIP code.
static IN_SIP: AtomicU64 = AtomicU64::new(0);

/// Whether the test runs instead of the kernel.
pub fn is_running() -> bool {
    RUNNING.load(Relaxed)
}

/// Takes the place of `sing_kernel::interrupt::arrive`.
pub fn arrive(line: u32, in_sip: bool) {
    ARRIVED[line as usize].fetch_add(1, Relaxed);
    if in_sip {
        IN_SIP.fetch_add(1, Relaxed);
    }
    if line == LINE_TIMER {
        preemption::tick(in_sip);
    }
}

/// Interrupts that have arrived on a line.
fn arrived(line: u32) -> u64 {
    ARRIVED[line as usize].load(Relaxed)
}

/// What a test says: nothing, or what is wrong.
type Outcome = Result<(), String>;

/// Fails the test where the condition does not hold.
macro_rules! check {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(alloc::format!($($message)+));
        }
    };
}
use check;

type Test = (&'static str, fn() -> Outcome);

const TESTS: &[Test] = &[
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

/// Runs the tests that `which` chooses: all of them, or one of the ways to end.
pub fn run(which: &str) -> ! {
    RUNNING.store(true, Relaxed);
    match which.split_once(' ').unwrap_or((which, "")) {
        ("fault", _) => {
            probe::touch(8);
            line!("the kernel read address 8 and lives");
            exit::exit(1)
        }
        ("panic", _) => panic!("asked to"),
        ("exit", status) => exit::exit(status.parse().unwrap_or(1)),
        _ => {}
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

/// What something came to, for messages.
fn versus<T: core::fmt::Debug>(found: T, expected: T) -> String {
    format!("found {found:x?}, expected {expected:x?}")
}
