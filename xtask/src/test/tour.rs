//! The README's tour: runs every `cargo xtask run -c` and `target/release/sing` in it, and compares
//! the output, except for numbers. Tries the least memory that `singularity --help` names, too.

use super::{Report, Run};
use crate::host_dir::HostDirectory;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::project::Project;
use crate::run::SCRIPT_ARGUMENTS;
use crate::system::expect;
use crate::system::list::{Body, Expected, Status, Step, Test};
use crate::system::suite::{self, Suite};
use anyhow::{Context, Result, bail};
use sing_abi::exit::machine::NO_MEMORY;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a command of the tour is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The hosted system's shell.
    Hosted,
    /// The shell of the system on a PC.
    Pc,
    /// This machine: arguments of `sing`.
    Tool,
}

/// A command of the tour.
#[derive(Debug, PartialEq, Eq)]
struct Stop {
    place: Place,
    step: Step,
}

/// The name of the test of the least memory.
const LEAST: &str = "--memory-limit";

/// What works on every machine of `cargo xtask run`, beside the tour, and what it prints: ordinary
/// programs need it.
const EVERYWHERE: [(&str, &str); 1] = [("random 4", "[0-9a-f]{8}")];

/// How a command for `sing` begins.
const TOOL: &str = "$ target/release/sing ";

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
    if run.wants(LEAST) {
        let result = least_memory(project).map_err(|reason| format!("{reason:#}"));
        report.count(LEAST, result);
    }
    // What it shows are paths below the project's folder.
    if project.target == project.root.join("target") {
        // The image that `cargo xtask run` leaves there, which some of them read.
        image::system(project, MemoryMode::Guard, None)?;
        let tools = stops.iter().filter(|stop| stop.place == Place::Tool);
        for Stop { step, .. } in tools.filter(|stop| run.wants(&stop.step.command)) {
            let result = tool(project, step).map_err(|reason| format!("{reason:#}"));
            report.count(step.command.clone(), result);
        }
    } else {
        let reason = "commands with `target/`: cargo builds elsewhere";
        report.skipped.push(reason.into());
    }
    let everywhere = EVERYWHERE.map(|(command, output)| Step {
        command: command.into(),
        output: vec![Expected::Matches(output.into())],
        status: Status::Is(0),
    });
    for (machine, place) in [
        (Machine::Hosted, Place::Hosted),
        (Machine::Microvm, Place::Pc),
    ] {
        let here: Vec<Test> = stops
            .iter()
            .filter(|stop| stop.place == place)
            .map(|stop| &stop.step)
            .chain(&everywhere)
            .filter(|step| run.wants(&step.command))
            .map(test)
            .collect();
        if here.is_empty() || machine.is_emulated() && run.quick {
            continue;
        }
        if let Some(reason) = run.without.qemu().filter(|_| machine.is_emulated()) {
            report.skipped.push(reason);
            continue;
        }
        let mut kernel = Kernel::of_users(project, machine, Acceleration::Emulated)?;
        if machine == Machine::Hosted {
            kernel.directories.push(HostDirectory {
                path: project.root.join(DIRECTORY.0),
                at: DIRECTORY.1.into(),
                read_only: true,
            });
        }
        let boot = |script: Option<&str>| super::systems::launch(project, &images, &kernel, script);
        for verdict in (Suite {
            machine,
            boot: &boot,
            watched: false,
            // The tour's system does not contain the tests' programs.
            sweeps: false,
            lanes: suite::at_once(machine),
        })
        .run(&here)?
        {
            report.count(verdict.name, verdict.failure.map_or(Ok(()), Err));
        }
    }
    Ok(report)
}

/// Runs programs with the least memory with which they run by `singularity --help`; with less, they
/// run or the machine says what is short.
fn least_memory(project: &Project) -> Result<()> {
    let singularity = project.host_binary("singularity");
    let printed = |arguments: &[&str]| -> Result<(Option<i32>, String)> {
        let mut command = Command::new(&singularity);
        let output = command.args(arguments).stdin(Stdio::null()).output();
        let output = output.context("cannot start singularity")?;
        let text = [output.stdout, output.stderr].concat();
        Ok((
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        ))
    };
    let (_, help) = printed(&["--help"])?;
    let limit = help
        .split_once("the shell runs programs is ")
        .and_then(|(_, rest)| rest.split_once(". "))
        .context("`singularity --help` names no least memory")?
        .0;
    let image = image::system(project, MemoryMode::Guard, Some("hello | wc && ps"))?;
    let [script, path] = SCRIPT_ARGUMENTS;
    let file = image.to_string_lossy();
    let run = |limit: &str| printed(&["--memory-limit", limit, &file, script, path]);
    let (enough, less) = (
        run(limit),
        ["8M", "9M", "10M"].map(|limit| (limit, run(limit))),
    );
    let _ = std::fs::remove_file(&image);
    match enough? {
        (Some(0), text) if text.contains("nameserver") => {}
        (_, text) => bail!("with --memory-limit {limit} it printed:\n{text}"),
    }
    for (limit, ran) in less {
        match ran? {
            (Some(NO_MEMORY), text) if text.contains("raise --memory-limit") => {}
            // The shell ran, but not every program.
            (_, text) if !text.contains("shell: out of memory") => {}
            (status, text) => bail!("with --memory-limit {limit}, {status:?} after:\n{text}"),
        }
    }
    Ok(())
}

/// Runs `sing` as the tour does.
fn tool(project: &Project, step: &Step) -> Result<()> {
    let output = Command::new(project.host_binary("sing"))
        .args(step.command.split(' '))
        .current_dir(&project.root)
        .output()
        .context("cannot start sing")?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    expect::check(&step.output, &text, &mut expect::Captures::new())
        .with_context(|| format!("it printed:\n{text}"))
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
        } else if let Some((place, command)) = command(line) {
            let step = Step {
                command: command.into(),
                output: Vec::new(),
                status: Status::Any,
            };
            stops.push(Stop { place, step });
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

/// The directory of the host that some command of the tour gives a hosted system, and its path
/// there.
const DIRECTORY: (&str, &str) = ("docs", "/mnt");

/// The command in `$ cargo xtask run [--machine pc] -c 'COMMANDS'` or `$ target/release/sing
/// ARGUMENTS`.
fn command(line: &str) -> Option<(Place, &str)> {
    if let Some(arguments) = line.strip_prefix(TOOL) {
        return Some((Place::Tool, arguments));
    }
    let rest = line
        .strip_prefix("$ cargo xtask run ")?
        .strip_suffix('\'')?;
    let (machine, commands) = rest.split_once("-c '")?;
    let place = match machine {
        "--machine pc " => Place::Pc,
        _ => Place::Hosted,
    };
    Some((place, commands))
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
                    $ cargo xtask run --machine pc -c 'c'\n```\n```console\n$ target/release/sing verify x\nno\n```\n";
        let found = stops(text);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].step.command, "a; b");
        assert_eq!(found[0].step.output.len(), 2);
        assert!(found[0].place == Place::Hosted && found[1].place == Place::Pc);
        assert!(found[1].step.output.is_empty());
        assert_eq!(found[2].place, Place::Tool);
        assert_eq!(found[2].step.command, "verify x");
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
