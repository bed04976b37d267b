//! The console, seen from outside: pipes, files, the end of input, readers that sleep.

mod common;

use common::player::{FLOOD, child, ended, expect, flood, play};
use common::terminal::{in_terminal, terminal};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

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

/// As where the disk is full.
#[test]
fn output_that_cannot_be_written_ends_the_system() {
    if common::my_scene().is_some() {
        // Not from the start: what runs the tests prints, too.
        let full = File::options().write(true).open("/dev/full").unwrap();
        rustix::stdio::dup2_stdout(full).unwrap();
        play();
    }
    let mut child = child("output_that_cannot_be_written_ends_the_system")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stderr = child.stderr.take().unwrap();
    assert_eq!(ended(child, "full").code(), Some(167));
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    assert!(
        text.starts_with("singularity: cannot write the output: No space left"),
        "{text}"
    );
}

/// Nothing that is written is waited for: not where the reader sleeps, and nothing is lost where it
/// wakes again.
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
