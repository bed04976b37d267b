//! Files that a command of `sing` cannot take: its own output, and those of another kind.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of this test's own with a module, a manifest, a contract and a program in another
/// language.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let module = wat::parse_str(
        r#"(module (@custom "singularity.manifest" "{\"name\": \"m\", \"abi\": 1}")
            (func (export "sip_main") (result i32) (i32.const 0)))"#,
    );
    let contract = "contract C { in message Ask(); out message Answer(); state Start: Ask? -> Answer! -> Start; }\n";
    for (name, bytes) in [
        ("m.wasm", &module.unwrap()[..]),
        ("s.json", br#"{ "start": [{ "name": "m", "image": "m" }] }"#),
        ("c.contract", contract.as_bytes()),
        ("a.py", b"import os\n\ndef main():\n    print(os.environ)\n"),
    ] {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    folder
}

/// Runs `sing` in a folder; returns the exit status and the output.
fn sing(folder: &Path, line: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sing"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn no_command_overwrites_its_input() {
    let folder = folder("overwritten");
    symlink("m.wasm", folder.join("link")).unwrap();
    symlink("s.json", folder.join("index.html")).unwrap();
    std::fs::copy(folder.join("c.contract"), folder.join("C.h")).unwrap();
    let inputs = ["m.wasm", "s.json", "c.contract", "C.h"];
    let contents = || inputs.map(|name| std::fs::read(folder.join(name)).unwrap());
    let before = contents();
    for line in [
        "compile m.wasm -o m.wasm",
        "compile m.wasm -o ./m.wasm",
        "compile m.wasm -o link",
        "compile link -o m.wasm",
        "image -o s.json --manifest s.json --bin m=m.wasm",
        "image -o m.wasm --manifest s.json --bin m=m.wasm",
        "image -o c.contract --manifest s.json --bin m=m.wasm --file c=c.contract",
        "check contracts c.contract --svg c.contract",
        "check contracts --manifest s.json --bin m=m.wasm --svg m.wasm",
        "doc -o . --system s.json c.contract",
        "bind c -o . C.h",
    ] {
        let (status, text) = sing(&folder, line);
        assert_eq!(status, Some(1), "{line}: {text}");
        assert!(text.contains("the output is also an input: "), "{text}");
        assert_eq!(text.lines().count(), 1, "{line}: {text}");
        assert!(contents() == before, "{line}");
    }
    for line in [
        "compile m.wasm -o m.elf",
        "compile m.wasm -o m.elf",
        "image -o s.img --manifest s.json --bin m=m.wasm",
        "fmt c.contract",
    ] {
        let (status, text) = sing(&folder, line);
        assert_eq!(status, Some(0), "{line}: {text}");
    }
}

#[test]
fn a_file_of_another_kind_is_named_in_a_line() {
    let folder = folder("kinds");
    assert_eq!(sing(&folder, "compile m.wasm -o m.elf").0, Some(0));
    let image = "image -o s.img --manifest s.json --bin m=m.wasm";
    assert_eq!(sing(&folder, image).0, Some(0));
    std::fs::write(folder.join("old.img"), b"SINGSYS0 and more").unwrap();
    for (line, part) in [
        ("compile m.elf -o x", "m.elf: is an image already"),
        ("check contracts m.wasm", "m.wasm: is a WebAssembly module"),
        ("check contracts m.elf", "m.elf: is the image of a program"),
        ("check contracts a.py", "a.py: is no text of contracts"),
        ("doc -o d a.py", "a.py: is no text of contracts"),
        ("count a.py", "a.py: is no text of contracts"),
        ("bind c -o d m.wasm", "m.wasm: is a WebAssembly module"),
        ("bind c -o d s.img", "s.img: is a system image"),
        ("fmt a.py", "a.py: is no text of contracts"),
        ("fmt m.elf", "m.elf: is the image of a program"),
        (
            "symbols s.img -o x",
            "s.img: a system image, where a module or",
        ),
        (
            "symbols m.wasm -o x",
            "m.wasm: a WebAssembly module, where the image",
        ),
        (
            "symbols a.py -o x",
            "a.py: neither a WebAssembly module nor an image",
        ),
        (
            "symbols old.img -o x",
            "old.img: a system image, where a module or",
        ),
        (
            "verify s.img",
            "s.img: refused: a system image, where a module or",
        ),
        (
            "verify old.img",
            "asked for; its layout has version 0, and this reads version ",
        ),
    ] {
        let (status, text) = sing(&folder, line);
        assert_eq!(status, Some(1), "{line}: {text}");
        assert!(text.contains(part), "{line}: {text}");
        assert_eq!(text.lines().count(), 1, "{line}: {text}");
    }
}

/// A system that has programs without checks is built, and says who they are, also of images.
#[test]
fn programs_without_checks_are_named() {
    let folder = folder("unchecked");
    let made = sing(&folder, "compile m.wasm -o m.elf --checks none");
    assert_eq!(made.0, Some(0), "{}", made.1);
    let note = "sing: s.img: m: compiled without checks: only a hosted system that was started with --measure loads";
    for (program, options, noted) in [
        ("m.elf", "", true),
        ("m.wasm", " --checks none", true),
        ("m.wasm", "", false),
    ] {
        let line = format!("image -o s.img --manifest s.json --bin m={program}{options}");
        let (status, text) = sing(&folder, &line);
        assert_eq!(status, Some(0), "{line}: {text}");
        assert_eq!(text.contains(note), noted, "{line}: {text}");
    }
}

#[test]
fn what_a_file_is_instead_is_said() {
    let folder = folder("instead");
    std::fs::write(folder.join("empty"), "").unwrap();
    std::fs::create_dir(folder.join("dir")).unwrap();
    // An ELF file of another system: this test.
    let elf = std::env::current_exe().unwrap();
    symlink(elf, folder.join("elf")).unwrap();
    for (line, said) in [
        (
            "verify dir",
            "dir: refused: cannot be read: it is a directory",
        ),
        ("run dir", "dir: cannot be read: it is a directory"),
        ("verify empty", "empty: refused: the file is empty"),
        ("run empty", "empty: the file is empty"),
        (
            "run elf",
            "elf: is an ELF file, and no program for WebAssembly",
        ),
    ] {
        let (status, text) = sing(&folder, line);
        assert_eq!(status, Some(1), "{line}: {text}");
        assert!(text.contains(said), "{line}: {text}");
    }
}
