//! Ties `SPECIFICATION.md` to the tests: every promise names at least one, and every test that it
//! names exists.
//!
//! A promise is a row of a table whose first cell is its number, like `S3` or `S3a`. Its tests stand in
//! backquotes in the last cell: `system NAME` (a file of `tests/system`), `unit CRATE PATH` (a test
//! function of a crate), `bench ID` (a row of the benchmark), `part NAME` (a whole part of the
//! suite).

use super::{PARTS, Report, Run};
use crate::walk;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Checks every row.
pub fn check(run: &Run) -> Result<Report> {
    let root = &run.project.root;
    let text = fs::read_to_string(root.join("SPECIFICATION.md"))
        .context("cannot read SPECIFICATION.md")?;
    let mut report = Report::default();
    let mut numbers = BTreeSet::new();
    for (number, tests) in promises(&text) {
        let verdict = if !numbers.insert(number.clone()) {
            Err("two promises have this number".to_string())
        } else if tests.is_empty() {
            Err("names no test".to_string())
        } else {
            tests.iter().try_for_each(|test| exists(run, test))
        };
        report.count(number, verdict);
    }
    if report.passed + report.failures.len() == 0 {
        report.count("SPECIFICATION.md", Err("has no promises".into()));
    }
    Ok(report)
}

/// Numbers of the promises, and the tests that each names.
fn promises(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line
            .trim()
            .trim_matches('|')
            .split('|')
            .map(str::trim)
            .collect();
        let (Some(number), Some(last)) = (cells.first(), cells.last()) else {
            continue;
        };
        let digits = number.trim_start_matches(|c: char| c.is_ascii_uppercase());
        // A letter behind the number is a promise that came later.
        let digits = digits.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let numbered = digits.len() < number.len() && !digits.is_empty();
        if !line.starts_with('|') || !numbered || !digits.chars().all(|c| c.is_ascii_digit()) {
            continue;
        }
        let tests = last
            .split('`')
            .skip(1)
            .step_by(2)
            .map(String::from)
            .collect();
        found.push((number.to_string(), tests));
    }
    found
}

fn exists(run: &Run, test: &str) -> Result<(), String> {
    let root = &run.project.root;
    let words: Vec<&str> = test.split_whitespace().collect();
    let there = match words.as_slice() {
        ["system", name] => root
            .join("tests/system")
            .join(format!("{name}.test"))
            .is_file(),
        ["part", name] => PARTS.iter().any(|part| part.name == *name),
        ["bench", id] => crate::bench::TARGETS.iter().any(|target| target.id == *id),
        ["unit", package, path] => {
            let folder = run
                .project
                .packages
                .iter()
                .find(|(name, _)| name == package);
            let folder =
                folder.ok_or_else(|| format!("`{test}`: there is no crate `{package}`"))?;
            if !super::unit::runs(&run.project, package) {
                return Err(format!(
                    "`{test}`: the part `unit` does not run `{package}`"
                ));
            }
            let function = path.rsplit("::").next().unwrap_or(path);
            has_function(&root.join(&folder.1), function).map_err(|e| format!("{e:#}"))?
        }
        _ => {
            return Err(format!(
                "`{test}`: a test is `system NAME`, `unit CRATE PATH`, `bench ID` or `part NAME`"
            ));
        }
    };
    if there {
        Ok(())
    } else {
        Err(format!("`{test}`: there is no such test"))
    }
}

/// Whether a Rust file below a folder has this function.
fn has_function(folder: &Path, name: &str) -> Result<bool> {
    let wanted = format!("fn {name}(");
    let files = walk::files(folder, walk::is_written)?;
    Ok(files.iter().any(|path| {
        walk::is(path, "rs") && fs::read_to_string(path).is_ok_and(|text| text.contains(&wanted))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_rows_with_numbers() {
        let text = "| id | promise | tests |\n|---|---|---|\n| S1 | holds | `system crash`, `unit a b::c` |\n| S2 | x | |\nS3\n";
        let found = promises(text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0],
            (
                "S1".into(),
                vec!["system crash".into(), "unit a b::c".into()]
            )
        );
        assert!(found[1].1.is_empty());
    }
}
