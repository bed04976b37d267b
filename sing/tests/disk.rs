//! `sing disk` from the making of an image to its check, and what it refuses.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn disk(folder: &PathBuf, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sing"))
        .arg("disk")
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Runs a command that must succeed; returns what it prints.
fn done(folder: &PathBuf, line: &str) -> String {
    let output = disk(folder, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must be refused for this reason.
fn refused(folder: &PathBuf, line: &str, reason: &str) {
    let output = disk(folder, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}: {errors}");
    assert!(
        errors.contains(reason) && !errors.contains("panicked"),
        "{line}: {errors}"
    );
}

#[test]
fn files_go_into_an_image_and_come_out() {
    let at = folder("disk-files");
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n / 7) as u8).collect();
    fs::write(at.join("data"), &bytes).unwrap();
    fs::write(at.join("small"), "hello").unwrap();
    done(&at, "create image 8M --label mine");
    done(&at, "mkdir image /home");
    done(&at, "put image data /home");
    done(&at, "put image small home/other");
    done(&at, "put image small /home/data2");
    assert_eq!(
        done(&at, "ls image /home"),
        "     3000000  data\n           5  other\n           5  data2\n"
    );
    assert_eq!(done(&at, "ls image"), "   directory  home/\n");
    done(&at, "get image /home/data out");
    assert!(fs::read(at.join("out")).unwrap() == bytes);
    assert_eq!(done(&at, "get image home/other -"), "hello");
    // What is put in the place of a file replaces it.
    done(&at, "put image data /home/other");
    done(&at, "rm image /home/data2");
    assert!(done(&at, "check image").contains("4 nodes, no problem"));
    let df = done(&at, "df image");
    assert!(
        df.contains("label     mine\n") && df.contains("nodes                  4\n"),
        "{df}"
    );
    refused(&at, "rm image /home", "not empty");
    done(&at, "rm image /home/data");
    done(&at, "rm image /home/other");
    done(&at, "rm image /home");
    assert_eq!(done(&at, "ls image"), "");
    assert!(done(&at, "check image").contains("no problem"));
}

#[test]
fn what_does_not_work_is_refused_with_its_reason() {
    let at = folder("disk-refused");
    fs::write(at.join("large"), vec![1; 2 << 20]).unwrap();
    done(&at, "create image 1M");
    refused(&at, "create image 1M", "--force");
    refused(&at, "create nowhere/image 1M", "cannot be made");
    refused(&at, "ls missing", "cannot be opened");
    refused(&at, "ls large", "no file system of ours");
    refused(&at, "ls .", "not an ordinary file");
    refused(&at, "ls image /a", "/a: it does not exist");
    refused(&at, "get image / out", "not a file");
    refused(&at, "get image /a image", "does not exist");
    refused(&at, "mkdir image /a/b", "does not exist");
    refused(&at, "mkdir image /", "below the root");
    refused(&at, "mkdir image /..", "not a name");
    refused(&at, "put image image /a", "also an input");
    refused(&at, "put image large /a", "no space left");
    // What was refused has left nothing behind.
    assert_eq!(done(&at, "ls image"), "");
    assert!(done(&at, "check image").contains("1 nodes, no problem"));
    // A second command waits for nobody.
    let file = fs::File::open(at.join("image")).unwrap();
    file.lock().unwrap();
    refused(&at, "ls image", "another command uses it");
    drop(file);
    // A damaged image is no reason for anything but a message.
    let mut bytes = fs::read(at.join("image")).unwrap();
    for byte in bytes.iter_mut().skip(20 * 4096).step_by(97) {
        *byte ^= 4;
    }
    fs::write(at.join("image"), &bytes).unwrap();
    refused(&at, "check image", "damaged");
    done(&at, "create image 1M --force");
    assert_eq!(done(&at, "ls image"), "");
}

/// Names that a terminal would obey are shown so that they can be given back; JSON has them as they are.
#[test]
fn whatever_is_listed_can_be_named() {
    let at = folder("disk-names");
    fs::write(at.join("small"), "hello").unwrap();
    done(&at, "create image 1M --label a\u{9b}b");
    done(&at, "mkdir image /\\u{1b}[2J\\n");
    done(&at, "put image small /\\u{1b}[2J\\n/\\u{202e}exe\\\\n");
    assert_eq!(done(&at, "ls image"), "   directory  \\u{1b}[2J\\n/\n");
    let listed = done(&at, "ls image /\\u{1b}[2J\\n");
    assert_eq!(listed, "           5  \\u{202e}exe\\\\n\n");
    let json = done(&at, "ls --json image /\\u{1b}[2J\\n");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let file = serde_json::json!({"name": "\u{202e}exe\\n", "kind": "file", "bytes": 5});
    assert_eq!(json, serde_json::json!([file]));
    assert_eq!(
        done(&at, "get image /\\u{1b}[2J\\n/\\u{202e}exe\\\\n -"),
        "hello"
    );
    assert!(done(&at, "df image").contains("label     a\\u{9b}b\n"));
    refused(
        &at,
        "rm image /\\u{1b}[2J\\n",
        "/\\u{1b}[2J\\n: the directory is not empty",
    );
    let mistyped = disk(&at, "rm image /a\\x");
    let said = String::from_utf8_lossy(&mistyped.stderr);
    assert_eq!(mistyped.status.code(), Some(2), "{said}");
    assert!(
        said.contains("/a\\\\x: a backslash begins an escape"),
        "{said}"
    );
    done(&at, "rm image /\\u{1b}[2J\\n/\\u{202e}exe\\\\n");
    done(&at, "rm image /\\u{1b}[2J\\n");
    assert_eq!(done(&at, "ls image"), "");
}
