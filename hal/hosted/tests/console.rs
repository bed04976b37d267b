//! The console, seen from outside: pipes, files, the end of input, a terminal that is given back as it was.

mod common;

use sing_hosted::{Config, Hooks, HostedHal};
use sing_kernel::fault::Action;
use sing_kernel::hal::{Hal, LINE_CONSOLE, LINE_OUTPUT};
use sing_kernel::output::Class;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread::sleep;
use std::time::{Duration, Instant};

static INPUTS: AtomicU64 = AtomicU64::new(0);
static OUTPUTS: AtomicU64 = AtomicU64::new(0);

/// Bytes of a flood: more than the machine, a pipe and a terminal keep together.
const FLOOD: usize = 1 << 20;

/// The byte of a flood at this place.
fn flood(at: usize) -> u8 {
    b'a' + (at % 23) as u8
}

/// Writes all, waiting for room where there is none.
fn write_all(hal: &HostedHal, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let before = OUTPUTS.load(SeqCst);
        let taken = hal.console().write(bytes);
        bytes = &bytes[taken..];
        while !bytes.is_empty() && OUTPUTS.load(SeqCst) == before {
            hal.idle();
        }
    }
}

/// The child: a system that answers input. Echoes it in brackets, and on some words does something else.
fn play() -> ! {
    let interrupt = |line, _| {
        match line {
            LINE_CONSOLE => INPUTS.fetch_add(1, SeqCst),
            LINE_OUTPUT => OUTPUTS.fetch_add(1, SeqCst),
            _ => 0,
        };
    };
    let hooks = Hooks {
        interrupt,
        fault: |_| Action::Fatal,
    };
    let config = Config {
        memory_limit: Some(64 << 20),
        console: true,
        hooks,
    };
    let hal = HostedHal::new(config).unwrap();
    hal.console().write(b"<ready>");
    if common::my_scene().as_deref() == Some("wait first") {
        while INPUTS.load(SeqCst) == 0 {
            hal.idle();
        }
    }
    let mut bytes = [0; 64];
    loop {
        match hal.console().read(&mut bytes) {
            None => {
                hal.console().write(b"<end>");
                hal.exit(7);
            }
            Some(0) => {
                // Only the interrupt says that a new look is worth it.
                let before = INPUTS.load(SeqCst);
                while INPUTS.load(SeqCst) == before {
                    hal.idle();
                }
            }
            Some(n) => {
                let text = &bytes[..n];
                hal.console()
                    .write(format!("[{}]", text.escape_ascii()).as_bytes());
                let has = |word: &str| text.windows(word.len()).any(|w| w == word.as_bytes());
                if has("abort") {
                    // What a panic ends in, outside of test programs.
                    std::process::abort();
                } else if has("fault") {
                    // SAFETY: this child is to die of it.
                    unsafe { *(8 as *mut u8) = 1 };
                } else if has("exit") {
                    hal.exit(3);
                } else if has("size") {
                    hal.console()
                        .write(format!("{:?}", hal.console().size()).as_bytes());
                } else if has("busy") {
                    // Computing, with no timer set: input must still be noticed.
                    let (start, before) = (hal.now(), INPUTS.load(SeqCst));
                    while INPUTS.load(SeqCst) == before && hal.now() < start + 5_000_000_000 {}
                    let noticed = INPUTS.load(SeqCst) != before;
                    hal.console()
                        .write(format!("<noticed {noticed}>").as_bytes());
                } else if has("talk") {
                    write_all(hal, &[b'x'; 10_000_000]);
                    hal.exit(9);
                } else if has("flood") {
                    let bytes: Vec<u8> = (0..FLOOD).map(flood).collect();
                    let taken = hal.console().write(&bytes);
                    // Nobody reads, and yet the machine goes on, and is heard elsewhere.
                    assert!(hal.log(Class::Kernel, format!("taken {taken}").as_bytes()));
                    write_all(hal, &bytes[taken..]);
                    while hal.console().unwritten() > 0 {
                        hal.idle();
                    }
                    assert!(hal.log(Class::Kernel, b"written"));
                    hal.exit(9);
                } else if has("chatter") {
                    let mut lost = 0;
                    for i in 0..100_000 {
                        let line = format!("line {i} ...............................");
                        lost += u32::from(!hal.log(Class::Debug, line.as_bytes()));
                    }
                    assert!(hal.log(Class::Kernel, b"crash: a kernel line has room of its own"));
                    hal.console().write(format!("<lost {lost}>").as_bytes());
                    // Room on one stream does not say that there is room on the other.
                    while OUTPUTS.load(SeqCst) == 0
                        || !hal.log(Class::Debug, b"there is room again")
                    {
                        hal.idle();
                    }
                    hal.exit(9);
                }
            }
        }
    }
}

fn child(test: &str) -> Command {
    let mut command = common::scene(test, "play");
    command.stderr(Stdio::piped());
    command
}

/// Reads until `text` has been seen; panics if it does not come.
fn expect(from: &mut impl Read, text: &str) -> String {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(text.as_bytes()) {
        match from.read(&mut byte) {
            Ok(1) => all.push(byte[0]),
            other => {
                panic!(
                    "{other:?} while waiting for {text:?}, after {:?}",
                    String::from_utf8_lossy(&all)
                )
            }
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// The child's end, at most ten seconds from now.
fn ended(mut child: Child, of: &str) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > Duration::from_secs(10) {
            let _ = child.kill();
            panic!("{of}: the child does not end");
        }
        sleep(Duration::from_millis(2));
    }
}

#[test]
fn pipe() {
    if common::my_scene().is_some() {
        play();
    }
    let mut child = child("pipe")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    expect(&mut from, "<ready>");
    for i in 0..50 {
        to.write_all(format!("line {i}\n").as_bytes()).unwrap();
        expect(&mut from, &format!("[line {i}\\n]"));
        sleep(Duration::from_millis(i % 3));
    }
    to.write_all(b"size").unwrap();
    expect(&mut from, "[size]None");
    // More than one read takes: nothing is lost, no second interrupt is needed from outside.
    to.write_all(&[b'a'; 1000]).unwrap();
    let mut seen = 0;
    while seen < 1000 {
        seen += expect(&mut from, "]").matches('a').count();
    }
    to.write_all(b"busy").unwrap();
    expect(&mut from, "[busy]");
    sleep(Duration::from_millis(50));
    to.write_all(b"!").unwrap();
    expect(&mut from, "<noticed true>[!]");
    drop(to);
    expect(&mut from, "<end>");
    assert_eq!(ended(child, "end of input").code(), Some(7));
}

#[test]
fn file_or_nothing() {
    if common::my_scene().is_some() {
        play();
    }
    let output = child("file_or_nothing")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert!(output.stdout.ends_with(b"<ready><end>"));
    // Input that is there from the start raises its interrupt, read or not.
    let mut waits = common::scene("file_or_nothing", "wait first");
    let waits = waits
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(ended(waits, "wait first").code(), Some(7));
    let file = File::open("/proc/self/status").unwrap();
    let output = child("file_or_nothing").stdin(file).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert!(output.stdout.ends_with(b"]<end>"));
}

#[test]
fn nobody_reads() {
    if common::my_scene().is_some() {
        play();
    }
    let mut child = child("nobody_reads")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut from = child.stdout.take().unwrap();
    expect(&mut from, "<ready>");
    child.stdin.as_ref().unwrap().write_all(b"talk").unwrap();
    expect(&mut from, "xxxx");
    drop(from);
    let mut stderr = child.stderr.take().unwrap();
    assert_eq!(ended(child, "no reader").code(), Some(167));
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    assert_eq!(text, "", "it ends quietly");
}

/// Nothing that is written is waited for: not where the reader sleeps, and nothing is lost where it wakes again.
#[test]
fn a_reader_that_sleeps_stops_nobody() {
    if common::my_scene().is_some() {
        play();
    }
    let test = "a_reader_that_sleeps_stops_nobody";
    let spawn = |theirs: Option<&File>| match theirs {
        Some(theirs) => in_terminal(test, theirs),
        None => child(test)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    };
    let check = |mut child: Child, mut to: Box<dyn Write>, mut from: Box<dyn Read>| {
        expect(&mut from, "<ready>");
        to.write_all(b"flood").unwrap();
        let mut log = child.stderr.take().unwrap();
        expect(&mut log, "taken ");
        let taken: usize = expect(&mut log, "\n").trim().parse().unwrap();
        assert!((1..FLOOD).contains(&taken), "{taken} taken at once");
        sleep(Duration::from_millis(50));
        expect(&mut from, "[flood]");
        let mut bytes = vec![0; FLOOD];
        from.read_exact(&mut bytes).unwrap();
        let wrong = (0..FLOOD).find(|at| bytes[*at] != flood(*at));
        assert_eq!(wrong, None, "lost or out of order");
        expect(&mut log, "written\n");
        assert_eq!(ended(child, "flood").code(), Some(9));
    };
    let mut child = spawn(None);
    let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    check(child, Box::new(to), Box::new(from));
    let (ours, theirs) = terminal(80, 24);
    let child = spawn(Some(&theirs));
    let to = ours.try_clone().unwrap();
    check(child, Box::new(to), Box::new(ours));
}

/// Lines of the log are lost where nobody reads them, never waited for; whoever reads hears of it.
#[test]
fn a_log_that_nobody_reads_stops_nobody() {
    if common::my_scene().is_some() {
        play();
    }
    let mut child = child("a_log_that_nobody_reads_stops_nobody")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut from = child.stdout.take().unwrap();
    expect(&mut from, "<ready>");
    child.stdin.as_ref().unwrap().write_all(b"chatter").unwrap();
    expect(&mut from, "<lost ");
    let lost: u32 = expect(&mut from, ">")
        .trim_end_matches('>')
        .parse()
        .unwrap();
    assert!((1..100_000).contains(&lost), "{lost}");
    let mut log = child.stderr.take().unwrap();
    let seen = expect(&mut log, "there is room again\n");
    assert_eq!(
        seen.matches("line ").count() as u32,
        100_000 - lost + 1,
        "and one in the kernel's"
    );
    assert!(seen.contains("crash: a kernel line has room of its own\n"));
    assert_eq!(ended(child, "chatter").code(), Some(9));
}

/// A terminal: our end, and the child's.
fn terminal(columns: u16, rows: u16) -> (File, File) {
    let (mut ours, mut theirs) = (0, 0);
    let size = libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the pointers are valid for the call, or null where that means nothing.
    let done = unsafe {
        let none = std::ptr::null_mut();
        libc::openpty(
            &raw mut ours,
            &raw mut theirs,
            none,
            std::ptr::null(),
            &raw const size,
        )
    };
    assert_eq!(done, 0);
    for fd in [ours, theirs] {
        // No child may hold our end, or it never sees it go.
        // SAFETY: sets a flag of a file of ours.
        let done = unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        assert_eq!(done, 0);
    }
    // SAFETY: both were just opened and are nobody else's.
    unsafe {
        (
            OwnedFd::from_raw_fd(ours).into(),
            OwnedFd::from_raw_fd(theirs).into(),
        )
    }
}

/// The terminal's modes, as far as they can differ.
fn modes(terminal: &File) -> (u32, u32, u32, u32) {
    // SAFETY: all zeros is a valid value; the pointer is valid for the call.
    unsafe {
        let mut modes: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &raw mut modes), 0);
        (modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag)
    }
}

/// Starts the child in the foreground of a terminal of its own.
fn in_terminal(test: &str, theirs: &File) -> Child {
    use std::os::unix::process::CommandExt;
    let stdio = || Stdio::from(theirs.try_clone().unwrap());
    let mut command = child(test);
    command.stdin(stdio()).stdout(stdio());
    // SAFETY: both calls are allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        })
    };
    command.spawn().unwrap()
}

#[test]
fn terminal_is_raw_and_given_back() {
    if common::my_scene().is_some() {
        play();
    }
    for (word, code, signal) in [
        ("exit", Some(3), None),
        ("abort", None, Some(libc::SIGABRT)),
        ("fault", Some(160), None),
        ("SIGTERM", None, Some(libc::SIGTERM)),
        ("SIGHUP", None, Some(libc::SIGHUP)),
        ("hang-up", Some(7), None),
    ] {
        let (mut ours, theirs) = terminal(99, 33);
        let before = modes(&theirs);
        let child = in_terminal("terminal_is_raw_and_given_back", &theirs);
        expect(&mut ours, "<ready>");
        let during = modes(&theirs);
        assert_eq!(
            during.3 & (libc::ICANON | libc::ECHO | libc::ISIG | libc::IEXTEN),
            0
        );
        assert_eq!(during.0 & (libc::ICRNL | libc::IXON), 0);
        assert_eq!(during.1, before.1, "lines of output end as before");
        // Byte by byte, nothing interpreted, nothing echoed: Ctrl-C, Ctrl-Z, Ctrl-D, Enter, Ctrl-S, Ctrl-V.
        for (byte, shown) in [
            (3, "\\x03"),
            (26, "\\x1a"),
            (4, "\\x04"),
            (13, "\\r"),
            (19, "\\x13"),
            (22, "\\x16"),
        ] {
            ours.write_all(&[byte]).unwrap();
            assert_eq!(expect(&mut ours, "]"), format!("[{shown}]"));
        }
        ours.write_all(b"size").unwrap();
        expect(&mut ours, "Some((99, 33))");
        let pid = child.id() as i32;
        let kill = |signal| {
            // SAFETY: sends a signal to our child.
            unsafe { libc::kill(pid, signal) };
        };
        // Stopped, and continued by a shell that had the terminal cooked meanwhile.
        kill(libc::SIGSTOP);
        sleep(Duration::from_millis(20));
        // SAFETY: as in `modes`.
        unsafe {
            let mut cooked: libc::termios = std::mem::zeroed();
            libc::tcgetattr(theirs.as_raw_fd(), &raw mut cooked);
            cooked.c_lflag |= libc::ICANON | libc::ECHO;
            libc::tcsetattr(theirs.as_raw_fd(), libc::TCSANOW, &raw const cooked);
        }
        kill(libc::SIGCONT);
        let start = Instant::now();
        while modes(&theirs) != during {
            assert!(
                start.elapsed() < Duration::from_secs(5),
                "not raw again when continued"
            );
            sleep(Duration::from_millis(1));
        }
        match word {
            "SIGTERM" => kill(libc::SIGTERM),
            "SIGHUP" => kill(libc::SIGHUP),
            "hang-up" => {
                // The terminal goes away; Linux sends SIGHUP, or the child sees the end of its input first.
                drop(ours);
                let status = ended(child, word);
                assert!(
                    status.code() == code || status.signal() == Some(libc::SIGHUP),
                    "{status:?}"
                );
                continue;
            }
            word => ours.write_all(word.as_bytes()).unwrap(),
        }
        let status = ended(child, word);
        assert_eq!((status.code(), status.signal()), (code, signal), "{word}");
        assert_eq!(
            modes(&theirs),
            before,
            "the terminal is left as it was found, after {word}"
        );
    }
}

#[test]
fn half_a_terminal_is_none() {
    if common::my_scene().is_some() {
        play();
    }
    // One that does not say how large it is, is one.
    let (mut ours, theirs) = terminal(0, 0);
    let child = in_terminal("half_a_terminal_is_none", &theirs);
    expect(&mut ours, "<ready>");
    ours.write_all(b"size").unwrap();
    expect(&mut ours, "[size]Some((80, 24))");
    ours.write_all(b"exit").unwrap();
    assert_eq!(ended(child, "exit").code(), Some(3));

    // With the output elsewhere, the terminal edits and echoes lines itself.
    let (mut ours, theirs) = terminal(99, 33);
    let before = modes(&theirs);
    let mut command = self::child("half_a_terminal_is_none");
    let stdin = Stdio::from(theirs.try_clone().unwrap());
    let mut child = command.stdin(stdin).stdout(Stdio::piped()).spawn().unwrap();
    let mut from = child.stdout.take().unwrap();
    expect(&mut from, "<ready>");
    assert_eq!(modes(&theirs), before);
    ours.write_all(b"size\r").unwrap();
    expect(&mut from, "[size\\n]None");
    expect(&mut ours, "size\r\n");
    ours.write_all(b"exit\r").unwrap();
    assert_eq!(ended(child, "exit").code(), Some(3));
}
