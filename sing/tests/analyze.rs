//! `sing analyze`: what a program can do at most.

use std::path::Path;
use std::process::Command;

/// Analyses a module; returns the exit status and the output.
fn analyze(name: &str, text: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, wat::parse_str(text).unwrap()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_sing"))
        .arg("analyze")
        .arg(&path)
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

const PROGRAM: &str = r#"(module
    (@custom "singularity.manifest" "{\"name\": \"small\", \"abi\": 1}")
    (import "sing_v1" "yield" (func $yield))
    (import "sing_v1" "sleep" (func $sleep (param i64) (result i32)))
    (func $rests (result i32) (call $yield) (i32.const 0))
    (func $never (drop (call $sleep (i64.const 1))))
    (func $main (export "sip_main") (result i32) (call $rests)))"#;

#[test]
fn what_is_reached_is_told_and_what_is_not() {
    let (status, text) = analyze("small.wasm", PROGRAM, &["--json"]);
    assert_eq!(status, Some(0), "{text}");
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["program"], "small");
    assert_eq!(found["kernel_entries"], serde_json::json!(["yield"]));
    assert_eq!(found["imports_never_reached"], serde_json::json!(["sleep"]));
    assert_eq!(found["code"]["unreached"]["functions"], 1);
    // Left out of the image, unless that is asked for.
    assert_eq!(found["code"]["unreached"]["bytes"], 0);
    assert_eq!(found["regions_without_allocation"], serde_json::json!([]));
    let (_, text) = analyze("kept.wasm", PROGRAM, &["--json", "--unreached", "keep"]);
    let kept: serde_json::Value = serde_json::from_str(&text).unwrap();
    let bytes = |of: &serde_json::Value| of["code"]["bytes"].as_u64().unwrap();
    assert!(
        kept["code"]["unreached"]["bytes"].as_u64() > Some(0),
        "{text}"
    );
    assert!(bytes(&kept) > bytes(&found), "{text}");
    let path = found["stack"]["greatest"]["path"].as_array().unwrap();
    let names: Vec<_> = path.iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["main", "rests"]);
    let frames: u64 = path.iter().map(|f| f["frame"].as_u64().unwrap()).sum();
    assert_eq!(found["stack"]["greatest"]["bytes"], frames);
    assert!(frames >= 32, "{text}");
    let (status, text) = analyze("small-text.wasm", PROGRAM, &["--functions"]);
    assert_eq!(status, Some(0), "{text}");
    for part in [
        "program        small\n",
        "kernel         yield\n",
        "never called   sleep\n",
        "can send       nothing\n",
        "never  (never called)\n",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn the_way_to_an_import_is_shown() {
    let (status, text) = analyze("way.wasm", PROGRAM, &["--way", "yield"]);
    assert_eq!((status, text.as_str()), (Some(0), "main\nrests\nyield\n"));
    let (status, text) = analyze("way.wasm", PROGRAM, &["--way", "sleep"]);
    assert_eq!(status, Some(1));
    assert!(
        text.contains("nothing that can run reaches sleep"),
        "{text}"
    );
    let (status, text) = analyze("way.wasm", PROGRAM, &["--way", "xh_alloc"]);
    assert_eq!(status, Some(1));
    assert!(text.contains("imports no \"xh_alloc\""), "{text}");
}

#[test]
fn parts_without_allocation_are_listed() {
    let text = r#"(module (@custom "singularity.manifest" "{\"name\": \"calm\", \"abi\": 1}")
        (import "sing_v1" "yield" (func $yield)) (memory 1)
        (func $help (call $yield)) (func $step (export "no_alloc:step") (call $help))
        (func $main (export "sip_main") (result i32) (memory.grow (i32.const 1))))"#;
    let (status, said) = analyze("calm.wasm", text, &[]);
    assert_eq!(status, Some(0), "{said}");
    let line = "no allocation  step: in step, nor in all that it calls (3 functions)\n";
    assert!(said.contains(line), "{said}");
    let broken = text.replace("(call $yield)", "(drop (memory.grow (i32.const 1)))");
    let (status, said) = analyze("hasty.wasm", &broken, &[]);
    assert_eq!(status, Some(1));
    assert!(
        said.contains("step calls help, which runs memory.grow"),
        "{said}"
    );
}

#[test]
fn a_program_that_calls_itself_has_no_greatest_depth() {
    let text = r#"(module (@custom "singularity.manifest" "{\"name\": \"deep\", \"abi\": 1}")
        (func $again (export "sip_main") (result i32) (call $again) (drop) (i32.const 0)))"#;
    let (status, text) = analyze("deep.wasm", text, &[]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("unbounded by the calls alone"), "{text}");
    assert!(
        text.contains("again\n               calls again\n"),
        "{text}"
    );
}

#[test]
fn what_is_refused_is_not_analysed() {
    let (status, text) = analyze("bare.wasm", "(module)", &[]);
    assert_eq!(status, Some(1));
    assert!(text.contains("refused"), "{text}");
}

/// The compiler adds functions to such modules, which no call of the module's leads to.
#[test]
fn modules_with_functions_that_the_compiler_adds_are_analysed() {
    let head = r#"(module (@custom "singularity.manifest" "{\"name\": \"added\", \"abi\": 1}")"#;
    for body in [
        r#"(func $b (result i32) (i32.const 0))
           (func (export "sip_main") (result i32) (return_call $b)))"#,
        r#"(tag $t) (func (export "sip_main") (result i32)
             (block $h (try_table (catch_all $h) (throw $t))) (i32.const 0)))"#,
        r#"(import "sing_v1" "yield" (func $yield)) (table funcref (elem $yield))
           (func (export "sip_main") (result i32) (call_indirect (i32.const 0)) (i32.const 0)))"#,
        r#"(type $t (func)) (func $nothing) (func (export "sip_main") (result i32)
             (call_ref $t (ref.func $nothing)) (i32.const 0)) (elem declare func $nothing))"#,
    ] {
        let (status, text) = analyze(
            "added.wasm",
            &format!("{head} {body}"),
            &["--functions", "--json"],
        );
        assert_eq!(status, Some(0), "{text}");
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        let bytes = found["stack"]["greatest"]["bytes"].as_u64();
        assert!(bytes.is_some_and(|bytes| bytes > 16), "{text}");
        let functions = found["functions"].as_array().unwrap();
        assert_eq!(found["code"]["functions"], functions.len());
        assert!(functions.len() <= 2, "{text}");
    }
}
