//! The README's tour: runs every `cargo xtask run -c` in it, and compares the output, except for
//! numbers.

use super::{Report, Run};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::system::list::{Body, Expected, Status, Step, Test};
use crate::system::suite::Suite;
use anyhow::{Context, Result};
use std::time::Duration;

/// A command of the tour.
#[derive(Debug, PartialEq, Eq)]
struct Stop {
    pc: bool,
    step: Step,
}

/// Runs the tour; its commands on the PC only if that is not left out.
pub fn check(run: &Run) -> Result<Report> {
    let project = &run.project;
    let text =
        std::fs::read_to_string(project.root.join("README.md")).context("cannot read README.md")?;
    let mut report = Report::default();
    let stops = stops(&text);
    if stops.is_empty() {
        report.count("README.md", Err("shows no `cargo xtask run -c`".into()));
    }
    let images = image::compile_programs(project, Programs::Ordinary, MemoryMode::Guard)?;
    for machine in [Machine::Hosted, Machine::Microvm] {
        let here: Vec<Test> = stops
            .iter()
            .filter(|stop| stop.pc == machine.is_emulated() && run.wants(&stop.step.command))
            .map(|stop| test(&stop.step))
            .collect();
        if here.is_empty() || machine.is_emulated() && run.quick {
            continue;
        }
        if let Some(reason) = run.without.qemu().filter(|_| machine.is_emulated()) {
            report.skipped.push(reason);
            continue;
        }
        let kernel = Kernel::prepare(project, machine, Acceleration::Emulated)?;
        let boot = |script: Option<&str>| super::systems::launch(project, &images, &kernel, script);
        for verdict in (Suite {
            machine,
            boot: &boot,
            watched: false,
            // The tour's system does not contain the tests' programs.
            sweeps: false,
        })
        .run(&here)?
        {
            report.count(verdict.name, verdict.failure.map_or(Ok(()), Err));
        }
    }
    Ok(report)
}

fn test(step: &Step) -> Test {
    let timeout = Duration::from_secs(20);
    let body = Body::Alone(step.clone());
    Test {
        name: step.command.clone(),
        timeout,
        stress: false,
        machine: None,
        body,
    }
}

/// The commands in the text, with the output that it shows.
fn stops(text: &str) -> Vec<Stop> {
    let mut stops: Vec<Stop> = Vec::new();
    let mut within = false;
    for line in text.lines() {
        if line.starts_with("```") {
            within = false;
        } else if let Some((machine, command)) = run_command(line) {
            let step = Step {
                command: command.into(),
                output: Vec::new(),
                status: Status::Any,
            };
            stops.push(Stop {
                pc: machine == "--machine pc ",
                step,
            });
            within = true;
        } else if let (true, Some(stop)) = (within, stops.last_mut()) {
            stop.step.output.push(match line {
                "..." => Expected::Any,
                line => Expected::Matches(pattern(line)),
            });
        }
    }
    stops
}

/// Splits `$ cargo xtask run [--machine pc] -c 'COMMANDS'` into its parts.
fn run_command(line: &str) -> Option<(&str, &str)> {
    let rest = line
        .strip_prefix("$ cargo xtask run ")?
        .strip_suffix('\'')?;
    rest.split_once("-c '")
}

/// A pattern for a line: numbers, units of time and the width of gaps may differ.
fn pattern(line: &str) -> String {
    let mut out = String::from(r"\s*");
    let mut rest = line.trim();
    while let Some(c) = rest.chars().next() {
        let digits = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let blanks = rest
            .find(|c: char| !c.is_whitespace())
            .unwrap_or(rest.len());
        if c.is_ascii_digit() {
            out.push_str(r"\d[\d.]*");
            rest = &rest[digits..];
            if let Some(unit) = ["ns", "µs", "ms", "s"]
                .iter()
                .find(|unit| is_unit(rest, unit))
            {
                out.push_str("(?:ns|µs|ms|s)");
                rest = &rest[unit.len()..];
            }
        } else if blanks > 0 {
            out.push_str(r"\s+");
            rest = &rest[blanks..];
        } else {
            out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Whether the text begins with this unit, as a word.
fn is_unit(text: &str, unit: &str) -> bool {
    text.strip_prefix(unit)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    #[test]
    fn the_tour_is_read() {
        let text = "text\n```console\n$ cargo xtask run -c 'a; b'\nout 1\n...\n```\nmore\n```console\n\
                    $ cargo xtask run --machine pc -c 'c'\n```\n```console\n$ sing verify x\nno\n```\n";
        let found = stops(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].step.command, "a; b");
        assert_eq!(found[0].step.output.len(), 2);
        assert!(found[1].pc && found[1].step.output.is_empty());
    }

    #[test]
    fn numbers_may_differ_and_words_may_not() {
        let pattern = Regex::new(&format!(
            "^(?:{})$",
            pattern("    4 shell  blocked   355.1µs (x)")
        ))
        .unwrap();
        assert!(pattern.is_match("  11 shell     blocked  1.2ms (x)"));
        assert!(!pattern.is_match("  11 shell     ready    1.2ms (x)"));
        assert!(!pattern.is_match("  11 shell     blocked  1.2ms (y)"));
    }
}
