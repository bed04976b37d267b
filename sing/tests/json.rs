//! `--json` of `verify`, `inspect` and `check`: what other programs read.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `sing`; the exit status, and what it says.
fn sing(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_sing"))
        .args(arguments)
        .env("SING_CACHE", "off")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let value = serde_json::from_str(&text);
    let value = value.unwrap_or_else(|e| panic!("{arguments:?}: {e}: {text}"));
    (output.status.code(), value)
}

/// A file of this test's own.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn module(name: &str) -> PathBuf {
    let text = format!(
        r#"(module (@custom "singularity.manifest" "{{\"name\": \"{name}\", \"abi\": 1}}")
            (func $other) (func (export "sip_main") (result i32) (i32.const 0)))"#
    );
    file(&format!("json-{name}.wasm"), wat::parse_str(text).unwrap())
}

#[test]
fn verdicts_are_listed() {
    let (good, bad) = (module("good"), file("json-junk.wasm", b"\0asm junk"));
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let (status, all) = sing(&["verify", "--json", good, bad]);
    assert_eq!(status, Some(1));
    let accepted = json!({
        "file": good, "accepted": true, "kind": "module", "name": "good",
        "privileges": [], "contracts": [],
    });
    assert_eq!(all[0], accepted);
    assert_eq!(all[1]["accepted"], false);
    assert!(
        all[1]["reason"]
            .as_str()
            .is_some_and(|reason| !reason.is_empty()),
        "{all}"
    );
    assert_eq!(sing(&["verify", good, "--json"]).0, Some(0));
}

#[test]
fn parts_are_under_their_names() {
    let path = module("parts");
    let path = path.to_str().unwrap();
    let (status, summary) = sing(&["inspect", path, "--json"]);
    assert_eq!(status, Some(0));
    assert_eq!(
        (&summary["name"], &summary["imports"]),
        (&json!("parts"), &json!(0))
    );
    let (_, parts) = sing(&[
        "inspect",
        path,
        "--json",
        "--imports",
        "--manifest",
        "--functions",
    ]);
    assert_eq!(parts["imports"], json!([]));
    assert_eq!(parts["manifest"]["name"], "parts");
    assert_eq!(parts["functions"].as_array().map(Vec::len), Some(2));
    assert_eq!(parts.get("contracts"), None);
    let refused = Command::new(env!("CARGO_BIN_EXE_sing"))
        .args(["inspect", path, "--json", "--disassemble"])
        .output()
        .unwrap();
    assert_eq!(
        (refused.status.code(), refused.stdout),
        (Some(1), Vec::new())
    );
}

#[test]
fn findings_have_kinds_and_runs() {
    let faulty = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/conformance/faulty/two-locks.system"
    );
    let (status, all) = sing(&["check", "contracts", faulty, "--json"]);
    assert_eq!(status, Some(1));
    let finding = &all[0]["findings"][0];
    assert_eq!(finding["kind"], "deadlock", "{all}");
    assert!(
        finding["steps"].as_u64().is_some_and(|steps| steps > 0),
        "{all}"
    );
    assert!(
        finding["run"]
            .as_str()
            .is_some_and(|run| run.contains("-->")),
        "{all}"
    );
    assert_eq!(all[0]["complete"], true);
    let contract = file(
        "json-sound.contract",
        "contract C { in message Ask(); out message Answer(); state Start: Ask? -> Answer! -> Start; }\n",
    );
    let (status, all) = sing(&["check", "contracts", "--json", contract.to_str().unwrap()]);
    assert_eq!(status, Some(0));
    assert_eq!(all[0]["findings"], json!([]));
}

#[test]
fn a_system_is_told_whole() {
    let program = module("alone");
    let program = format!("alone={}", program.display());
    let check = |name: &str, manifest: &str| {
        let path = file(name, manifest);
        let manifest = path.to_str().unwrap();
        sing(&[
            "check",
            "system",
            "--json",
            "--manifest",
            manifest,
            "--bin",
            &program,
        ])
    };
    let (status, told) = check(
        "json-system.json",
        r#"{ "start": [{ "name": "first", "image": "alone", "main": true }] }"#,
    );
    assert_eq!(status, Some(0), "{told}");
    assert_eq!(
        (&told["starts"], &told["services"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(told["started"][0]["name"], "first");
    assert_eq!(
        told["programs"][0],
        json!({ "name": "alone", "can_run": true, "uses": [] })
    );
    let (status, told) = check(
        "json-faulty.json",
        r#"{ "start": [{ "name": "first", "image": "alone" }], "services": [{ "name": "none" }] }"#,
    );
    assert_eq!((status, &told["starts"]), (Some(1), &json!(false)));
    assert_eq!(told["problems"].as_array().map(Vec::len), Some(1), "{told}");
}
