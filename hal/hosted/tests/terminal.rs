//! The console as a terminal: raw while the system runs, and given back as it was.

mod common;

use common::player::{ended, expect, play};
use common::terminal::{in_terminal, modes, terminal};
use sing_abi::exit::machine;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

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
        // Byte by byte, nothing interpreted, nothing echoed: Ctrl-C, Ctrl-Z, Ctrl-D, Enter, Ctrl-S,
        // Ctrl-V.
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
                // The terminal goes away; Linux sends SIGHUP, or the child sees the end of its
                // input first, of which it cannot say a word any more.
                drop(ours);
                let status = ended(child, word);
                let seen = [code, Some(machine::NOBODY_READS)].contains(&status.code());
                assert!(seen || status.signal() == Some(libc::SIGHUP), "{status:?}");
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
    let mut command = common::player::child("half_a_terminal_is_none");
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
