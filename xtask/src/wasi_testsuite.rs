//! `cargo xtask wasi-testsuite`: runs the test programs of the WASI subgroup, of a copy that the user has, by
//! `sing run`.
//!
//! Each `.wasm` file is a test. A `.json` file of its name says its arguments, variables and directory, and with what
//! it has to end; without one it ends with 0. The directory is copied for each test, as tests change it.

use crate::project::Project;
use crate::{walk, wasi};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a test is run with, and with what it has to end.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    args: Vec<String>,
    env: BTreeMap<String, String>,
    /// The directory that the program has as `/`, beside the test.
    root: Option<String>,
    exit_code: i32,
    stdout: Option<String>,
    stderr: Option<String>,
}

impl Wanted {
    fn read(text: &str) -> Result<Wanted> {
        let wanted: Wanted = serde_json::from_str(text)?;
        // The directory is copied, and nothing above the test is.
        let outside = wanted.root.as_deref().is_some_and(|root| {
            root.is_empty() || root.split('/').any(|part| part == "..") || root.starts_with('/')
        });
        ensure!(!outside, "its root is no directory beside it");
        Ok(wanted)
    }

    /// What a test needs that it has a file for; the default if it has none.
    fn of(module: &Path) -> Result<Wanted> {
        let file = module.with_extension("json");
        if !file.exists() {
            return Ok(Wanted::default());
        }
        let text = fs::read_to_string(&file)?;
        Wanted::read(&text).with_context(|| file.display().to_string())
    }
}

/// How long a test may take, in seconds; and the status of `timeout` where it takes longer.
const SECONDS: &str = "60";
const LATE: i32 = 124;

/// Runs the tests below these folders; the exit status says whether all have passed.
pub fn run(folders: &[String]) -> Result<u8> {
    ensure!(!folders.is_empty(), "wasi-testsuite: which folders?");
    let mut tests = Vec::new();
    for folder in folders {
        ensure!(
            Path::new(folder).is_dir(),
            "wasi-testsuite: {folder}: there is no such folder"
        );
        let found = walk::files(Path::new(folder), |_| true)?;
        tests.extend(found.into_iter().filter(|path| walk::is(path, "wasm")));
    }
    if tests.is_empty() {
        bail!(
            "wasi-testsuite: no .wasm file below {}; the branch prod/testsuite-base of wasi-testsuite has them built",
            folders.join(", ")
        );
    }
    tests.sort();
    let project = Project::find()?;
    wasi::base(&project)?;
    let place = project
        .out()
        .join(format!("wasi-testsuite-{}", std::process::id()));
    let mut failed = 0;
    for test in &tests {
        let outcome = one(&project, test, &place);
        fs::remove_dir_all(&place).ok();
        if let Err(reason) = outcome {
            failed += 1;
            say!("FAILED {}: {reason:#}", test.display());
        }
    }
    say!("{} passed, {failed} failed", tests.len() - failed);
    Ok(u8::from(failed > 0))
}

/// Runs a test, with this folder for its directory.
fn one(project: &Project, module: &Path, place: &Path) -> Result<()> {
    let wanted = Wanted::of(module)?;
    // Of coreutils, as everywhere on Linux.
    let mut command = Command::new("timeout");
    command.arg(SECONDS).arg(project.host_binary("sing"));
    command.arg("run");
    for (name, value) in &wanted.env {
        command.arg("--env").arg(format!("{name}={value}"));
    }
    if let Some(root) = &wanted.root {
        let beside = module.parent().unwrap_or(Path::new(".")).join(root);
        copy(&beside, place)?;
        command.arg("--dir").arg(format!("{}::/", place.display()));
    }
    let output = command
        .arg(module)
        .args(&wanted.args)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let late = output.status.code() == Some(LATE) && wanted.exit_code != LATE;
    ensure!(!late, "has not ended within {SECONDS} seconds: {said}");
    ensure!(
        output.status.code() == Some(wanted.exit_code),
        "ends with {}, not with {}: {said}",
        output.status,
        wanted.exit_code
    );
    for (what, bytes, wanted) in [
        ("output", &output.stdout, &wanted.stdout),
        ("errors", &output.stderr, &wanted.stderr),
    ] {
        if let Some(wanted) = wanted {
            let said = String::from_utf8_lossy(bytes);
            ensure!(said == *wanted, "its {what} are {said:?}, not {wanted:?}");
        }
    }
    Ok(())
}

/// Copies a directory with what is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let failed = || from.display().to_string();
    for entry in fs::read_dir(from).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let target: PathBuf = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_needs_is_read() {
        let wanted = Wanted::read(
            r#"{"args": ["a b"], "root": "fs-tests.dir", "env": {"c": "d"}, "exit_code": 33, "stdout": "hello"}"#,
        );
        let wanted = wanted.unwrap();
        assert_eq!(wanted.args, ["a b"]);
        assert_eq!(
            (wanted.root.as_deref(), wanted.exit_code),
            (Some("fs-tests.dir"), 33)
        );
        assert_eq!(wanted.stdout.as_deref(), Some("hello"));
        assert_eq!(Wanted::read("{}").unwrap(), Wanted::default());
        for (text, part) in [
            (r#"{"root": "../.."}"#, "no directory beside it"),
            (r#"{"root": "/etc"}"#, "no directory beside it"),
            // What is not understood is not passed over.
            (r#"{"operations": []}"#, "operations"),
        ] {
            let error = Wanted::read(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_folder_without_tests_is_refused() {
        let said = |folder: &str| run(&[folder.into()]).unwrap_err().to_string();
        assert!(run(&[]).unwrap_err().to_string().contains("which folders?"));
        assert!(said("no/such").contains("no/such: there is no such folder"));
        let empty = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        assert!(said(empty).contains("no .wasm file below"));
    }
}
