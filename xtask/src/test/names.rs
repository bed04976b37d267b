//! The names of tests, as far as sources tell them: before anything is built, a word that can name no
//! test is refused, with one that may be meant.

use super::boot;
use super::parts::PARTS;
use crate::walk;
use sing_files::near::did_you_mean;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Whether a test may have this in its name, which is known only when all are built: something in
/// the sources that tests are named after does.
pub(super) fn may_name_a_test(root: &Path, filter: &str) -> bool {
    let word = filter.rsplit("::").next().unwrap_or(filter);
    let is_word = |c: char| c.is_alphanumeric() || "_-".contains(c);
    // The tour's tests are lines, examples of documentation have files and lines.
    !word.chars().all(is_word)
        || boot::names().iter().any(|name| name.contains(word))
        || std::fs::read_to_string(root.join("README.md")).is_ok_and(|text| text.contains(word))
        || is_mentioned(root, word)
}

/// The files that people have written, with their names; `None` where not all can be read.
fn written(root: &Path) -> Option<Vec<(String, PathBuf)>> {
    let files = walk::files(root, walk::is_written).ok()?;
    let named = files.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, path))
    });
    Some(named.collect())
}

/// Whether a file below this folder has the word in its name, or a Rust source in its text, or may have it as it
/// cannot be read.
fn is_mentioned(folder: &Path, word: &str) -> bool {
    let is_in = |(name, path): &(String, PathBuf)| {
        name.contains(word)
            || walk::is(path, "rs")
                && std::fs::read_to_string(path).is_ok_and(|text| text.contains(word))
    };
    written(folder).is_none_or(|files| files.iter().any(is_in))
}

/// The names of tests that sources have: files of tests, and functions of Rust that are tests.
fn all(root: &Path) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = boot::names().into_iter().collect();
    for (name, path) in written(root).unwrap_or_default() {
        if let Some(stem) = name.strip_suffix(".test") {
            all.insert(stem.into());
        }
        if walk::is(&path, "rs")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            all.extend(functions(&text).map(String::from));
        }
    }
    all
}

/// The functions of a source that are tests.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]\n").skip(1).filter_map(|after| {
        // Behind further attributes.
        let line = after
            .lines()
            .find(|line| !line.trim_start().starts_with("#["))?;
        let (_, behind) = line.split_once("fn ")?;
        behind.split_once('(').map(|(name, _)| name)
    })
}

/// Why no test is chosen by a name: what does not run single tests, or not now, or that there is none of the
/// name, which one may be meant, and how to see all.
pub(super) fn no_test(root: &Path, part: Option<&str>, word: &str, quick: bool) -> String {
    const LIST: &str = "`cargo xtask test --list` shows the parts, and `--list WORD` tests with a word in the name";
    let parts = || PARTS.iter().map(|part| part.name);
    if let Some(part) = part {
        let named: Vec<_> = PARTS.iter().filter(|p| p.name.contains(part)).collect();
        let Some(first) = named.first() else {
            return format!(
                "no part has the name `{part}`{}\n{LIST}",
                did_you_mean(part, parts())
            );
        };
        let first = first.name;
        if named.iter().all(|part| !part.filters) {
            return format!("`{first}` runs as a whole: `cargo xtask test {first}`");
        }
        if quick && named.iter().all(|part| !part.quick) {
            return format!("`--quick` leaves `{first}` out: `cargo xtask test {first}/{word}`");
        }
    }
    let all = all(root);
    let names = all.iter().map(String::as_str).chain(parts());
    // One that is there is another part's.
    let names = names.filter(|name| *name != word);
    format!(
        "no test has the name `{word}`{}\n{LIST}",
        did_you_mean(word, names)
    )
}

/// The parts, or the tests with a word in the name.
pub(super) fn list(root: &Path, word: Option<&str>) -> Vec<String> {
    let Some(word) = word else {
        return PARTS
            .iter()
            .map(|part| {
                let about = [
                    (part.quick, "quick"),
                    (part.emulated, "emulated machines"),
                    (part.filters, "single tests by PART/TEST"),
                ];
                let about: Vec<_> = about
                    .into_iter()
                    .filter_map(|(is, text)| is.then_some(text))
                    .collect();
                format!("{:<20} {}", part.name, about.join(", "))
                    .trim_end()
                    .into()
            })
            .collect();
    };
    let parts = PARTS.iter().map(|part| part.name.to_string());
    all(root)
        .into_iter()
        .chain(parts)
        .filter(|name| name.contains(word))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    #[test]
    fn a_name_that_no_source_has_is_no_tests() {
        for name in [
            "shutdown-crowd",
            "after_the_end",
            "hello; ps",
            "a_filter_names_parts",
            "tests::a_filter_names_parts",
            &boot::names()[0],
        ] {
            assert!(may_name_a_test(root(), name), "{name}");
        }
        // In two parts, as this source has it otherwise.
        let nothing = ["no-test", "-anywhere"].concat();
        assert!(!may_name_a_test(root(), &nothing));
    }

    #[test]
    fn a_test_that_may_be_meant_is_named() {
        for (part, word, meant) in [
            (None, "shutdown-crwod", "`shutdown-crowd`"),
            (
                None,
                "a_slip_is_naer_and_another_word_is_not",
                "`a_slip_is_near_and_another_word_is_not`",
            ),
            (None, "mizuse", "`misuse`"),
            (Some("system-hostde"), "hello", "`system-hosted`"),
        ] {
            let said = no_test(root(), part, word, false);
            assert!(
                said.contains(&format!("; did you mean {meant}?\n")),
                "{said}"
            );
            assert!(said.contains("--list"), "{said}");
        }
        assert!(!no_test(root(), None, "nothing-is-like-this", false).contains("did you mean"));
    }

    #[test]
    fn a_part_that_runs_no_such_test_says_why() {
        let whole = no_test(root(), Some("fuzz-abi"), "herd", false);
        assert!(
            whole.contains("runs as a whole: `cargo xtask test fuzz-abi`"),
            "{whole}"
        );
        let left_out = no_test(root(), Some("system-microvm"), "shutdown-crowd", true);
        assert!(
            left_out.contains("`--quick` leaves `system-microvm` out"),
            "{left_out}"
        );
        let here = no_test(root(), Some("misuse"), "shutdown-crowd", false);
        assert!(!here.contains("did you mean `shutdown-crowd`"), "{here}");
    }

    #[test]
    fn parts_and_tests_are_listed() {
        let parts = list(root(), None);
        assert_eq!(parts.len(), PARTS.len());
        assert!(
            parts
                .iter()
                .any(|line| line.starts_with("misuse-microvm ") && line.contains("emulated"))
        );
        let named = list(root(), Some("shutdown"));
        assert!(
            named.iter().any(|name| name == "shutdown-crowd"),
            "{named:?}"
        );
        assert!(
            named.iter().all(|name| name.contains("shutdown")),
            "{named:?}"
        );
    }

    #[test]
    fn functions_are_found_behind_attributes() {
        let text = "#[test]\nfn one() {}\nfn no() {}\n    #[test]\n    #[ignore = \"x\"]\n    fn two() {}\n";
        // This is synthetic: the sources have them so, too.
        assert_eq!(functions(text).collect::<Vec<_>>(), ["one", "two"]);
    }
}
