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
fn code_and_data_are_told_by_function() {
    // Two functions name the first eight bytes, one of them also four others that point to a text; a
    // function that is never called has a part of its own, and nobody names the last ones.
    let program = r#"(module
        (@custom "singularity.manifest" "{\"name\": \"data\", \"abi\": 1}")
        (memory 1)
        (data $.rodata (i32.const 1024) "01234567\18\04\00\00none\00\00\00\00\00\00\00\00text")
        (data $idle (i32.const 2048) "sixteen bytes...") (data $spare (i32.const 4096) "spare")
        (data $passive "abc") (data $unnamed "de")
        (func $never (param i32) (drop (i32.load8_u offset=2050 (local.get 0))))
        (func $other (result i32) (i32.load (i32.const 1024)))
        (func $main (export "sip_main") (result i32)
            (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 3))
            (i32.add (i32.load offset=8 (i32.const 1024))
                (i32.add (call $other) (i32.load (i32.const 1024))))))"#;
    let (status, text) = analyze("data.wasm", program, &["--functions", "--json"]);
    assert_eq!(status, Some(0), "{text}");
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let data = &found["data"];
    // Zeros are data, too: the module has them.
    let expected = [
        ("bytes", 28 + 16 + 5 + 3 + 2),
        ("named", 8 + 16 + 3),
        ("pointed_to", 4),
        ("unreached", 16),
        ("not_attributed", 5 + 2),
        ("overlaid", 0),
    ];
    for (key, bytes) in expected {
        assert_eq!(data[key], bytes, "{key}: {text}");
    }
    assert_eq!(data["segment_names"][1], "idle");
    let functions = found["functions"].as_array().unwrap();
    let function = |name: &str| functions.iter().find(|f| f["name"] == name).unwrap();
    let main = function("main");
    assert!(main["code"].as_u64() > Some(0), "{text}");
    assert_eq!(
        (&main["data"], &main["data_alone"]),
        (&27.into(), &19.into())
    );
    let pieces = serde_json::json!([
        { "memory": 0, "at": 1024, "bytes": 8, "name": null },
        { "memory": 0, "at": 1032, "bytes": 16, "name": null },
        { "segment": 3, "bytes": 3, "name": "passive" },
    ]);
    assert_eq!(main["data_pieces"], pieces);
    let other = function("other");
    assert_eq!(
        (&other["data"], &other["data_alone"]),
        (&8.into(), &0.into())
    );
    let never = function("never");
    assert_eq!((&never["code"], &never["data"]), (&0.into(), &16.into()));
    assert_eq!(never["data_pieces"][0]["name"], "idle");
    let (_, text) = analyze("data-text.wasm", program, &["--functions"]);
    for part in [
        "data           54 bytes in 5 segments: 27 named by functions, 4 behind pointers in these, \
         16 named by functions that are never called, 7 not attributed\n",
        "       0 bytes, data      16 (alone      16), frame      8  never  (never called)\n",
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
