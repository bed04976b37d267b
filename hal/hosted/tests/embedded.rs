//! Signals of an embedded system beside those of the program that it is in. Each scene is a process
//! of its own.

mod common;

use common::scene;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getpid, getrlimit, kill_process, setrlimit, waitpid,
};
use sing_calls::{Op, Outcome};
use sing_hosted::embed::{Image, Running};
use sing_hosted::{Asked, Config};
use sing_kernel::Options;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// The status of a process whose own handler has had the fault.
const HANDLED: i32 = 42;

/// A call of the plug-in.
fn asked(bytes: &[u8]) -> Asked<'_> {
    Asked {
        name: "plugin",
        bytes,
        ..Asked::of(Op::Call, 0)
    }
}

fn start() -> Running {
    let path = std::env::var_os("SING_EMBED_IMAGE")
        .expect("the system image for these tests; `cargo xtask test embed` makes it");
    let image = Image::open(path.as_ref()).unwrap();
    Running::start(&image, Config::default(), Options::default()).unwrap()
}

/// What becomes of a call of the plug-in.
fn call(system: &Running, bytes: &[u8]) -> Option<Outcome> {
    let mut pending = system.port().ask(&asked(bytes));
    pending.wait().outcome
}

extern "C" fn exits(_: libc::c_int) {
    // SAFETY: ends the process.
    unsafe { libc::_exit(HANDLED) }
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    set_handler(signal, handler as *const () as usize);
}

/// Has a signal do what a handler, or `SIG_DFL` or `SIG_IGN`, does.
fn set_handler(signal: libc::c_int, handler: libc::sighandler_t) {
    // SAFETY: the handlers here only end the process, or count.
    unsafe { libc::signal(signal, handler) };
}

/// Ends this process after a while, if it hangs.
fn watch() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(20));
        eprintln!("the scene hangs");
        std::process::abort();
    });
}

/// Reads an address where nothing is.
fn fault() {
    // SAFETY: it is none, and is what the test is about: Linux makes a fault of it.
    unsafe { std::ptr::without_provenance::<u8>(8).read_volatile() };
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_fault_of_the_programs_own_goes_to_its_handler() {
    const TEST: &str = "a_fault_of_the_programs_own_goes_to_its_handler";
    if std::env::var_os("SCENE").is_none() {
        let ended = |name| scene(TEST, name).arg("--ignored").status().unwrap();
        for name in ["handled", "on another thread", "after the end"] {
            assert_eq!(ended(name).code(), Some(HANDLED), "{name}");
        }
        assert_eq!(ended("without a handler").signal(), Some(libc::SIGSEGV));
        return;
    }
    let name = std::env::var("SCENE").unwrap();
    if name != "without a handler" {
        handle(libc::SIGSEGV, exits);
    } else {
        set_handler(libc::SIGSEGV, libc::SIG_DFL);
    }
    let system = start();
    // Faults of the system's own do not go there.
    assert_eq!(call(&system, b"crash"), Some(Outcome::Crashed));
    assert_eq!(call(&system, b"echo on"), Some(Outcome::Done));
    match &name[..] {
        "on another thread" => std::thread::spawn(fault).join().unwrap(),
        "after the end" => {
            drop(system);
            fault();
        }
        _ => fault(),
    }
    unreachable!("the process has ended");
}

static COUNTED: AtomicU32 = AtomicU32::new(0);

extern "C" fn counts(_: libc::c_int) {
    COUNTED.fetch_add(1, SeqCst);
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn signals_of_the_program_stay_its_own() {
    const TEST: &str = "signals_of_the_program_stay_its_own";
    // Those that an ordinary hosted system uses, and some that programs do.
    const SIGNALS: [libc::c_int; 6] = [
        libc::SIGALRM,
        libc::SIGIO,
        libc::SIGURG,
        libc::SIGUSR1,
        libc::SIGCHLD,
        libc::SIGTERM,
    ];
    if std::env::var_os("SCENE").is_none() {
        let ended = scene(TEST, "counts").arg("--ignored").status().unwrap();
        assert!(ended.success());
        return;
    }
    for signal in SIGNALS {
        handle(signal, counts);
    }
    let system = start();
    for signal in SIGNALS {
        // SAFETY: sends a signal to this process, which has a handler for it.
        unsafe { libc::kill(libc::getpid(), signal) };
        assert_eq!(call(&system, b"echo on"), Some(Outcome::Done));
    }
    // Another thread may take them, a moment later.
    let begun = std::time::Instant::now();
    while COUNTED.load(SeqCst) < SIGNALS.len() as u32 && begun.elapsed().as_secs() < 10 {
        std::thread::yield_now();
    }
    assert_eq!(COUNTED.load(SeqCst), SIGNALS.len() as u32);
}

/// The handler that [`chains`] has found.
static FOUND: AtomicUsize = AtomicUsize::new(0);

/// Calls the handler that was there before, as libraries' handlers do.
extern "C" fn chains(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type WithInfo = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    // SAFETY: the system's handler, which is of this type.
    let found: WithInfo = unsafe { std::mem::transmute(FOUND.load(SeqCst)) };
    found(signal, info, context);
}

/// Puts a handler that chains before the system's.
fn chain() {
    // SAFETY: all zeros is a valid value of this plain structure; the handler is of the type that
    // the flag says.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut old = action;
        action.sa_sigaction = chains as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut old);
        FOUND.store(old.sa_sigaction, SeqCst);
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn handlers_that_call_each_other_do_not_go_round() {
    const TEST: &str = "handlers_that_call_each_other_do_not_go_round";
    if std::env::var_os("SCENE").is_none() {
        for name in ["within the second system", "after the second system"] {
            let ended = scene(TEST, name).arg("--ignored").status().unwrap();
            assert_eq!(ended.code(), Some(HANDLED), "{name}");
        }
        return;
    }
    handle(libc::SIGSEGV, exits);
    let first = start();
    chain();
    drop(first);
    let second = start();
    assert_eq!(call(&second, b"crash"), Some(Outcome::Crashed));
    if std::env::var("SCENE").unwrap() == "after the second system" {
        drop(second);
    }
    fault();
    unreachable!("the process has ended");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_signal_that_is_sent_and_ignored_ends_nothing() {
    const TEST: &str = "a_signal_that_is_sent_and_ignored_ends_nothing";
    if std::env::var_os("SCENE").is_none() {
        let ended = scene(TEST, "ignores").arg("--ignored").status().unwrap();
        assert!(ended.success(), "{ended}");
        return;
    }
    set_handler(libc::SIGSEGV, libc::SIG_IGN);
    let system = start();
    for _ in 0..2 {
        kill_process(getpid(), Signal::SEGV).unwrap();
        assert_eq!(call(&system, b"crash"), Some(Outcome::Crashed));
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_fork_has_no_system() {
    const TEST: &str = "a_fork_has_no_system";
    if std::env::var_os("SCENE").is_none() {
        let ended = scene(TEST, "forks").arg("--ignored").status().unwrap();
        assert!(ended.success(), "{ended}");
        return;
    }
    let system = start();
    let mut begun = system.port().ask(&asked(b"wait"));
    // SAFETY: what the child does below needs no thread but its own.
    let child = unsafe { libc::fork() };
    if child == 0 {
        watch();
        let mut right = begun.wait().outcome.is_none();
        right &= call(&system, b"echo on").is_none();
        system.port().tell(Op::Cancel, begun.id());
        drop(system);
        if right {
            exits(0);
        }
        std::process::abort();
    }
    let ended = waitpid(Pid::from_raw(child), WaitOptions::empty()).unwrap();
    assert_eq!(ended.unwrap().1.exit_status(), Some(HANDLED));
    assert_eq!(call(&system, b"echo on"), Some(Outcome::Done));
}

/// Sets how many signals of this user's may be under way; what it was.
fn limit_signals(current: Option<u64>) -> Option<u64> {
    let before = getrlimit(Resource::Sigpending);
    let maximum = before.maximum;
    setrlimit(Resource::Sigpending, Rlimit { current, maximum }).unwrap();
    before.current
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_call_is_made_though_linux_has_no_signal_for_a_while() {
    const TEST: &str = "a_call_is_made_though_linux_has_no_signal_for_a_while";
    if std::env::var_os("SCENE").is_none() {
        let ended = scene(TEST, "lacks").arg("--ignored").status().unwrap();
        assert!(ended.success(), "{ended}");
        return;
    }
    watch();
    let system = start();
    let lack = Duration::from_millis(50);
    let lacking = || {
        let before = limit_signals(Some(0));
        std::thread::spawn(move || {
            std::thread::sleep(lack);
            limit_signals(before);
        })
    };
    // The system sleeps.
    std::thread::sleep(lack);
    let thread = lacking();
    assert_eq!(call(&system, b"echo on"), Some(Outcome::Done));
    thread.join().unwrap();
    // Nobody but the end interrupts this.
    let mut spins = system.port().ask(&asked(b"loop"));
    std::thread::sleep(lack);
    let thread = lacking();
    drop(system);
    thread.join().unwrap();
    assert_eq!(spins.wait().outcome, None);
}
