//! The program on scripts written by hand: those that pass, and those that must fail, with their
//! lines.

mod common;

use common::{Scripts, run};
use std::path::Path;

#[test]
fn our_scripts_pass() {
    run(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")]).expect_passes();
}

/// Runs a script in one mode; returns the lines except the last, without the path, and the last.
fn lines(text: &str) -> (Vec<String>, String) {
    // A directory for each: tests run at the same time.
    let name = format!("lines-{:p}", text.as_ptr());
    let scripts = Scripts::new(&name);
    scripts.write("s.wast", text);
    let file = scripts.path().join("s.wast");
    let result = run(&["--memory".as_ref(), "guard".as_ref(), file.as_os_str()]);
    let mut lines = result.lines;
    let last = lines.pop().unwrap_or_default();
    let failed = !last.contains(" 0 failed");
    assert_eq!(result.code, Some(i32::from(failed)), "exit code for {last}");
    let prefix = format!("{}:", file.display());
    (lines.iter().map(|l| l.replace(&prefix, "")).collect(), last)
}

#[track_caller]
fn expect(text: &str, failures: &[&str], last: &str) {
    let (lines, summary) = lines(text);
    assert_eq!(lines, failures);
    assert_eq!(summary, last);
}

const MODULE: &str = r#"(module
  (global (export "g") i32 (i32.const 4))
  (func (export "inc") (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
  (func (export "nan") (result f32) (f32.const nan:0x200000))
  (func (export "boom") unreachable))
"#;

#[test]
fn wrong_results_fail() {
    let text = format!(
        r#"{MODULE}
(assert_return (invoke "inc" (i32.const 1)) (i32.const 3))
(assert_return (invoke "inc" (i32.const 1)) (i64.const 2))
(assert_return (invoke "inc" (i32.const 1)))
(assert_return (invoke "inc" (i64.const 1)) (i32.const 2))
(assert_return (invoke "inc") (i32.const 2))
(assert_return (invoke "nan") (f32.const nan:canonical))
(assert_return (get "g") (i32.const 5))
(assert_return (get "none") (i32.const 5))
(assert_return (invoke "boom"))
(invoke "boom")"#
    );
    expect(
        &text,
        &[
            r#"7: invoke "inc" (i32 1), expected i32 3, got i32 2 [guard]"#,
            r#"8: invoke "inc" (i32 1), expected i64 2, got i32 2 [guard]"#,
            r#"9: invoke "inc" (i32 1), expected nothing, got i32 2 [guard]"#,
            r#"10: invoke "inc" (i64 1), expected a result, got arguments [I64] for a function that takes [I32] [guard]"#,
            r#"11: invoke "inc" (), expected a result, got arguments [] for a function that takes [I32] [guard]"#,
            r#"12: invoke "nan" (), expected a canonical NaN (F32), got f32 NaN (0x7fa00000) [guard]"#,
            r#"13: get "g", expected i32 5, got i32 4 [guard]"#,
            r#"14: get "none", expected a result, got no export "none" [guard]"#,
            r#"15: invoke "boom" (), expected nothing, got a trap: unreachable code was reached [guard]"#,
            r#"16: invoke "boom", expected a return, got a trap: unreachable code was reached [guard]"#,
        ],
        "1 passed, 10 failed, 0 skipped",
    );
}

#[test]
fn wrong_traps_and_refusals_fail() {
    let text = format!(
        r#"{MODULE}
(assert_trap (invoke "inc" (i32.const 1)) "unreachable")
(assert_trap (invoke "boom") "integer overflow")
(assert_trap (invoke "boom") "")
(assert_trap (module (start 0) (func)) "unreachable")
(assert_exhaustion (invoke "boom") "call stack exhausted")
(assert_invalid (module (func)) "type mismatch")
(assert_malformed (module quote "(func)") "unexpected token")
(assert_unlinkable (module) "unknown import")
(assert_unlinkable (module (import "spectest" "none" (func))) "incompatible import type")
(assert_unlinkable (module (func (result i32))) "unknown import")
(register "x" $none)"#
    );
    expect(
        &text,
        &[
            r#"7: invoke "inc" (i32 1), expected the trap "unreachable", got i32 2 [guard]"#,
            r#"8: invoke "boom" (), expected the trap "integer overflow", got a trap: unreachable code was reached [guard]"#,
            r#"9: invoke "boom" (), expected the trap "", got a trap: unreachable code was reached [guard]"#,
            r#"10: module, expected the trap "unreachable", got nothing [guard]"#,
            r#"11: invoke "boom" (), expected the trap "call stack exhausted", got a trap: unreachable code was reached [guard]"#,
            "12: invalid module, expected a refusal: type mismatch, got an acceptance [guard]",
            "13: malformed module, expected a refusal: unexpected token, got an acceptance [guard]",
            "14: unlinkable module, expected a refusal: unknown import, got an instance [guard]",
            "15: unlinkable module, expected a refusal: incompatible import type, got unknown import [guard]",
            "16: unlinkable module, expected an instance, got refused: function 0, byte 0x18: type mismatch: expected i32 but nothing on stack [guard]",
            r#"17: register "x", expected an instance, got none [guard]"#,
        ],
        "1 passed, 11 failed, 0 skipped",
    );
}

#[test]
fn later_proposals_are_skipped_by_name_and_with_them_what_needs_them() {
    let text = r#"
(module $v (type (struct)) (func (export "f") (result i32) (i32.const 1)))
(assert_return (invoke "f") (i32.const 1))
(assert_return (invoke $v "f") (i32.const 2))
(register "v" $v)
(module (import "v" "f" (func (result i32))))
(module $ok (func (export "g") (result i32) (i32.const 3)))
(assert_return (invoke "g") (i32.const 3))
(assert_return (invoke $v "f") (i32.const 2))
(assert_trap (module (type (struct)) (memory 1) (data (i32.const 65536) "x")) "out of bounds memory access")
(assert_invalid (module (func (i64.add128))) "type mismatch")
(assert_invalid (module (memory 1 2 shared)) "shared memory")
(assert_exception (invoke $v "f"))"#;
    expect(
        text,
        &[
            "skipped 8: gc",
            "skipped 1: threads",
            "skipped 1: wide-arithmetic",
        ],
        "2 passed, 0 failed, 10 skipped",
    );
}

#[test]
fn broken_files_are_failures_and_never_crashes() {
    let cases: [(&str, usize); 8] = [
        ("(module) (frobnicate) (module (func)) (assert_return)", 2),
        ("(module", 1),
        ("(assert_return (invoke \"f\"))", 1),
        ("(module binary \"\\00asm\")", 1),
        ("(module quote \"(func\")", 1),
        ("\u{0}\u{1}", 1),
        ("\"", 1),
        ("(; never closed", 1),
    ];
    for (i, (text, failures)) in cases.into_iter().enumerate() {
        let (lines, last) = lines(text);
        assert!(
            last.contains(&format!(" {failures} failed")),
            "case {i}: {last}, {lines:?}"
        );
        assert!(
            lines.iter().all(|l| !l.contains("process")),
            "case {i}: {lines:?}"
        );
    }
    let deep = "(".repeat(100_000);
    let (lines, last) = lines(&format!("(module (func {deep}"));
    assert!(last.ends_with("1 failed, 0 skipped"), "{last}, {lines:?}");
}

#[test]
fn what_is_no_script_is_a_failure() {
    let scripts = Scripts::new("no-script");
    scripts.write("a.wast", [0xff, 0xfe, 0x28]);
    scripts.write("b.txt", "not run");
    let result = run(&[
        scripts.path().to_path_buf(),
        scripts.path().join("none.wast"),
    ]);
    assert_eq!(result.summary(), "0 passed, 3 failed, 0 skipped");
    assert!(
        result
            .lines
            .iter()
            .any(|l| l.contains("none.wast: cannot be read")),
        "{:?}",
        result.lines
    );
    assert!(
        result
            .lines
            .iter()
            .any(|l| l.contains("a.wast:1: is no UTF-8 text")),
        "{:?}",
        result.lines
    );
    assert_eq!(result.code, Some(1));
    assert_eq!(run::<&str>(&[]).code, Some(2));
}

#[test]
fn a_script_that_brings_the_process_down_costs_one_line() {
    // Endless recursion is a trap, an endless loop is not: only the parent's patience ends it. That
    // would take minutes, so the process is ended from outside.
    let scripts = Scripts::new("endless");
    scripts.write(
        "s.wast",
        "(module (func (export \"f\") (loop (br 0))))\n(invoke \"f\")\n(module)",
    );
    let file = scripts.path().join("s.wast");
    let mut parent = std::process::Command::new(env!("CARGO_BIN_EXE_sing-wast"));
    parent
        .args(["--memory", "guard"])
        .arg(&file)
        .stdout(std::process::Stdio::piped());
    let parent = parent.spawn().unwrap();
    let child = wait_for_child(parent.id());
    std::process::Command::new("kill")
        .args(["-9", &child])
        .status()
        .unwrap();
    let out = String::from_utf8(parent.wait_with_output().unwrap().stdout).unwrap();
    assert!(
        out.contains("s.wast:2: the process that ran it ended with signal: 9"),
        "{out}"
    );
    assert!(out.ends_with("1 passed, 1 failed, 0 skipped\n"), "{out}");
}

/// The id of a process's child, once it has run for a moment.
fn wait_for_child(parent: u32) -> String {
    for _ in 0..200 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let path = format!("/proc/{parent}/task/{parent}/children");
        let direct = std::fs::read_to_string(path).unwrap_or_default();
        let threads = std::fs::read_dir(format!("/proc/{parent}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let any = threads
            .filter_map(|t| std::fs::read_to_string(t.path().join("children")).ok())
            .find(|c| !c.trim().is_empty());
        if let Some(child) = any.or(Some(direct).filter(|c| !c.trim().is_empty())) {
            // Time enough to reach the loop.
            std::thread::sleep(std::time::Duration::from_millis(1000));
            return child.trim().to_string();
        }
    }
    panic!("no child");
}
