//! What is kept of compilations: of a program that has changed a little, the next one compiles what
//! has changed, by every command that writes an image, to the same bytes as without a cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of a test's own, empty.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// A module of ten functions; the ninth answers this number.
fn module(number: u32) -> Vec<u8> {
    let functions: String = (0..9)
        .map(|i| {
            let answer = if i == 8 { number } else { i };
            format!(
                "(func $f{i} (param i32) (result i32)
                    (i32.load offset={i} (i32.mul (local.get 0) (i32.const {answer}))))"
            )
        })
        .collect();
    // Each is called, so that none is left out.
    let calls: String = (0..8)
        .map(|i| format!("(drop (call $f{i} (i32.const 1)))"))
        .collect();
    let text = format!(
        r#"(module (@custom "singularity.manifest" "{{\"name\": \"m\", \"abi\": 1}}")
            (memory 1) {functions}
            (func (export "sip_main") (result i32) {calls} (call $f8 (i32.const 1))))"#
    );
    wat::parse_str(text).unwrap()
}

/// Runs `sing` with a cache in the folder.
fn sing(folder: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_sing"))
        .args(arguments)
        .current_dir(folder)
        .env("SING_CACHE", folder.join("cache"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output
}

/// Makes an image and returns its bytes, of which the command says that so many functions of ten
/// were compiled.
fn made(folder: &Path, arguments: &[&str], compiled: usize) -> Vec<u8> {
    let arguments = [arguments, &["-o", "out", "-v"]].concat();
    let output = sing(folder, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    let wanted = format!(" s, {compiled} of 10 functions\n");
    assert!(said.contains(&wanted), "{arguments:?}: {said}");
    fs::read(folder.join("out")).unwrap()
}

#[test]
fn what_has_not_changed_is_not_compiled_again() {
    let folder = folder("kept-compile");
    let changes = [(7, 10), (7, 0), (8, 1), (8, 0), (7, 1)];
    for (number, compiled) in changes {
        fs::write(folder.join("m.wasm"), module(number)).unwrap();
        let kept = made(&folder, &["compile", "m.wasm"], compiled);
        let anew = made(&folder, &["compile", "m.wasm", "--no-cache"], 10);
        assert!(kept == anew, "{number}");
    }
    // Other code.
    made(&folder, &["compile", "m.wasm", "--memory", "explicit"], 10);
    made(&folder, &["compile", "m.wasm", "--memory", "explicit"], 0);
}

#[test]
fn a_system_image_is_made_of_what_is_kept() {
    let folder = folder("kept-image");
    let system = r#"{"start": [{"name": "m", "image": "m", "args": ["m"], "main": true}]}"#;
    fs::write(folder.join("system.json"), system).unwrap();
    let image = ["image", "--manifest", "system.json", "--bin", "m=m.wasm"];
    let without = [&image[..], &["--no-cache"]].concat();
    for (number, compiled) in [(7, 10), (7, 0), (8, 1)] {
        fs::write(folder.join("m.wasm"), module(number)).unwrap();
        let kept = made(&folder, &image, compiled);
        assert!(kept == made(&folder, &without, 10), "{number}");
    }
    // What `sing compile` has kept is there for `sing image`.
    fs::write(folder.join("m.wasm"), module(9)).unwrap();
    made(&folder, &["compile", "m.wasm"], 1);
    made(&folder, &image, 0);
}

#[test]
fn nothing_is_kept_where_none_is_wanted() {
    let folder = folder("kept-off");
    fs::write(folder.join("m.wasm"), module(7)).unwrap();
    made(&folder, &["compile", "m.wasm", "--no-cache"], 10);
    assert!(!folder.join("cache").exists());
    // A cache that is broken costs time, and nothing else.
    fs::write(folder.join("cache"), "no folder").unwrap();
    made(&folder, &["compile", "m.wasm"], 10);
}

/// Linux sends a signal to who writes more into a file than its limit allows; it ends nobody here.
#[test]
fn a_limit_of_files_costs_the_cache_alone() {
    let folder = folder("limited");
    fs::write(folder.join("m.wasm"), module(1)).unwrap();
    let limited = |out: &str| {
        let output = Command::new("sh")
            .args([
                "-c",
                "ulimit -f 0 && exec \"$0\" compile m.wasm -v -o \"$1\"",
            ])
            .args([env!("CARGO_BIN_EXE_sing"), out])
            .current_dir(&folder)
            .env("SING_CACHE", folder.join("cache"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    // A device has no size.
    let (status, said) = limited("/dev/null");
    assert_eq!(status, Some(0), "{said}");
    assert!(
        said.contains("its functions are not kept: File too large"),
        "{said}"
    );
    let (status, said) = limited("out");
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("out: cannot be written: File too large"),
        "{said}"
    );
    let mut left: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["cache", "m.wasm"]);
    assert_eq!(fs::read_dir(folder.join("cache")).unwrap().count(), 0);
}
