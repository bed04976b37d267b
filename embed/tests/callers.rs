//! Calls that run the system on the threads that make them: what those may be, and all that can
//! happen to the system meanwhile. One system may be in a process, so the tests take turns.

mod common;

use common::{start, turn, within};
use sing_embed::{Error, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// How often the thread of this name has gone to sleep.
fn sleeps(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let mut tasks = tasks.map(|task| task.unwrap().path());
    let own = |file: &str, task: &std::path::Path| std::fs::read_to_string(task.join(file));
    let task = tasks
        .find(|task| own("comm", task).is_ok_and(|comm| comm.trim() == name))
        .expect("a thread of this name");
    let status = own("status", &task).unwrap();
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.unwrap().trim().parse().unwrap()
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_call_wakes_no_thread() {
    const CALLS: usize = 2000;
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    assert_eq!(plugin.call(b"echo 0").unwrap(), b"0");
    thread::sleep(Duration::from_millis(50));
    let (before, begun) = (sleeps("system"), Instant::now());
    for _ in 0..CALLS {
        assert_eq!(plugin.call(b"echo on").unwrap(), b"on");
    }
    // The timer comes at the ends of quanta.
    let most = CALLS / 20 + begun.elapsed().as_millis() as usize;
    let slept = sleeps("system") - before;
    assert!(
        slept < most,
        "the system's thread has slept {slept} times, of {most}"
    );
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn threads_come_and_go() {
    let _turn = turn();
    let system = start();
    let mappings = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().count()
    };
    let call = |number: usize| {
        let plugin = system.program("plugin");
        // Less than a handler for faults needs, which has a stack of its own.
        let small = thread::Builder::new().stack_size(32 << 10);
        thread::scope(|scope| {
            let caller = small.spawn_scoped(scope, || {
                let said = format!("echo {number}");
                assert_eq!(plugin.call(said.as_bytes()).unwrap(), said.as_bytes()[5..]);
                assert!(matches!(plugin.call(b"crash"), Err(Error::Crashed { .. })));
            });
            caller.unwrap().join().unwrap();
        });
    };
    (0..20).for_each(call);
    let before = mappings();
    (0..200).for_each(call);
    let after = mappings();
    assert!(after <= before + 20, "{before} mappings, then {after}");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_call_that_is_over_returns_while_others_run() {
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    for _ in 0..30 {
        // Runs beside the call, on whichever thread, and does not end by itself.
        let spins = plugin.begin(b"loop");
        let begun = Instant::now();
        assert_eq!(plugin.call(b"echo on").unwrap(), b"on");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?}");
        drop(spins);
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_caller_whose_process_spins_keeps_no_other_waiting() {
    let _turn = turn();
    let system = start();
    let spinning = within(system.program("plugin"), 1500);
    let plugin = system.program("plugin");
    thread::scope(|scope| {
        let spins = scope.spawn(|| {
            let begun = Instant::now();
            let answer = spinning.call(b"loop");
            assert!(matches!(answer, Err(Error::TimedOut { .. })), "{answer:?}");
            begun.elapsed()
        });
        thread::sleep(Duration::from_millis(100));
        let mut calls = 0;
        while !spins.is_finished() {
            assert_eq!(plugin.call(b"echo on").unwrap(), b"on");
            calls += 1;
        }
        assert!(calls > 10, "{calls} calls beside one that spins");
        let took = spins.join().unwrap();
        assert!(took >= Duration::from_millis(1500), "{took:?}");
        assert!(took < Duration::from_secs(10), "{took:?}");
    });
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_panic_between_calls_is_the_hosts_own() {
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    thread::scope(|scope| {
        let caller = scope.spawn(|| {
            let _call = plugin.begin(b"loop");
            assert_eq!(plugin.call(b"echo on").unwrap(), b"on");
            panic!("as the test has it");
        });
        assert!(caller.join().is_err());
    });
    assert_eq!(plugin.call(b"echo on").unwrap(), b"on");
}

/// One step of a caller's; `dice` says which.
fn step(system: &System, dice: u32, said: &str) {
    let plugin = system.program("plugin");
    let soon = within(system.program("plugin"), 2 + u64::from(dice % 7));
    let echo = format!("echo {said}");
    let answer = said.as_bytes();
    match dice % 11 {
        0 => assert!(matches!(plugin.call(b"crash"), Err(Error::Crashed { .. }))),
        1 => assert!(matches!(plugin.call(b"exit"), Err(Error::Gone { .. }))),
        2 => assert!(matches!(soon.call(b"loop"), Err(Error::TimedOut { .. }))),
        3 => assert!(matches!(soon.call(b"wait"), Err(Error::TimedOut { .. }))),
        4 => drop(plugin.begin(b"loop")),
        5 => {
            let call = plugin.begin(b"wait");
            thread::sleep(Duration::from_micros(u64::from(dice % 500)));
            drop(call);
        }
        6 => assert_eq!(plugin.begin(echo.as_bytes()).wait().unwrap(), answer),
        7 => {
            let mut kept = plugin.open().unwrap();
            for _ in 0..dice % 5 {
                assert_eq!(kept.call(echo.as_bytes()).unwrap(), answer);
            }
        }
        8 => {
            let mut kept = soon.open().unwrap();
            assert!(matches!(kept.call(b"loop"), Err(Error::TimedOut { .. })));
            assert!(kept.call(b"asked").is_err());
        }
        _ => {
            for _ in 0..20 {
                assert_eq!(plugin.call(echo.as_bytes()).unwrap(), answer);
            }
        }
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn eight_threads_do_whatever_they_like() {
    let _turn = turn();
    let system = start();
    let end = Instant::now() + Duration::from_secs(4);
    let steps = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..8u32 {
            let (system, steps) = (&system, &steps);
            scope.spawn(move || {
                // A generator of Lehmer's.
                let mut dice = 48_271 * (number + 1);
                while Instant::now() < end {
                    dice = (u64::from(dice) * 48_271 % 0x7fff_ffff) as u32;
                    step(system, dice >> 8, &format!("{number} {dice}"));
                    steps.fetch_add(1, SeqCst);
                }
            });
        }
    });
    let steps = steps.load(SeqCst);
    assert!(steps > 100, "{steps} steps");
    // All that was begun has ended: as many may be open now as ever.
    let plugin = system.program("plugin");
    let begun = Instant::now();
    let mut kept = Vec::new();
    while kept.len() < 200 {
        match plugin.open() {
            Ok(process) => kept.push(process),
            Err(error) => {
                let late = begun.elapsed() > Duration::from_secs(10);
                assert!(!late, "{} kept, then: {error}", kept.len());
            }
        }
    }
    assert_eq!(kept[199].call(b"asked").unwrap(), b"1");
}
