//! The policy on `unsafe`: which crates may use it, how much of it they have, and that no other
//! crate does.
//!
//! `xtask/unsafe-budget.json` is the committed table: the folder of a crate, and how often the
//! keyword may occur in it. Every other crate forbids unsafe code in its root; programs deny it
//! (their contracts expand to generated code of the SDK) and do not have the keyword at all.

use super::{Report, Run};
use crate::walk;
use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The table's path.
const TABLE: &str = "xtask/unsafe-budget.json";

/// Checks every crate of the workspace.
pub fn check(run: &Run) -> Result<Report> {
    let root = &run.project.root;
    let text =
        fs::read_to_string(root.join(TABLE)).with_context(|| format!("cannot read {TABLE}"))?;
    let budget: BTreeMap<String, usize> =
        serde_json::from_str(&text).with_context(|| format!("{TABLE}: not understood"))?;
    let mut report = Report::default();
    for (package, folder) in &run.project.packages {
        let name = folder.display().to_string();
        let verdict = check_crate(root, folder, budget.get(&name).copied())?;
        report.count(format!("{package} ({name})"), verdict);
    }
    for name in budget.keys() {
        if !run
            .project
            .packages
            .iter()
            .any(|(_, folder)| folder == Path::new(name))
        {
            report.count(
                name.clone(),
                Err(format!("{TABLE} names it, but there is no such crate")),
            );
        }
    }
    Ok(report)
}

fn check_crate(root: &Path, folder: &Path, budget: Option<usize>) -> Result<Result<(), String>> {
    let mut count = 0;
    let mut allowed = false;
    for file in sources(&root.join(folder))? {
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let found = match count_unsafe(&text) {
            Ok(found) => found,
            Err(reason) => return Ok(Err(format!("{}: {reason}", file.display()))),
        };
        count += found.keywords;
        allowed |= found.allows;
    }
    let programs = [
        "system/drivers",
        "system/services",
        "system/wasi",
        "system/apps",
        "system/wasi/adapter",
        "system/wasi/launcher",
        "system/tls",
        "tests/sips",
        "examples/plugin-host/shout",
        "examples/search-host/search",
        "examples/tool-host/rogue",
        "examples/tool-host/words",
    ];
    let program = programs.iter().any(|place| folder.starts_with(place));
    Ok(judge(
        count,
        allowed,
        budget,
        lint_level(&root.join(folder))?,
        program,
    ))
}

fn judge(
    count: usize,
    allows: bool,
    budget: Option<usize>,
    level: Level,
    program: bool,
) -> Result<(), String> {
    match (budget, level) {
        (Some(budget), _) if count > budget => Err(format!(
            "`unsafe` stands here {count} times, {budget} are in {TABLE}; if it must be, say why in the review and raise it"
        )),
        (Some(_), _) => Ok(()),
        (None, _) if count > 0 => Err(format!(
            "`unsafe` stands here {count} times; this crate may not have any"
        )),
        (None, Level::Deny) if program && !allows => Ok(()),
        (None, Level::Forbid) => Ok(()),
        (None, _) if program => {
            Err("every binary needs `#![deny(unsafe_code)]` and none may allow it again".into())
        }
        (None, _) => Err("needs `#![forbid(unsafe_code)]` in its root".into()),
    }
}

/// The lint level of unsafe code in a crate's roots: the weakest counts; a crate of tests only has
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Nothing,
    Deny,
    Forbid,
}

fn lint_level(folder: &Path) -> Result<Level> {
    let mut roots: Vec<PathBuf> = ["src/lib.rs", "src/main.rs"]
        .map(|f| folder.join(f))
        .to_vec();
    if let Ok(entries) = fs::read_dir(folder.join("src/bin")) {
        roots.extend(entries.flatten().map(|entry| entry.path()));
    }
    roots.retain(|path| path.is_file());
    let mut level = Level::Forbid;
    for path in &roots {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let says = |attribute: &str| text.lines().any(|line| line.trim() == attribute);
        level = level.min(if says("#![forbid(unsafe_code)]") {
            Level::Forbid
        } else if says("#![deny(unsafe_code)]") {
            Level::Deny
        } else {
            Level::Nothing
        });
    }
    Ok(level)
}

/// Rust files of a crate: its own, not those of crates in folders below.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_own = |path: &Path| walk::is_written(path) && !path.join("Cargo.toml").exists();
    let mut found = walk::files(folder, is_own)?;
    found.retain(|path| walk::is(path, "rs"));
    Ok(found)
}

/// The unsafe code in a source file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// How often the keyword occurs; comments and strings do not count.
    keywords: usize,
    /// Whether it allows unsafe code that is denied around it.
    allows: bool,
}

fn count_unsafe(text: &str) -> Result<Found, String> {
    let stream: TokenStream = text.parse().map_err(|e| format!("not Rust: {e}"))?;
    let mut found = Found::default();
    walk(stream, &mut found);
    Ok(found)
}

fn walk(stream: TokenStream, found: &mut Found) {
    let mut last = String::new();
    for token in stream {
        match token {
            TokenTree::Ident(name) => {
                last = name.to_string();
                found.keywords += usize::from(last == "unsafe");
            }
            TokenTree::Group(group) => {
                if last == "allow" || last == "expect" {
                    found.allows |= group
                        .stream()
                        .into_iter()
                        .any(|t| t.to_string() == "unsafe_code");
                }
                walk(group.stream(), found);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keyword_counts() {
        let text = r##"//! unsafe
            #![deny(unsafe_code)] // unsafe
            const A: &str = "unsafe"; /* unsafe */ const B: &str = r#"unsafe"#;
            unsafe fn f() { let c = 'u'; unsafe { g() } }
            #[unsafe(no_mangle)] fn h<'unsafety>() {}"##;
        assert_eq!(
            count_unsafe(text).unwrap(),
            Found {
                keywords: 3,
                allows: false
            }
        );
        assert!(
            count_unsafe("#[allow(unsafe_code)] mod m {}")
                .unwrap()
                .allows
        );
        assert!(count_unsafe("fn (").is_err());
    }

    #[test]
    fn crates_are_judged_by_budget_or_forbid() {
        assert!(judge(3, false, Some(3), Level::Nothing, false).is_ok());
        assert!(judge(4, false, Some(3), Level::Nothing, false).is_err());
        assert!(judge(0, false, None, Level::Forbid, false).is_ok());
        assert!(judge(0, false, None, Level::Nothing, false).is_err());
        assert!(judge(0, false, None, Level::Deny, false).is_err());
        assert!(judge(0, false, None, Level::Deny, true).is_ok());
        assert!(judge(0, true, None, Level::Deny, true).is_err());
        assert!(judge(1, false, None, Level::Deny, true).is_err());
    }
}
