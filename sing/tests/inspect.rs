//! `sing inspect` and `sing verify` on files that are no program.

use sing_image::system::{Start, SystemImage, SystemManifest};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `sing`; returns the exit status and the output.
fn sing(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sing"))
        .args(arguments)
        .env("SING_CACHE", "off")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// A file of this test's own.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_system_image_is_listed_and_is_no_program() {
    let manifest: SystemManifest =
        serde_json::from_str(r#"{ "start": [{ "name": "first", "image": "one" }] }"#).unwrap();
    assert!(matches!(&manifest.start[..], [Start { name, .. }] if name == "first"));
    let files = [
        ("bin/one".into(), &b"code"[..]),
        ("notes.txt".into(), &[b'x'; 100][..]),
    ];
    let bytes = SystemImage::encode(&manifest, &files).unwrap();
    let whole = file("whole.img", &bytes);
    let whole = whole.to_str().unwrap();
    let (status, text) = sing(&["inspect", whole]);
    assert_eq!(status, Some(0), "{text}");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let size = bytes.len().to_string();
    assert_eq!(rows[0], ["system", "image", &size, "bytes"]);
    assert_eq!(rows[1], ["starts", "first"]);
    assert_eq!(rows[2], ["program", "one", "4", "bytes"]);
    assert_eq!(rows[3], ["file", "notes.txt", "100", "bytes"]);
    for arguments in [
        &["inspect", whole, "--imports"][..],
        &["verify", whole],
        &["compile", whole, "-o", "/dev/null"],
    ] {
        let (status, text) = sing(arguments);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains("system image"), "{arguments:?}: {text}");
    }
    let cut = file("cut.img", &bytes[..bytes.len() - 1]);
    let (status, text) = sing(&["inspect", cut.to_str().unwrap()]);
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains("cut.img") && text.contains("cut short"),
        "{text}"
    );
}

#[test]
fn a_terminal_obeys_nothing_that_is_inspected() {
    let text = r#"(module (@custom "singularity.manifest"
            "{\"name\": \"x\", \"version\": \"1\\u001b[2J\", \"description\": \"\\u001b]0;owned\\u0007\\nABI none\\u009b2J\", \"abi\": 1}")
        (func (export "sip_main") (result i32) (i32.const 0)))"#;
    let module = file("hostile.wasm", &wat::parse_str(text).unwrap());
    let manifest: SystemManifest =
        serde_json::from_str(r#"{ "start": [{ "name": "\u001b[2J", "image": "one" }] }"#).unwrap();
    let files = [("bin/one\u{1b}[2J".into(), &b"code"[..])];
    let image = file(
        "hostile.img",
        &SystemImage::encode(&manifest, &files).unwrap(),
    );
    let (module, image) = (module.to_str().unwrap(), image.to_str().unwrap());
    for arguments in [
        &["inspect", module][..],
        &["inspect", module, "--manifest"],
        &["verify", module],
        &["inspect", image],
    ] {
        let (status, text) = sing(arguments);
        assert_eq!(status, Some(0), "{text}");
        let control = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{arguments:?}: {text:?}");
        assert!(!text.contains("\nABI none"), "{text}");
    }
}

#[test]
fn functions_are_shown_with_an_empty_line_between() {
    let text = r#"(module (@custom "singularity.manifest" "{\"name\": \"two\", \"abi\": 1}")
        (func $other (export "other")) (func $never)
        (func (export "sip_main") (result i32) (i32.const 0)))"#;
    let path = file("two.wasm", &wat::parse_str(text).unwrap());
    let (status, text) = sing(&["inspect", path.to_str().unwrap(), "--disassemble"]);
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(text.matches("\n\n0x").count(), 1, "{text}");
    assert!(text.starts_with("\n0x") && !text.contains('\u{fffd}'));
    let (_, text) = sing(&["inspect", path.to_str().unwrap(), "--disassemble", "never"]);
    assert!(text.contains("left out: nothing calls it"), "{text}");
    let (_, text) = sing(&["inspect", path.to_str().unwrap()]);
    for part in [
        "3 functions, of which 1 are left out",
        "checks         all\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn an_image_without_checks_is_told_from_others() {
    let text = r#"(module (@custom "singularity.manifest" "{\"name\": \"bare\", \"abi\": 1}")
        (func (export "sip_main") (result i32) (i32.const 0)))"#;
    let path = file("bare.wasm", &wat::parse_str(text).unwrap());
    let image = path.with_extension("image");
    let (path, image) = (path.to_str().unwrap(), image.to_str().unwrap());
    let (status, text) = sing(&["compile", path, "-o", image, "--checks", "none"]);
    assert_eq!(status, Some(0), "{text}");
    let (_, text) = sing(&["inspect", image]);
    let part = "left out; runs only in a system that was started with --measure";
    assert!(text.contains(part), "{text}");
    let (status, text) = sing(&["verify", image]);
    assert_eq!(status, Some(1), "{text}");
    let part = "refused: compiled without checks: only a hosted system that was started with";
    assert!(text.contains(part), "{text}");
}

#[test]
fn webassembly_text_is_recognised() {
    let path = file("text.wat", b";; a module\n(module)\n");
    let (status, text) = sing(&["verify", path.to_str().unwrap()]);
    assert_eq!(status, Some(1));
    assert!(text.contains("wat2wasm"), "{text}");
}

#[test]
fn a_program_that_imports_nothing_says_so() {
    let text = r#"(module (@custom "singularity.manifest" "{\"name\": \"alone\", \"abi\": 1}")
        (func (export "sip_main") (result i32) (i32.const 0)))"#;
    let path = file("alone.wasm", &wat::parse_str(text).unwrap());
    let path = path.to_str().unwrap();
    let (status, text) = sing(&["inspect", path, "--imports", "--contracts"]);
    assert_eq!(
        (status, text.as_str()),
        (Some(0), "no imports\nno contracts\n")
    );
}
