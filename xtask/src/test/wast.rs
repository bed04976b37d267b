//! The WebAssembly test suite, if there is a copy in the repository or beside it.

use super::systems::counts;
use super::{Report, Run};
use crate::{build, cargo};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The suite's folder in the repository, if it has a copy.
const INSIDE: &str = "tests/wast/suite";
/// Its folders. A copy may lack the second.
const FOLDERS: [&str; 2] = ["core", "simd"];

/// The suite's folders: in the repository, or in `wasm-testsuite` in a folder beside it, or one
/// deeper. None where there is no copy.
fn find(root: &Path) -> Vec<PathBuf> {
    let copy = copy(root);
    let folders = copy.iter().flat_map(|c| FOLDERS.map(|f| c.join(f)));
    folders.filter(|place| place.is_dir()).collect()
}

fn copy(root: &Path) -> Option<PathBuf> {
    let inside = root.join(INSIDE);
    let parent = root.parent()?;
    let beside = std::fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let deeper = beside.map(|folder| folder.join("wasm-testsuite"));
    [inside, parent.join("wasm-testsuite")]
        .into_iter()
        .chain(deeper)
        .find(|place| place.join(FOLDERS[0]).is_dir())
}

/// Runs every file in both memory modes.
pub fn check(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let suite = find(&run.project.root);
    if suite.is_empty() {
        report.skipped.push(format!(
            "no copy of the WebAssembly test suite in {INSIDE} or beside the repository; `cargo xtask wast` runs any"
        ));
        return Ok(report);
    }
    build::host(&run.project, &["sing-wast"])?;
    let mut command = Command::new(run.project.host_binary("sing-wast"));
    let outcome = cargo::capture(command.args(&suite), "running the WebAssembly test suite")?;
    match outcome.output.lines().rev().find_map(counts) {
        Some((passed, 0)) if outcome.success => report.passed = passed,
        Some((passed, failed)) if failed > 0 => {
            report.passed = passed;
            let lines: Vec<_> = outcome
                .output
                .lines()
                .filter(|l| l.contains(".wast:"))
                .collect();
            report.failures = (0..failed)
                .map(|i| {
                    lines
                        .get(i)
                        .unwrap_or(&"see the runner's output")
                        .to_string()
                })
                .map(|line| (line, String::new()))
                .collect();
        }
        _ => report.failures.push(("sing-wast".into(), outcome.output)),
    }
    Ok(report)
}
