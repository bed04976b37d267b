//! Unit tests, documentation examples and the compile-fail suite: all tests of `cargo test`.

use super::{Report, Run};
use crate::cargo;
use crate::project::Project;
use anyhow::Result;
use std::collections::BTreeSet;

/// Packages with tests on this machine that the workspace does not build by default.
const FURTHER: [&str; 19] = [
    "bridge",
    "ps",
    "sing-pc",
    "sing-sdk",
    "compile-fail",
    "console",
    "disk-driver",
    "manager",
    "nameserver",
    "shell",
    "file-commands",
    "virtio-9p",
    "wasi-core",
    "ps2-keyboard",
    "vga-text",
    "web",
    "watch",
    "spans",
    "tls",
];

/// How the names of tests that compile C begin.
const NEEDS_CLANG: &str = "clang_";

/// The tests of the store cut the power tens of thousands of times.
const STORE: [&str; 2] = ["--config", "profile.release.package.redb.opt-level=3"];

/// Whether the unit tests of a package are run.
pub(super) fn runs(project: &Project, package: &str) -> bool {
    project.defaults.contains(package) || FURTHER.contains(&package)
}

/// Runs them, optimised, so that the compiler's back end is built once for all parts of the suite; and by one command,
/// so that what they have in common is built once as well.
pub fn check(run: &Run) -> Result<Report> {
    let mut line = vec!["test", "--release", "--no-fail-fast"];
    line.extend(STORE);
    let further = FURTHER
        .into_iter()
        .filter(|name| run.project.has_package(name));
    let mut packages: BTreeSet<&str> = further.collect();
    packages.extend(run.project.defaults.iter().map(String::as_str));
    for package in packages {
        line.extend(["-p", package]);
    }
    line.extend(run.filter.as_deref());
    let mut report = Report::default();
    if let Some(reason) = run.without.clang() {
        report
            .skipped
            .push(format!("tests named {NEEDS_CLANG}*: {reason}"));
        line.extend(["--", "--skip", NEEDS_CLANG]);
    }
    let mut command = cargo::command(&run.project.root, &line);
    let outcome = cargo::capture(&mut command, "running the unit tests")?;
    let counted = read(&outcome.output);
    if !outcome.success && counted.failures.is_empty() {
        report.failures.push((line.join(" "), outcome.output));
    }
    report.passed += counted.passed;
    report.failures.extend(counted.failures);
    report.skipped.extend(counted.skipped);
    Ok(report)
}

/// Reads the output of the test harness.
pub(super) fn read(output: &str) -> Report {
    let mut report = Report::default();
    let mut within = String::new();
    for line in output.lines() {
        let trimmed = line.trim();
        if let Some(binary) = trimmed
            .strip_prefix("Running ")
            .or(trimmed.strip_prefix("Doc-tests "))
        {
            within = binary.split(" (").next().unwrap_or(binary).to_string();
            if let Some((_, file)) = binary.rsplit_once("deps/") {
                let name = file.trim_end_matches(')');
                within = name
                    .rsplit_once('-')
                    .map_or(name, |(name, _)| name)
                    .to_string();
            }
        }
        let Some(test) = line.strip_prefix("test ") else {
            continue;
        };
        if let Some((_, counts)) = test.split_once("result: ") {
            let count = |what: &str| {
                let part = counts
                    .split([';', '.'])
                    .find(|part| part.trim().ends_with(what))?;
                part.trim().split(' ').next()?.parse::<usize>().ok()
            };
            report.passed += count(" passed").unwrap_or(0);
        } else if let Some(name) = test.strip_suffix(" ... FAILED") {
            report
                .failures
                .push((format!("{within}: {name}"), details(output, name)));
        } else if let Some((name, "ignored" | "ignored, ")) = test.split_once(" ... ") {
            report.skipped.push(format!("{within}: {name} is ignored"));
        }
    }
    report
}

/// The output of a failed test.
fn details(output: &str, name: &str) -> String {
    let head = format!("---- {name} stdout ----");
    let Some((_, rest)) = output.split_once(&head) else {
        return String::new();
    };
    let end = rest
        .find("\n---- ")
        .or(rest.find("\nfailures:"))
        .unwrap_or(rest.len());
    rest[..end].trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk;
    use std::path::Path;

    #[test]
    fn each_package_with_tests_is_run() {
        let project = Project::find().unwrap();
        let tests = |folder: &Path| {
            let files = walk::files(&project.root.join(folder), walk::is_written).unwrap();
            files.iter().any(|path| {
                let text = walk::is(path, "rs").then(|| std::fs::read_to_string(path).unwrap());
                text.is_some_and(|text| text.lines().any(|line| line.trim() == "#[test]"))
            })
        };
        let left_out = project.packages.iter().filter(|(name, folder)| {
            !folder.as_os_str().is_empty() && !runs(&project, name) && tests(folder)
        });
        let left_out: Vec<_> = left_out.map(|(name, _)| name.as_str()).collect();
        assert_eq!(left_out, Vec::<&str>::new());
    }

    #[test]
    fn the_harness_is_understood() {
        let output = "     Running unittests src/lib.rs (target/release/deps/sing_image-12ab)\n\nrunning 3 tests\n\
            test a ... ok\ntest b::c ... FAILED\ntest d ... ignored\n\nfailures:\n\n---- b::c stdout ----\n\
            thread panicked: 1 != 2\n\n\nfailures:\n    b::c\n\n\
            test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n   Doc-tests x\n\
            test result: ok. 12 passed; 0 failed; 0 ignored\n";
        let report = read(output);
        assert_eq!(report.passed, 13);
        let failure = (
            "sing_image: b::c".to_string(),
            "thread panicked: 1 != 2".to_string(),
        );
        assert_eq!(report.failures, [failure]);
        assert_eq!(report.skipped, ["sing_image: d is ignored"]);
    }
}
