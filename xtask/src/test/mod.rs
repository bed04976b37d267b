//! `cargo xtask test`: every part of the test suite, a table, and a closing line that counts.

mod boot;
pub mod bridge;
mod conformance;
pub mod debugger;
mod dependencies;
pub mod deploy;
mod devices;
mod directories;
mod display;
mod docs;
mod embed;
mod format;
mod fuzz;
mod hosts;
pub mod link;
mod links;
mod misuse;
mod names;
mod network_peer;
mod networks;
mod ordinary;
mod own;
mod parts;
mod platform;
mod programs;
mod serve;
mod soak;
mod sockets;
mod specification;
pub mod systems;
pub mod tcp;
mod tour;
mod unit;
mod unsafety;
mod wast;
pub mod web;

use crate::project::Project;
use crate::setup::{self, Need, Needs, Without};
use anyhow::Result;
use parts::{PARTS, Part};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The options of `test`.
#[derive(Debug, Default)]
pub struct Request {
    /// Leave out slow parts: emulated machines, the WebAssembly suite, the PC's lints.
    pub quick: bool,
    /// Run all cases of parts that have many.
    pub all: bool,
    /// Only parts, or tests, whose name contains this.
    pub filter: Option<String>,
    /// Show the names, and run nothing.
    pub list: bool,
}

/// The context that the parts share.
pub struct Run {
    /// The project.
    pub project: Project,
    /// Leave out slow parts.
    pub quick: bool,
    /// Run all cases of parts that have many.
    pub all: bool,
    /// Only tests whose name contains this (the part's own name does not).
    pub filter: Option<String>,
    /// The tools that this machine lacks.
    pub without: Without,
}

impl Run {
    /// Whether a test is selected.
    pub fn wants(&self, name: &str) -> bool {
        self.filter
            .as_deref()
            .is_none_or(|filter| name.contains(filter))
    }

    /// The selected tests of a folder; one that cannot be read has failed.
    pub fn wanted<T>(&self, all: Vec<(String, anyhow::Result<T>)>, report: &mut Report) -> Vec<T> {
        let mut wanted = Vec::new();
        for (name, test) in all.into_iter().filter(|(name, _)| self.wants(name)) {
            match test {
                Ok(test) => wanted.push(test),
                Err(reason) => report.count(name, Err(format!("{reason:#}"))),
            }
        }
        wanted
    }
}

/// The result of a part.
#[derive(Debug, Default)]
pub struct Report {
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed: name and reason.
    pub failures: Vec<(String, String)>,
    /// Tests that could not run, with the reason.
    pub skipped: Vec<String>,
}

impl Report {
    /// Counts one test.
    pub fn count(&mut self, name: impl Into<String>, result: Result<(), String>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(reason) => self.failures.push((name.into(), reason)),
        }
    }
}

/// Runs the suite; returns 0 if nothing failed.
pub fn run(request: &Request) -> Result<u8> {
    let mut filter = None;
    let chosen: Vec<&Part> = choose(request, &mut filter);
    let mut project = Project::find()?;
    if request.list {
        let word = request.filter.as_deref();
        // Of `PART/TEST`, the test.
        let word = word.map(|word| word.split_once('/').map_or(word, |(_, test)| test));
        let lines = names::list(&project.root, word);
        lines.iter().for_each(|line| say!("{line}"));
        if let Some(word) = word.filter(|_| lines.is_empty()) {
            say!("{}", names::no_test(&project.root, None, word, false));
        }
        return Ok(u8::from(lines.is_empty()));
    }
    if let Some(word) = &filter
        && (chosen.is_empty() || !names::may_name_a_test(&project.root, word))
    {
        let wanted = request.filter.as_deref().unwrap_or(word);
        let part = wanted.split_once('/').map(|(part, _)| part);
        say!(
            "{}",
            names::no_test(&project.root, part, word, request.quick)
        );
        return Ok(1);
    }
    let has = |name: &str| chosen.iter().any(|part| part.name == name);
    let in_parts = ["tour", "deploy"].iter().any(|name| has(name));
    let emulated = !request.quick && (in_parts || chosen.iter().any(|part| part.emulated));
    let wanted = |is| if is { Need::Wanted } else { Need::No };
    let ordinary = ["ordinary", "serve", "embed", "own"];
    let needs = Needs {
        clang: Need::Wanted,
        qemu: wanted(emulated),
        pc: emulated || has("lints"),
        ordinary: ordinary.iter().any(|name| has(name))
            || has("programs-hosted")
            || has("programs-pc"),
        lints: has("lints") || has("format"),
        nats: wanted(has("bridge-hosted")),
        python: wanted(has("deploy") || has("web-hosted")),
        chromium: wanted(has("web-hosted")),
        gdb: wanted(has("debugger") || has("debugger-pc")),
    };
    let run = Run {
        without: setup::prepare(&mut project, needs)?,
        project,
        quick: request.quick,
        all: request.all,
        filter,
    };
    let started = Instant::now();
    let mut rows = Vec::new();
    for part in chosen {
        let since = Instant::now();
        let report = match run.without.qemu().filter(|_| part.emulated) {
            Some(reason) => Report {
                skipped: vec![reason],
                ..Report::default()
            },
            None => (part.run)(&run).unwrap_or_else(|error| Report {
                failures: vec![(part.name.to_string(), format!("{error:#}"))],
                ..Report::default()
            }),
        };
        for (name, reason) in &report.failures {
            say!("FAILED {}: {name}\n{}\n", part.name, indent(reason));
        }
        let row = (part.name, report, since.elapsed());
        say!("{}", row_text(&row));
        rows.push(row);
    }
    Ok(summarize(&rows, started.elapsed()))
}

/// The selected parts. A filter that names a part selects all of it; any other filter selects tests
/// of the parts that can run single ones; `PART/TEST` gives both.
fn choose(request: &Request, filter: &mut Option<String>) -> Vec<&'static Part> {
    let parts = PARTS.iter().filter(|part| part.quick || !request.quick);
    let Some(wanted) = &request.filter else {
        return parts.collect();
    };
    if let Some((part, test)) = wanted.split_once('/') {
        *filter = Some(test.to_string());
        return parts
            .filter(|p| p.filters && p.name.contains(part))
            .collect();
    }
    let named: Vec<_> = parts
        .clone()
        .filter(|part| part.name.contains(wanted.as_str()))
        .collect();
    if !named.is_empty() {
        return named;
    }
    *filter = Some(wanted.clone());
    parts.filter(|part| part.filters).collect()
}

fn row_text((name, report, time): &(&str, Report, Duration)) -> String {
    let (passed, failed, seconds) = (report.passed, report.failures.len(), time.as_secs_f32());
    format!("{name:<18} {passed:>6} passed {failed:>5} failed {seconds:>8.1} s")
}

/// Prints the skipped and failed tests, and the closing line.
fn summarize(rows: &[(&str, Report, Duration)], time: Duration) -> u8 {
    let passed: usize = rows.iter().map(|(_, report, _)| report.passed).sum();
    let failed: usize = rows
        .iter()
        .map(|(_, report, _)| report.failures.len())
        .sum();
    say!("");
    for (name, report, _) in rows {
        let skipped: BTreeSet<&String> = report.skipped.iter().collect();
        for reason in skipped {
            say!("not run, {name}: {reason}");
        }
    }
    for (name, report, _) in rows {
        for (test, reason) in &report.failures {
            say!("FAILED {name}: {test}\n{}", indent(&short(reason)));
        }
    }
    if passed + failed == 0 {
        say!("no test has that name; `cargo xtask test --list WORD` shows which have a word in it");
    }
    say!("in {} s:", time.as_secs());
    say!("{passed} passed, {failed} failed");
    u8::from(failed > 0 || passed == 0)
}

/// Lines of a reason at its start and at its end that the summary repeats, and characters of each:
/// a log may have been kept from its end only.
const FIRST: usize = 4;
const LAST: usize = 6;
const WIDE: usize = 300;

/// A long reason without its middle.
fn short(reason: &str) -> String {
    let cut = |line: &str| match line.char_indices().nth(WIDE) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line.to_string(),
    };
    let lines: Vec<&str> = reason.lines().collect();
    let (first, last) = match lines.len() {
        n if n <= FIRST + LAST + 1 => (lines.as_slice(), [].as_slice()),
        n => (&lines[..FIRST], &lines[n - LAST..]),
    };
    let between = match last {
        [] => None,
        _ => Some(format!("… {} lines", lines.len() - FIRST - LAST)),
    };
    let (first, last) = (first.iter().map(|l| cut(l)), last.iter().map(|l| cut(l)));
    first
        .chain(between)
        .chain(last)
        .collect::<Vec<_>>()
        .join("\n")
}

fn indent(text: &str) -> String {
    text.lines()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_loses_its_middle() {
        let numbered = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        for n in [0, 1, FIRST + LAST + 1] {
            assert_eq!(short(&numbered(n).join("\n")), numbered(n).join("\n"));
        }
        let long = short(&numbered(100).join("\n"));
        assert_eq!(long, "1\n2\n3\n4\n… 90 lines\n95\n96\n97\n98\n99\n100");
        assert_eq!(short(&"ä".repeat(500)), format!("{} …", "ä".repeat(WIDE)));
    }

    #[test]
    fn a_filter_names_parts_or_tests() {
        let request = |quick, filter: &str| Request {
            quick,
            filter: Some(filter.into()),
            ..Request::default()
        };
        let mut filter = None;
        let names = |parts: Vec<&Part>| parts.iter().map(|p| p.name).collect::<Vec<_>>();
        assert_eq!(
            names(choose(&request(false, "q35"), &mut filter)),
            ["stress-q35", "system-q35"]
        );
        assert_eq!(filter, None);
        let parts = choose(&request(true, "crash"), &mut filter);
        assert!(parts.iter().all(|part| part.quick && part.filters));
        let parts = names(parts);
        for name in ["unit", "system-hosted", "misuse", "tour"] {
            assert!(parts.contains(&name), "{name} is not among {parts:?}");
        }
        assert_eq!(filter.as_deref(), Some("crash"));
        let parts = names(choose(&request(false, "system-hosted/crash"), &mut filter));
        assert_eq!(parts, ["system-hosted"]);
        assert_eq!(filter.as_deref(), Some("crash"));
    }

    #[test]
    fn nothing_run_is_a_failure() {
        assert_eq!(
            summarize(
                &[("unit", Report::default(), Duration::ZERO)],
                Duration::ZERO
            ),
            1
        );
        let one = Report {
            passed: 1,
            ..Report::default()
        };
        assert_eq!(
            summarize(&[("unit", one, Duration::ZERO)], Duration::ZERO),
            0
        );
    }
}
