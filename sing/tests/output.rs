//! `sing` where its output cannot be written or nobody reads it: the exit status says what was
//! found, whatever becomes of the words.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A file of this test's own.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Where there is no room.
fn full() -> Stdio {
    let full = OpenOptions::new().write(true).open("/dev/full");
    full.unwrap().into()
}

/// A pipe that nobody reads.
fn closed() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

fn sing(arguments: &[&str], out: Stdio, errors: Stdio) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sing"))
        .args(arguments)
        .env("SING_CACHE", "off")
        .stdout(out)
        .stderr(errors)
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
}

const CONTRACT: &str = "contract C { in message Ask(); out message Answer(); state Start: Ask? -> Answer! -> Start; }\n";

/// Command lines, each with its exit status.
fn lines() -> Vec<(Vec<String>, i32)> {
    let faulty = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/conformance/faulty/two-locks.system"
    );
    let good = file("unread.contract", CONTRACT);
    let not_laid = file("not-laid.contract", CONTRACT);
    let junk = file("junk.wasm", b"\0asm junk");
    let module = wat::parse_str(
        r#"(module (@custom "singularity.manifest" "{\"name\": \"m\", \"abi\": 1}")
            (func (export "sip_main") (result i32) (i32.const 0)))"#,
    );
    let module = file("unread.wasm", module.unwrap());
    let [good, not_laid, junk, module] =
        [&good, &not_laid, &junk, &module].map(|path| path.to_str().unwrap());
    [
        (&["--help"][..], 0),
        (&["--version"], 0),
        (&["verify", "--limits"], 0),
        (&["verify", module], 0),
        (&["verify", junk], 1),
        (&["verify", junk, module], 1),
        (&["inspect", module], 0),
        (&["inspect", module, "--disassemble"], 0),
        (&["inspect", module, "--disassemble", "nothing"], 1),
        (&["count", good], 0),
        (&["fmt", "--check", not_laid], 1),
        (&["check", "contracts", good], 0),
        (&["check", "contracts", faulty], 1),
        (&["check", "contracts", faulty, "--limit", "1"], 3),
        (&["compile", module, "-o", "/dev/null"], 0),
    ]
    .into_iter()
    .map(|(line, status)| (line.iter().map(ToString::to_string).collect(), status))
    .collect()
}

#[test]
fn the_status_is_kept_without_a_reader() {
    for (line, status) in lines() {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let heard = sing(&line, Stdio::piped(), Stdio::piped());
        assert_eq!(heard.status.code(), Some(status), "{line:?}");
        let unheard = sing(&line, closed(), Stdio::piped());
        assert_eq!(unheard.status.code(), Some(status), "{line:?}");
        assert_eq!(unheard.stderr, heard.stderr, "{line:?}");
        let nobody = sing(&line, closed(), closed());
        assert_eq!(nobody.status.code(), Some(status), "{line:?}");
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    for (line, status) in lines() {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let prints = !sing(&line, Stdio::piped(), Stdio::null()).stdout.is_empty();
        let expected = if prints { status.max(1) } else { status };
        let output = sing(&line, full(), Stdio::piped());
        assert_eq!(output.status.code(), Some(expected), "{line:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let count = said.matches("the output cannot be written").count();
        assert_eq!(count, usize::from(prints), "{line:?}: {said}");
        let silent = sing(&line, full(), full());
        assert_eq!(silent.status.code(), Some(expected), "{line:?}");
    }
}

#[test]
fn messages_that_cannot_be_written_change_no_status() {
    let text = file("errors.contract", "contract C { what }\n".repeat(20));
    let text = text.to_str().unwrap();
    for (line, status) in [
        (&["check", "contracts", text][..], 1),
        (&["doc", "-o", "unused", text], 1),
        (&["fmt", text], 1),
        (&["frobnicate"], 2),
    ] {
        for errors in [full(), closed()] {
            let output = sing(line, closed(), errors);
            assert_eq!(output.status.code(), Some(status), "{line:?}");
        }
    }
}

#[test]
fn the_version_is_said() {
    let said = concat!("sing ", env!("CARGO_PKG_VERSION"), "\n");
    for line in ["-V", "--version"] {
        let output = sing(&[line], Stdio::piped(), Stdio::piped());
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stdout), said);
    }
}
