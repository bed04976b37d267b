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

#[test]
fn no_name_of_a_file_or_function_is_obeyed_by_a_terminal() {
    const EVIL: &str = "evil\u{1b}[31m\nsing: all is well\u{202e}";
    let text = format!(
        r#"(module (import "{0}" "{0}" (func)) (import "wasi_snapshot_preview1" "{0}" (func))
            (func (export "_start")))"#,
        r"evil\1b[31m\nsing: all is well"
    );
    let imports = file("evil-imports.wasm", wat::parse_str(text).unwrap());
    let twice = r#"(module (func) (export "E" (func 0)) (export "E" (func 0)))"#;
    let twice = twice.replace('E', r"evil\1b[31m\nsing: all is well");
    let twice = file("evil-exports.wasm", wat::parse_str(twice).unwrap());
    let junk = file(&format!("{EVIL}.wasm"), b"\0asm junk");
    let contract = file(&format!("{EVIL}.contract"), "contract \u{1b}[31m {");
    let system = file(&format!("{EVIL}.system"), "process");
    let nothing = junk.with_file_name(format!("{EVIL}-nothing"));
    let [imports, twice, junk, contract, system, nothing] =
        [&imports, &twice, &junk, &contract, &system, &nothing].map(|p| p.to_str().unwrap());
    let manifest =
        "{\"start\": [{\"name\": \"\\u001b[31m\\nsing: all\", \"image\": \"\\u001b[31m\"}]}";
    let manifest = file("evil.json", manifest);
    let manifest = manifest.to_str().unwrap();
    let out = file("evil.out", "");
    let out = out.to_str().unwrap();
    for words in [
        &["verify", junk, twice, imports, nothing][..],
        &["run", imports],
        &["run", junk],
        &["run", nothing],
        &["compile", junk, "-o", out],
        &["compile", twice, "-o", out],
        &["inspect", nothing],
        &["inspect", junk],
        &["check", "contracts", contract],
        &["check", "contracts", system],
        &["check", "contracts", nothing],
        &["fmt", contract],
        &["diff", contract, junk],
        &["doc", contract, "-o", out],
        &["count", junk],
        &["analyze", junk],
        &["strip", junk, "-o", out],
        &["disk", "ls", junk],
        &["disk", "ls", nothing],
        &["image", "--manifest", manifest, "-o", out],
        &["check", "system", junk],
        &["check", "system", "--manifest", manifest],
    ] {
        let ended = sing(words, Stdio::piped(), Stdio::piped());
        let text = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        assert_ne!(ended.status.code(), Some(0), "{words:?}: {text:?}");
        let obeyed = text.lines().find(|line| {
            line.contains(|c: char| c.is_control() || c == '\u{202e}')
                || line.starts_with("sing: all")
        });
        assert_eq!(obeyed, None, "{words:?}: {text:?}");
        assert!(!text.is_empty());
    }
}

/// JSON is the same text to whoever reads it, and a terminal obeys nothing in it.
#[test]
fn names_in_json_are_what_they_are() {
    let path = file("left\u{200f}\u{9b}31m\u{1b}[2J.wasm", b"\0asm junk");
    let path = path.to_str().unwrap();
    let said = sing(&["verify", "--json", path], Stdio::piped(), Stdio::null());
    assert_eq!(said.status.code(), Some(1));
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(
        !text.contains(|c: char| c != '\n' && c.is_control() || c == '\u{200f}'),
        "{text:?}"
    );
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json[0]["file"], path);
}
