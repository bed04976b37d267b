//! `sing check contracts` and `sing fmt` on the command line: their output, exit status, and what
//! they leave behind.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `sing check contracts`; returns the exit status and the output.
fn check(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sing"))
        .args(["check", "contracts"])
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// A file of this test's own.
fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

const CONTRACT: &str = "contract C { in message Ask(); out message Answer(); state Start: Ask? -> Answer! -> Start; }\n";

#[test]
fn assumptions_that_a_text_makes_itself_are_refused() {
    let system = file(
        "assumed.system",
        &format!("{CONTRACT}process p, q: any; channel C: p.a -> q.b;"),
    );
    let contract = file("assumed.contract", CONTRACT);
    for path in [&system, &contract] {
        let path = path.to_str().unwrap();
        assert_eq!(check(&[path]).0, Some(0));
        for assumed in [&["--any", "p"][..], &["--any", "nobody"], &["--closing"]] {
            let (status, text) = check(&[&[path], assumed].concat());
            assert_eq!(status, Some(2), "{assumed:?}: {text}");
            assert!(text.contains("any closing;`"), "{text}");
        }
    }
}

#[test]
fn a_text_without_contracts_is_no_pass() {
    for text in ["", "enum Colour { Red }"] {
        let path = file("empty.contract", text);
        let (status, text) = check(&[path.to_str().unwrap()]);
        assert_eq!(status, Some(1));
        assert!(text.contains("nothing to check"), "{text}");
    }
}

/// As where the disk is full.
#[test]
fn a_source_that_cannot_be_written_stays() {
    let text: String = (0..60)
        .map(|i| CONTRACT.replace("contract C", &format!("contract C{i}")))
        .collect();
    let source = file("unwritten.contract", &text);
    let line = "ulimit -f 1; exec \"$0\" fmt \"$1\"";
    let status = Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_sing")])
        .arg(&source)
        .status()
        .unwrap();
    assert!(!status.success());
    assert_eq!(std::fs::read_to_string(&source).unwrap(), text);
}

/// A device may never end, and a file may be longer than any text.
#[test]
fn what_has_no_end_is_not_read() {
    let import = file("endless.contract", "import \"/dev/zero\";\n");
    let system = file("endless.system", "import \"/dev/zero\";\nprocess p: any;\n");
    for path in [&import, &system, &PathBuf::from("/dev/zero")] {
        let (status, text) = check(&[path.to_str().unwrap()]);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains("no regular file"), "{text}");
    }
    let long = file("long.contract", &" ".repeat((4 << 20) + 1));
    let (status, text) = check(&[long.to_str().unwrap()]);
    assert_eq!(status, Some(1));
    assert!(text.contains("longer than 4 MiB"), "{text}");
}

#[test]
fn endless_input_is_not_laid_out() {
    let output = Command::new(env!("CARGO_BIN_EXE_sing"))
        .args(["fmt", "-"])
        .stdin(std::fs::File::open("/dev/zero").unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("longer than 4 MiB"), "{said}");
}
