//! Directories of the host that calls are given. One system may be in a process, so the tests take
//! turns.

mod common;

use common::{image, runtime, start, turn};
use sing_embed::{Access, Error, Options, Process, Program, System};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A folder of a test's own: `a` and `b` in it are for programs, `secret` is for none.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, SeqCst));
        let place = std::env::temp_dir().join(format!("sing-embed-dir-{process}-{number}"));
        for name in ["a", "b"] {
            fs::create_dir_all(place.join(name)).unwrap();
            fs::write(place.join(name).join("own"), name).unwrap();
        }
        fs::write(place.join("secret"), "secret").unwrap();
        Place(place)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// How many descriptors of this process lead there.
    fn descriptors(&self) -> usize {
        let open = fs::read_dir("/proc/self/fd").unwrap();
        let leads = |link: PathBuf| link.starts_with(&self.0);
        open.filter(|entry| fs::read_link(entry.as_ref().unwrap().path()).is_ok_and(leads))
            .count()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn shelf<'s>(system: &'s System, host: &Path, access: Access) -> Program<'s> {
    system.program("shelf").dir(host, "/work", access)
}

fn done(process: &mut Process<'_>, call: &str) -> String {
    let answer = process.call(call.as_bytes());
    String::from_utf8(answer.unwrap_or_else(|error| panic!("{call:?}: {error}"))).unwrap()
}

fn refused(process: &mut Process<'_>, call: &str) -> String {
    match process.call(call.as_bytes()) {
        Err(Error::Refused { reason, .. }) => reason,
        other => panic!("{call:?}: {other:?}"),
    }
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn two_calls_with_different_directories_see_their_own_and_nothing_else() {
    let _turn = turn();
    let (place, system) = (Place::new(), start());
    // What the host has put there leads out: to the other's, and above both.
    for (own, other) in [("a", "b"), ("b", "a")] {
        symlink(place.at(other), place.at(own).join("other")).unwrap();
        symlink(format!("../{other}/own"), place.at(own).join("near")).unwrap();
        symlink(place.at("secret"), place.at(own).join("far")).unwrap();
        fs::create_dir(place.at(own).join("sub")).unwrap();
    }
    let open = |name| {
        shelf(&system, &place.at(name), Access::Writable)
            .open()
            .unwrap()
    };
    let (mut first, mut second) = (open("a"), open("b"));
    let absolute = place.at("secret").display().to_string();
    for (process, own) in [(&mut first, "a"), (&mut second, "b")] {
        assert_eq!(done(process, "names"), "/work");
        assert_eq!(done(process, "list\n/work"), "far near other own sub");
        assert_eq!(done(process, "read\n/work\nown"), own);
        assert_eq!(
            done(process, &format!("write\n/work\nnew\nof {own}")),
            "done"
        );
        for path in [
            "../secret",
            "../a/own",
            "../b/own",
            "near",
            "far",
            "other/own",
            "/etc/passwd",
            &absolute,
            "sub/../../secret",
            "./../secret",
        ] {
            let reason = refused(process, &format!("read\n/work\n{path}"));
            assert!(
                reason.contains("outside") || reason.contains("leads"),
                "{path}: {reason}"
            );
            refused(process, &format!("write\n/work\n{path}\nchanged"));
        }
        // Links of its own making lead no further; nor does a new name for what is elsewhere.
        assert_eq!(
            done(process, &format!("symlink\n/work\nmine\n{absolute}")),
            "done"
        );
        refused(process, "read\n/work\nmine");
        refused(process, "rename\n/work\nnew\n../new");
        refused(process, "link\n/work\n../secret\nstolen");
        refused(process, "list\n/other");
    }
    for own in ["a", "b"] {
        assert_eq!(fs::read_to_string(place.at(own).join("own")).unwrap(), own);
        let new = fs::read_to_string(place.at(own).join("new")).unwrap();
        assert_eq!(new, format!("of {own}"));
    }
    assert_eq!(fs::read_to_string(place.at("secret")).unwrap(), "secret");
    assert!(!place.at("new").exists());
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_process_has_several_and_each_call_anew() {
    let _turn = turn();
    let (place, system) = (Place::new(), start());
    let program = system
        .program("shelf")
        .dir(&place.at("a"), "first", Access::ReadOnly)
        .dir(&place.at("b"), "second", Access::Writable);
    for turn in 0..20 {
        assert_eq!(program.call(b"names").unwrap(), b"first second");
        assert_eq!(program.call(b"read\nfirst\nown").unwrap(), b"a");
        let write = format!("write\nsecond\n{turn}\n{turn}");
        assert_eq!(program.call(write.as_bytes()).unwrap(), b"done");
    }
    assert_eq!(fs::read_dir(place.at("b")).unwrap().count(), 21);
    // Large files come and go whole, in many pieces.
    assert_eq!(
        program.call(b"fill\nsecond\nlarge\n700001").unwrap(),
        b"done"
    );
    let bytes: Vec<u8> = (0..700_001u32).map(|i| i as u8).collect();
    assert!(fs::read(place.at("b/large")).unwrap() == bytes);
    assert!(program.call(b"read\nsecond\nlarge").unwrap() == bytes);
    // Many names, too.
    fs::create_dir(place.at("b/many")).unwrap();
    for i in 0..2000 {
        fs::write(place.at(&format!("b/many/name-{i:04}")), "").unwrap();
    }
    let listed = program.call(b"below\nsecond\nmany").unwrap();
    assert_eq!(listed.split(|byte| *byte == b' ').count(), 2000);
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn what_is_given_to_be_read_is_not_changed() {
    let _turn = turn();
    let (place, system) = (Place::new(), start());
    fs::create_dir(place.at("a/below")).unwrap();
    let program = shelf(&system, &place.at("a"), Access::ReadOnly);
    let mut process = program.open().unwrap();
    assert_eq!(done(&mut process, "read\n/work\nown"), "a");
    for call in [
        "write\n/work\nown\nchanged",
        "write\n/work\nnew\nchanged",
        "fill\n/work\nown\n9",
        "mkdir\n/work\nnew",
        "remove\n/work\nown",
        "rename\n/work\nown\nnew",
        "link\n/work\nown\nnew",
        "symlink\n/work\nnew\nown",
        "touch\n/work\nown",
    ] {
        let reason = refused(&mut process, call);
        assert!(reason.contains("read"), "{call:?}: {reason}");
    }
    assert_eq!(done(&mut process, "list\n/work"), "below own");
    assert_eq!(fs::read_to_string(place.at("a/own")).unwrap(), "a");
    // The same directory can be another's to change at the same time.
    let writes = shelf(&system, &place.at("a"), Access::Writable);
    assert_eq!(writes.call(b"write\n/work\nown\nchanged").unwrap(), b"done");
    assert_eq!(done(&mut process, "read\n/work\nown"), "changed");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn what_cannot_be_given_is_named_and_no_process_made() {
    let _turn = turn();
    let place = Place::new();
    let mut options = Options::default();
    options.directories = 2;
    let system = System::with(&image(), &options).unwrap();
    let why = |program: Program<'_>| {
        let errors = [
            program.call(b"names").unwrap_err(),
            program.open().unwrap_err(),
        ];
        let begun = program.begin(b"names").wait().unwrap_err();
        assert_eq!(begun.to_string(), errors[0].to_string());
        errors.map(|error| match error {
            Error::Directory { .. } | Error::NotMade(_) => error.to_string(),
            other => panic!("{other:?}"),
        })
    };
    let missing = place.at("missing");
    for error in why(shelf(&system, &missing, Access::Writable)) {
        let named = error.contains(&missing.display().to_string());
        assert!(named && error.contains("no such directory"), "{error}");
    }
    for error in why(shelf(&system, &place.at("secret"), Access::ReadOnly)) {
        assert!(error.contains("not a directory"), "{error}");
    }
    for error in why(system
        .program("plugin")
        .dir(&place.at("a"), "/work", Access::ReadOnly))
    {
        assert!(error.contains("plugin: it takes no directories"), "{error}");
    }
    for error in why(system
        .program("nothing")
        .dir(&place.at("a"), "/work", Access::ReadOnly))
    {
        assert!(
            error.contains("nothing: the system image has no such program"),
            "{error}"
        );
    }
    let again = shelf(&system, &place.at("a"), Access::ReadOnly);
    for error in why(again.clone().dir(&place.at("b"), "/work", Access::ReadOnly)) {
        assert!(error.contains("another directory"), "{error}");
    }
    // As many as there may be are given: the next waits for one to be given back.
    let held = (again.open().unwrap(), again.open().unwrap());
    for error in why(again.clone()) {
        assert!(error.contains("2 directories are given"), "{error}");
    }
    drop(held.0);
    assert_eq!(again.call(b"names").unwrap(), b"/work");
    // A directory's server is none that anybody else may call.
    let server = system.program("host-directory").call(b"w");
    assert!(matches!(server, Err(Error::NotMade(_))), "{server:?}");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn directories_are_given_back_when_their_process_is_gone() {
    let _turn = turn();
    let (place, system) = (Place::new(), start());
    let program = shelf(&system, &place.at("a"), Access::Writable);
    for _ in 0..50 {
        assert_eq!(program.call(b"read\n/work\nown").unwrap(), b"a");
        assert_eq!(place.descriptors(), 0, "after a call");
    }
    let mut kept = program.open().unwrap();
    assert_eq!(done(&mut kept, "read\n/work\nown"), "a");
    assert_ne!(place.descriptors(), 0, "of a kept process");
    drop(kept);
    assert_eq!(place.descriptors(), 0, "after a kept process");
    let late = program.clone().deadline(Duration::from_millis(50));
    let held = late.call(b"hold\n/work\nown");
    assert!(matches!(held, Err(Error::TimedOut { .. })), "{held:?}");
    assert_eq!(place.descriptors(), 0, "after a deadline");
    drop(program.begin(b"hold\n/work\nown"));
    assert_eq!(place.descriptors(), 0, "after a call that was dropped");
    // The threads of directories go, too.
    let threads = || {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let named = tasks.filter(|task| {
            let name = task.as_ref().map(|task| task.path().join("comm"));
            name.is_ok_and(|name| fs::read_to_string(name).is_ok_and(|name| name == "directory\n"))
        });
        named.count()
    };
    let end = Instant::now() + Duration::from_secs(10);
    while threads() != 0 {
        assert!(Instant::now() < end, "{} threads are left", threads());
        std::thread::sleep(Duration::from_millis(1));
    }
    // More than may be served at a time have come and gone: none is left in the system. Nor do their
    // threads leave mappings behind: the C library keeps some stacks, for as many as there were at a time,
    // and then no more.
    let maps = || {
        fs::read_to_string("/proc/self/maps")
            .unwrap()
            .lines()
            .count()
    };
    let grown = |_| {
        let before = maps();
        for _ in 0..200 {
            assert_eq!(program.call(b"names").unwrap(), b"/work");
        }
        maps().saturating_sub(before)
    };
    let grown: Vec<usize> = (0..10).map(grown).collect();
    assert!(
        grown.iter().any(|more| *more < 20),
        "{grown:?} mappings more"
    );
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn a_process_gets_all_its_directories_or_none() {
    let _turn = turn();
    let place = Place::new();
    let mut options = Options::default();
    options.directories = 2;
    let system = System::with(&image(), &options).unwrap();
    let program = shelf(&system, &place.at("a"), Access::ReadOnly);
    let program = program.dir(&place.at("b"), "/other", Access::ReadOnly);
    let both = std::sync::Barrier::new(2);
    for _ in 0..50 {
        let call = || {
            both.wait();
            program.call(b"names").is_ok()
        };
        let came = std::thread::scope(|scope| {
            let calls = [scope.spawn(call), scope.spawn(call)];
            calls.map(|call| call.join().unwrap())
        });
        assert!(came.contains(&true), "each has kept the other from both");
    }
    assert_eq!(program.call(b"names").unwrap(), b"/work /other");
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn nothing_outside_is_found_while_the_host_changes_names() {
    let _turn = turn();
    let (place, system) = (Place::new(), start());
    let (over, swaps) = (AtomicBool::new(false), AtomicU32::new(0));
    fs::create_dir(place.at("outside")).unwrap();
    fs::write(place.at("outside/file"), "secret").unwrap();
    fs::create_dir(place.at("a/spare")).unwrap();
    fs::write(place.at("a/spare/file"), "public").unwrap();
    symlink(place.at("outside"), place.at("a/link")).unwrap();
    let mut process = shelf(&system, &place.at("a"), Access::ReadOnly)
        .open()
        .unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // `way` is now a directory, now a link that leads out.
            while !over.load(SeqCst) {
                for real in ["spare", "link"] {
                    fs::rename(place.at("a").join(real), place.at("a/way")).unwrap();
                    swaps.fetch_add(1, SeqCst);
                    fs::rename(place.at("a/way"), place.at("a").join(real)).unwrap();
                }
            }
        });
        for _ in 0..5 {
            let found = process.call(b"peek\n/work\nway/file\nsecret").unwrap();
            assert_eq!(found, b"done");
        }
        over.store(true, SeqCst);
    });
    assert!(swaps.load(SeqCst) > 100, "{swaps:?} swaps");
    assert_eq!(
        fs::read_to_string(place.at("a/spare/file")).unwrap(),
        "public"
    );
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn calls_with_directories_are_futures() {
    let _turn = turn();
    let (place, system) = (Place::new(), start());
    runtime().block_on(async {
        let a = shelf(&system, &place.at("a"), Access::ReadOnly);
        let b = shelf(&system, &place.at("b"), Access::ReadOnly);
        let read = b"read\n/work\nown";
        let (first, second) = (a.begin(read), b.begin(read));
        assert_eq!(second.await.unwrap(), b"b");
        assert_eq!(first.await.unwrap(), b"a");
        let wait = tokio::time::timeout(Duration::from_millis(30), a.begin(b"hold\n/work\nown"));
        assert!(wait.await.is_err());
        assert_eq!(place.descriptors(), 0);
    });
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn many_threads_have_directories_of_their_own() {
    let _turn = turn();
    let (place, system) = (Place::new(), start());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (place, system) = (&place, &system);
            scope.spawn(move || {
                let own = place.at(&format!("thread-{thread}"));
                fs::create_dir(&own).unwrap();
                let program = shelf(system, &own, Access::Writable);
                for turn in 0..10 {
                    let write = format!("write\n/work\nfile\n{thread} {turn}");
                    assert_eq!(program.call(write.as_bytes()).unwrap(), b"done");
                    let read = program.call(b"read\n/work\nfile").unwrap();
                    assert_eq!(read, format!("{thread} {turn}").as_bytes());
                    assert_eq!(program.call(b"list\n/work").unwrap(), b"file");
                }
            });
        }
    });
}

#[test]
#[ignore = "needs a system image: cargo xtask test embed"]
fn ordinary_programs_are_called_with_directories() {
    let _turn = turn();
    let (place, system) = (Place::new(), start());
    fs::write(place.at("a/in.txt"), " and a file").unwrap();
    let called = system.program("called");
    let reads = called.clone().dir(&place.at("a"), "/", Access::ReadOnly);
    assert_eq!(reads.call(b"a call").unwrap(), b"a call and a file");
    // 69 is ROFS, 44 NOENT, 8 BADF.
    let why = |program: &Program<'_>, call: &[u8]| match program.call(call) {
        Err(Error::Refused { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&reads, b"written"), "it ended with status 69");
    let writes = called.clone().dir(&place.at("a"), "/", Access::Writable);
    assert_eq!(writes.call(b"written").unwrap(), b"written and a file");
    let empty = called.clone().dir(&place.at("b"), "/", Access::ReadOnly);
    assert_eq!(why(&empty, b"a call"), "it ended with status 44");
    assert_eq!(why(&called, b"a call"), "it ended with status 8");
    // It ends with its answer.
    let mut kept = reads.open().unwrap();
    assert_eq!(kept.call(b"a call").unwrap(), b"a call and a file");
    assert!(matches!(
        kept.call(b"another"),
        Err(Error::Gone { .. } | Error::NotMade(_))
    ));
}
