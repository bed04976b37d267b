//! `cargo xtask` where its output cannot be written or nobody reads it.

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

fn xtask(word: &str, out: Stdio, errors: Stdio) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg(word)
        .stdout(out)
        .stderr(errors)
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
}

/// A pipe that nobody reads.
fn closed() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

/// Where there is no room.
fn full() -> Stdio {
    let full = OpenOptions::new().write(true).open("/dev/full");
    full.unwrap().into()
}

#[test]
fn without_a_reader_the_command_is_quiet() {
    let output = xtask("help", closed(), Stdio::piped());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    for errors in [closed(), full()] {
        let output = xtask("frobnicate", closed(), errors);
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let output = xtask("help", full(), Stdio::piped());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.starts_with("xtask: the output cannot be written: "),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}
