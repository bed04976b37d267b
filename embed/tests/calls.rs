//! Calls into a system inside this program. One system may be in a process, so the tests take turns.

mod common;

use common::{image, path, runtime, start, turn, within};
use sing_embed::{Error, Image, MOST_ANSWER, MOST_BYTES, Options, System};
use std::fs::Permissions;
use std::future::Future as _;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake};
use std::time::{Duration, Instant};

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn each_call_has_a_process_of_its_own() {
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    for _ in 0..3 {
        assert_eq!(plugin.call(b"upper hello").unwrap(), b"HELLO");
        assert_eq!(plugin.call(b"asked").unwrap(), b"1", "it was asked before");
    }
    assert!(matches!(plugin.call(b""), Err(Error::Empty)));
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_kept_process_remembers() {
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    let mut first = plugin.open().unwrap();
    let mut second = plugin.open().unwrap();
    for asked in 1..4 {
        assert_eq!(first.call(b"asked").unwrap(), format!("{asked}").as_bytes());
    }
    assert_eq!(second.call(b"asked").unwrap(), b"1");
    drop(first);
    assert_eq!(second.call(b"asked").unwrap(), b"2");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn what_goes_wrong_is_named() {
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    match plugin.call(b"crash") {
        Err(Error::Crashed { program, report }) => {
            assert_eq!(program, "plugin");
            assert!(report.contains("unreachable"), "{report}");
        }
        other => panic!("{other:?}"),
    }
    match plugin.call(b"exit") {
        Err(Error::Gone { how, .. }) => {
            assert!(how.contains('9') && !how.contains("said"), "{how}")
        }
        other => panic!("{other:?}"),
    }
    match plugin.call(b"what") {
        Err(Error::Refused { reason, .. }) => assert_eq!(reason, "it knows no such word"),
        other => panic!("{other:?}"),
    }
    match system.program("nothing").call(b"?") {
        Err(Error::NotMade(reason)) => assert!(reason.contains("nothing"), "{reason}"),
        other => panic!("{other:?}"),
    }
    match system.program("hello").call(b"?") {
        Err(Error::NotMade(reason)) => assert!(reason.contains("calls"), "{reason}"),
        other => panic!("{other:?}"),
    }
    match system.program("brood").call(b"?") {
        Err(Error::NotMade(reason)) => assert!(reason.contains("`create`"), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        plugin.call(b"hoard"),
        Err(Error::OutOfMemory { .. })
    ));
    assert_eq!(plugin.call(b"echo still there").unwrap(), b"still there");
    let log = system.log().join("\n");
    assert!(log.contains("it crashes as it was told"), "{log}");
}

/// The report of a call that has crashed, or ended for want of memory.
fn report(result: Result<Vec<u8>, Error>) -> String {
    match result {
        Err(Error::Crashed { report, .. } | Error::OutOfMemory { report, .. }) => report,
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn the_text_of_a_panic_comes_with_the_crash() {
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    let place = "; it said last: panicked at tests/sips/plugin/src/main.rs:";
    let panic = |report: String| {
        let (how, text) = report
            .split_once(place)
            .unwrap_or_else(|| panic!("{report}"));
        assert!(
            how.starts_with("unreachable code was reached, in "),
            "{report}"
        );
        let (place, message) = text.split_once(": ").unwrap();
        let numbers: Vec<u32> = place.split(':').map(|n| n.parse().unwrap()).collect();
        assert!(matches!(numbers[..], [line, _] if line > 1), "{report}");
        message.to_owned()
    };
    assert_eq!(
        panic(report(plugin.call(b"crash"))),
        "it crashes as it was told"
    );
    assert_eq!(
        panic(report(plugin.begin(b"crash").wait())),
        "it crashes as it was told"
    );
    // One that is kept, and others beside it whose words are their own.
    let mut kept = plugin.open().unwrap();
    let mut other = plugin.open().unwrap();
    assert_eq!(kept.call(b"asked").unwrap(), b"1");
    assert_eq!(
        panic(report(other.call(b"panic of the other"))),
        "of the other"
    );
    assert_eq!(panic(report(kept.call(b"panic two\nlines"))), "two lines");
    // A process that has the place of one that has said something has said nothing.
    let silent = report(plugin.call(b"trap"));
    assert!(!silent.contains("said"), "{silent}");
    let spoken = report(plugin.call(b"trap with a word"));
    assert!(spoken.ends_with("; it said last: with a word"), "{spoken}");
    // A long one has its place and its beginning.
    let long = [&b"panic "[..], &[b'x'; 5000]].concat();
    let message = panic(report(plugin.call(&long)));
    assert!(
        message.starts_with("xxxxxxxx") && message.len() < 320,
        "{message}"
    );
    let long = [&b"panic "[..], &[0xff, 0xe2, 0x82, 7, 0x1b]].concat();
    let message = panic(report(plugin.call(&long)));
    assert!(!message.contains(char::is_control), "{message:?}");
    // One for want of memory, which has no memory to say so.
    let report = report(plugin.call(b"hoard"));
    assert!(
        report.contains("memory allocation of 65536 bytes failed"),
        "{report}"
    );
    // An ordinary program says it on its standard error.
    match system.program("call").call(b"map many") {
        Err(Error::Crashed { report, .. }) => {
            assert!(
                report.contains("panicked at ") && report.contains("a number: ParseIntError"),
                "{report}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn memory_that_one_call_was_refused_is_not_another_calls_fault() {
    let _turn = turn();
    let system = start();
    let mut kept = system.program("plugin").open().unwrap();
    assert_eq!(kept.call(b"greedy").unwrap(), b"refused");
    assert!(matches!(kept.call(b"crash"), Err(Error::Crashed { .. })));
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_deadline_ends_what_never_would() {
    let _turn = turn();
    let system = start();
    let plugin = within(system.program("plugin"), 50);
    for word in [&b"loop"[..], b"wait"] {
        let begun = Instant::now();
        match plugin.call(word) {
            Err(Error::TimedOut { program, time }) => {
                assert_eq!((&program[..], time), ("plugin", Duration::from_millis(50)));
            }
            other => panic!("{other:?}"),
        }
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(50), "{took:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
    let mut kept = plugin.open().unwrap();
    assert!(matches!(kept.call(b"loop"), Err(Error::TimedOut { .. })));
    assert!(matches!(kept.call(b"asked"), Err(Error::NotMade(_))));
    assert_eq!(plugin.call(b"echo on").unwrap(), b"on");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_call_has_its_own_budgets() {
    const LEAST: u64 = 1 << 20;
    let _turn = turn();
    let system = start();
    // More than other programs of this machine have before a call goes on: that counts as its own time.
    let time = Duration::from_millis(250);
    let plugin = system.program("plugin");
    let timed = plugin.clone().time(time);
    match timed.call(b"loop") {
        Err(Error::OutOfTime { program, time: had }) => {
            assert_eq!((&program[..], had), ("plugin", time))
        }
        other => panic!("{other:?}"),
    }
    // Who sleeps uses no processor, and has its time again with each call.
    let slept = timed.clone().deadline(4 * time).call(b"wait");
    assert!(matches!(slept, Err(Error::TimedOut { .. })), "{slept:?}");
    let mut kept = timed.open().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < 3 * time {
        assert!(kept.call(b"sum 100000").is_ok());
    }
    assert!(matches!(kept.call(b"loop"), Err(Error::OutOfTime { .. })));
    assert!(matches!(kept.call(b"asked"), Err(Error::NotMade(_))));
    // Memory: what would fit by its manifest does not by the caller's.
    let call = b"echo on";
    let hoards = |memory: u64| match plugin.clone().memory(memory).call(b"hoard") {
        Err(Error::OutOfMemory { report, .. }) => report,
        other => panic!("{other:?}"),
    };
    assert!(!hoards(LEAST).is_empty() && !hoards(u64::MAX).is_empty());
    let large = plugin.clone().memory(LEAST).call(b"large");
    assert!(matches!(large, Err(Error::OutOfMemory { .. })), "{large:?}");
    assert_eq!(plugin.clone().memory(LEAST).call(call).unwrap(), b"on");
    match plugin.clone().memory(1 << 10).call(call) {
        Err(Error::NotMade(reason)) => assert!(reason.contains("plugin"), "{reason}"),
        other => panic!("{other:?}"),
    }
    // An ordinary program's stack has 1 MiB, and its refusal says what is too little for it.
    let ordinary = system.program("call");
    match ordinary.clone().memory(1 << 20).call(b"words") {
        Err(Error::NotMade(reason)) => {
            for part in [
                "call: ",
                "1048576 bytes of memory",
                "1048576 of them for its stack",
            ] {
                assert!(reason.contains(part), "{part}: {reason}");
            }
        }
        other => panic!("{other:?}"),
    }
    assert!(ordinary.memory(8 << 20).call(b"words").is_ok());
    assert_eq!(plugin.call(b"large").unwrap().len(), MOST_ANSWER);
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn lengths_are_bounded_and_held() {
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    let mut call = b"echo ".to_vec();
    call.resize(MOST_BYTES, b'x');
    assert_eq!(plugin.call(&call).unwrap(), call[5..]);
    call.push(b'x');
    assert!(matches!(plugin.call(&call), Err(Error::TooLong { .. })));
    let name = "n".repeat(1000);
    let long = system.program(&name).call(b"?");
    assert!(matches!(long, Err(Error::TooLong { .. })));
    assert_eq!(plugin.call(b"large").unwrap(), vec![7; MOST_ANSWER]);
    assert!(matches!(plugin.call(b"larger"), Err(Error::Refused { .. })));
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn many_threads_call_at_once() {
    let _turn = turn();
    let system = start();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let system = &system;
            scope.spawn(move || {
                let plugin = system.program("plugin");
                for number in 0..50 {
                    let said = format!("{thread} {number}");
                    let answer = plugin.call(format!("echo {said}").as_bytes());
                    assert_eq!(answer.unwrap(), said.as_bytes());
                }
            });
        }
    });
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn one_system_at_a_time() {
    let _turn = turn();
    let system = start();
    let second = System::start(&image());
    assert!(matches!(second, Err(Error::Machine(_))), "{second:?}");
    assert_eq!(system.program("plugin").call(b"echo 1").unwrap(), b"1");
    drop(system);
    assert_eq!(start().program("plugin").call(b"echo 2").unwrap(), b"2");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn what_is_no_image_is_refused() {
    let _turn = turn();
    let bytes = std::fs::read(path()).unwrap();
    let name = format!("sing-embed-{}", std::process::id());
    let broken = std::env::temp_dir().join(name);
    std::fs::write(&broken, &bytes[..bytes.len() / 2]).unwrap();
    let system = System::start(&Image::open(&broken).unwrap());
    assert!(matches!(system, Err(Error::Image(_))), "{system:?}");
    for bytes in [&b""[..], b"no image"] {
        std::fs::write(&broken, bytes).unwrap();
        let error = Image::open(&broken).unwrap_err().to_string();
        let shown = broken.display().to_string();
        assert!(error.starts_with(&shown), "{error}");
        assert!(error.contains("not a system image"), "{error}");
    }
    // Nobody writes to a pipe, and whoever opens it waits for that.
    let pipe = broken.with_extension("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let error = Image::open(&pipe).unwrap_err().to_string();
    std::fs::remove_file(&pipe).unwrap();
    assert!(error.contains("it is a pipe"), "{error}");
    let error = Image::open(&std::env::temp_dir()).unwrap_err().to_string();
    assert!(error.contains("directory"), "{error}");
    std::fs::set_permissions(&broken, Permissions::from_mode(0o666)).unwrap();
    let error = Image::open(&broken).unwrap_err();
    assert!(error.to_string().contains("chmod o-w"), "{error}");
    std::fs::remove_file(&broken).unwrap();
    assert!(Image::open(&broken).is_err());
    let mut options = Options::default();
    options.memory = Some(1);
    let system = System::with(&image(), &options);
    assert!(matches!(system, Err(Error::Machine(_))), "{system:?}");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_system_can_end_under_a_call() {
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    // Both are under way when the system is dropped, one of them in its own code.
    drop(plugin.begin(b"loop"));
    let _call = std::mem::ManuallyDrop::new(plugin.begin(b"wait"));
    std::thread::sleep(Duration::from_millis(20));
    let begun = Instant::now();
    drop(system.program("plugin").begin(b"loop"));
    let _ = plugin;
    drop(system);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn calls_are_futures() {
    let _turn = turn();
    let system = start();
    runtime().block_on(async {
        let plugin = system.program("plugin");
        let (first, second) = (plugin.begin(b"upper a"), plugin.begin(b"upper b"));
        assert_eq!(second.await.unwrap(), b"B");
        assert_eq!(first.await.unwrap(), b"A");
        // What else the executor has goes on meanwhile, and ends the call by dropping it.
        let wait = tokio::time::timeout(Duration::from_millis(30), plugin.begin(b"loop"));
        assert!(wait.await.is_err());
        let mut kept = plugin.open().unwrap();
        assert_eq!(kept.begin(b"asked").await.unwrap(), b"1");
        drop(kept.begin(b"wait"));
        assert!(kept.begin(b"asked").await.is_err(), "its call was dropped");
        assert!(matches!(
            plugin.begin(b"crash").await,
            Err(Error::Crashed { .. })
        ));
        assert!(matches!(plugin.begin(b"").await, Err(Error::Empty)));
    });
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn calls_that_nobody_waits_for_leave_none_behind() {
    let _turn = turn();
    let system = start();
    let plugin = system.program("plugin");
    runtime().block_on(async {
        for _ in 0..3 {
            let spins = plugin.begin(b"loop");
            std::thread::sleep(Duration::from_millis(20));
            // The system is awake, and is not interrupted for a call that nobody waits for.
            drop(plugin.begin(b"asked"));
            drop(spins);
            let next = tokio::time::timeout(Duration::from_secs(10), plugin.begin(b"echo on"));
            let answer = next.await.expect("the system was not told of the call");
            assert_eq!(answer.unwrap(), b"on");
        }
    });
}

/// Drops a system when it is called.
struct Ends(Mutex<Option<Arc<System>>>, mpsc::Sender<()>);

impl Wake for Ends {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
        self.1.send(()).unwrap();
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_waker_can_drop_the_system() {
    let _turn = turn();
    let system = Arc::new(start());
    let (tell, told) = mpsc::channel();
    let ends = Arc::new(Ends(Mutex::new(Some(Arc::clone(&system))), tell));
    let plugin = within(system.program("plugin"), 50);
    let mut call = Box::pin(plugin.begin(b"wait"));
    let waker = ends.into();
    let polled = call.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(polled, Poll::Pending));
    // Who drops it would end the call; nobody does, and the waker has the system last.
    std::mem::forget(call);
    drop(waker);
    drop(plugin);
    drop(system);
    let ended = told.recv_timeout(Duration::from_secs(10));
    ended.expect("the system has not ended");
    assert_eq!(start().program("plugin").call(b"echo 1").unwrap(), b"1");
}
