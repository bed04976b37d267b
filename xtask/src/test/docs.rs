//! The documentation: links have targets, code that is marked with a file equals that file, the
//! book lists all its chapters, and the parts of this suite, and mdBook (if it is installed) builds it.

use super::{PARTS, Report, Run};
use crate::{cargo, walk};
use anyhow::{Context, Result};
use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Checks every Markdown file at the root and in `docs/`.
pub fn check(run: &Run) -> Result<Report> {
    let root = &run.project.root;
    let mut report = Report::default();
    let mut files = markdown(root, false)?;
    files.extend(markdown(&root.join("docs"), true)?);
    for file in &files {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file
            .strip_prefix(root)
            .unwrap_or(file)
            .display()
            .to_string();
        report.count(name.clone(), broken_links(file, &text));
        report.count(format!("{name}: code"), other_code(root, &text));
    }
    report.count(
        "docs/src/SUMMARY.md lists every chapter",
        unlisted(&root.join("docs/src"), &files),
    );
    report.count(
        "docs/src/testing.md tells of every part",
        untold(&root.join("docs/src/testing.md")),
    );
    let mut mdbook = Command::new("mdbook");
    let out = run.project.out().join("book");
    match cargo::capture(
        mdbook
            .arg("build")
            .arg(root.join("docs"))
            .arg("-d")
            .arg(out),
        "building the book",
    ) {
        Ok(outcome) if outcome.success => report.count("mdbook build", Ok(())),
        Ok(outcome) => report.count("mdbook build", Err(outcome.output)),
        Err(_) => report
            .skipped
            .push("mdbook is not installed; links and chapters were checked without it".into()),
    }
    Ok(report)
}

fn markdown(folder: &Path, deep: bool) -> Result<Vec<PathBuf>> {
    let mut found = walk::files(folder, |path| deep && !path.ends_with("book"))?;
    found.retain(|path| walk::is(path, "md"));
    Ok(found)
}

/// Links to files that are not there, or to headings that the file does not have.
fn broken_links(file: &Path, text: &str) -> Result<(), String> {
    let Ok(link) = Regex::new(r"\]\(([^)\s]+)\)") else {
        return Err("bad pattern".into());
    };
    let mut broken = Vec::new();
    let prose = without_code(text);
    for found in link.captures_iter(&prose) {
        let target = &found[1];
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let aim = if path.is_empty() {
            file.to_path_buf()
        } else {
            file.with_file_name("").join(path)
        };
        if !aim.exists() {
            broken.push(format!("{target}: no such file"));
        } else if !heading.is_empty() {
            let there = fs::read_to_string(&aim).unwrap_or_default();
            if !anchors(&there).iter().any(|anchor| anchor == heading) {
                broken.push(format!("{target}: no such heading"));
            }
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(broken.join("\n"))
    }
}

/// The text without code.
fn without_code(text: &str) -> String {
    let mut fenced = false;
    let mut out = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // Every second part is between backquotes.
            out.extend(line.split('`').step_by(2));
            out.push('\n');
        }
    }
    out
}

/// Names by which links address headings: lower case, words joined by hyphens.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// Code after a mark `<!-- FILE -->` that differs from the file.
fn other_code(root: &Path, text: &str) -> Result<(), String> {
    let mut lines = text.lines();
    let mut wrong = Vec::new();
    while let Some(line) = lines.next() {
        let Some(file) = line
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"))
        else {
            continue;
        };
        if !lines.next().is_some_and(|line| line.starts_with("```")) {
            wrong.push(format!("{file}: no code follows"));
            continue;
        }
        let shown: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match fs::read_to_string(root.join(file)) {
            Ok(there) if there.lines().eq(shown.iter().copied()) => {}
            Ok(there) => {
                let same = there.lines().zip(&shown).take_while(|(a, b)| a == *b);
                let line = same.count() + 1;
                wrong.push(format!("{file}: differs from line {line} on"));
            }
            Err(error) => wrong.push(format!("{file}: {error}")),
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

fn unlisted(source: &Path, files: &[PathBuf]) -> Result<(), String> {
    let summary = source.join("SUMMARY.md");
    let text = fs::read_to_string(&summary).map_err(|e| format!("cannot read it: {e}"))?;
    let missing: Vec<String> = files
        .iter()
        .filter_map(|file| file.strip_prefix(source).ok())
        .filter(|name| *name != Path::new("SUMMARY.md"))
        .map(|name| name.display().to_string())
        .filter(|name| {
            !text.contains(&format!("({name})")) && !text.contains(&format!("(./{name})"))
        })
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("not listed: {}", missing.join(", ")))
    }
}

/// Whether the first column of the table of parts has all of them, and no other.
fn untold(chapter: &Path) -> Result<(), String> {
    let text = fs::read_to_string(chapter).map_err(|e| format!("cannot read it: {e}"))?;
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| part |"));
    let rows = rows.skip(2).map_while(|line| line.strip_prefix("| "));
    let told: Vec<&str> = rows
        .filter_map(|row| Some(row.split_once(" |")?.0))
        .flat_map(|names| names.split(", "))
        .collect();
    let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
    let missing = names.iter().filter(|name| !told.contains(name));
    let other = told.iter().filter(|name| !names.contains(name));
    let wrong: Vec<&str> = missing.chain(other).copied().collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("missing, or of no part: {}", wrong.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_what_its_file_says() {
        let folder = std::env::temp_dir().join(format!("xtask-code-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.rs"), "one\ntwo\n").unwrap();
        let check = |text: &str| other_code(&folder, text);
        assert_eq!(check("<!-- a.rs -->\n```rust\none\ntwo\n```\nmore"), Ok(()));
        let differs = check("<!-- a.rs -->\n```rust\none\nthree\n```\n");
        assert_eq!(differs, Err("a.rs: differs from line 2 on".into()));
        let shorter = check("<!-- a.rs -->\n```rust\none\n```\n");
        assert_eq!(shorter, Err("a.rs: differs from line 2 on".into()));
        assert!(check("<!-- b.rs -->\n```\n```\n").is_err());
        assert_eq!(
            check("<!-- a.rs -->\none"),
            Err("a.rs: no code follows".into())
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn links_are_followed() {
        let folder = std::env::temp_dir().join(format!("xtask-docs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a.md");
        let text = "# What it is\n[b](b.md) [up](#what-it-is) [x](https://x.y/z) `[c](c.md)`\n```\n[d](d.md)\n```\n";
        fs::write(&file, text).unwrap();
        assert!(
            broken_links(&file, text)
                .unwrap_err()
                .contains("b.md: no such file")
        );
        fs::write(folder.join("b.md"), "").unwrap();
        assert_eq!(broken_links(&file, text), Ok(()));
        assert!(
            broken_links(&file, "[x](b.md#there)")
                .unwrap_err()
                .contains("no such heading")
        );
        fs::write(folder.join("SUMMARY.md"), "[a](a.md)").unwrap();
        let files = markdown(&folder, true).unwrap();
        assert_eq!(unlisted(&folder, &files), Err("not listed: b.md".into()));
        fs::remove_dir_all(folder).unwrap();
    }
}
