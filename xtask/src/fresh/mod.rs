//! `cargo xtask test fresh-machine`: the README's two commands on machines that are not like this
//! one.
//!
//! Makes bare roots of Debian or Ubuntu, puts a Rust toolchain and a clone of `HEAD` into each, and
//! runs the commands there, as root and as a user without rights, with and without further
//! packages. It needs root, the network and hours, and so is not part of the suite. The output of
//! the commands is kept in `target/sing/fresh-machine`.

mod case;
mod root;

use crate::packages::{self, Tools};
use crate::project::Project;
use anyhow::{Context, Result, bail};
use case::{CASES, Case};
use root::{Base, Folder};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The tool that makes roots.
const TOOLS: Tools = Tools {
    name: "debootstrap",
    programs: &["debootstrap"],
    packages: &["debootstrap"],
    elsewhere: "`dnf install debootstrap` on Fedora, `pacman -S debootstrap` on Arch",
};

/// The options.
#[derive(Debug, Default)]
pub struct Request {
    /// Keep the roots.
    pub keep: bool,
    /// Only machines whose name contains this.
    pub only: Option<String>,
    /// The argument of the test command; everything by default.
    pub tests: Option<String>,
    /// Leave out the test command.
    pub run_only: bool,
    /// Install Rust by rustup's installer, instead of copying the toolchain in use here.
    pub rustup: bool,
}

/// A line of the table.
struct Row {
    machine: String,
    command: &'static str,
    outcome: Result<String, String>,
    time: Duration,
}

/// Runs the commands on every machine; returns 0 if all went well.
pub fn run(request: &Request) -> Result<u8> {
    if fs::metadata("/proc/self").is_ok_and(|data| data.uid() != 0) {
        bail!("test fresh-machine makes and enters roots, which only root may: run it by sudo");
    }
    if TOOLS.missing().is_some() {
        packages::install(&[&TOOLS])?;
    }
    if TOOLS.missing().is_some() {
        bail!(
            "debootstrap is missing; install it: {}",
            packages::how(&[&TOOLS])
        );
    }
    let project = Project::find()?;
    let logs = project.out().join("fresh-machine");
    fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
    let archive = root::Archive::of_this_machine()?;
    let folder = Folder::new(
        &logs.join(format!("roots-{}", std::process::id())),
        request.keep,
    )?;
    let mut rows = Vec::new();
    for suite in archive.suites() {
        let cases: Vec<(&Case, String)> = CASES
            .iter()
            .map(|case| (case, format!("{suite} {}", case.name)))
            .filter(|(_, name)| {
                request
                    .only
                    .as_ref()
                    .is_none_or(|only| name.contains(only.as_str()))
            })
            .collect();
        if cases.is_empty() {
            continue;
        }
        let since = Instant::now();
        let base = match Base::make(&folder, &archive, suite, &project, request.rustup) {
            Ok(base) => base,
            Err(reason) => {
                rows.push(Row {
                    machine: suite.clone(),
                    command: "debootstrap",
                    outcome: Err(format!("{reason:#}")),
                    time: since.elapsed(),
                });
                continue;
            }
        };
        for (case, name) in cases {
            rows.extend(case_rows(case, &name, &base, &logs, request)?);
        }
        base.remove(request.keep)?;
    }
    if rows.is_empty() {
        bail!(
            "no machine has that name: there are {}",
            names(archive.suites())
        );
    }
    if request.keep {
        say!("the roots are in {}", folder.path().display());
    }
    Ok(print(&rows))
}

fn names(suites: &[String]) -> String {
    let all = suites.iter().flat_map(|suite| {
        CASES
            .iter()
            .map(move |case| format!("`{suite} {}`", case.name))
    });
    all.collect::<Vec<_>>().join(", ")
}

/// Both commands on one machine.
fn case_rows(
    case: &Case,
    name: &str,
    base: &Base,
    logs: &Path,
    request: &Request,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let root = base.enter(case)?;
    let mut commands = vec![("run", "cargo xtask run -c 'hello; ps'".to_string())];
    if !request.run_only {
        let tests = request.tests.as_deref().unwrap_or_default();
        commands.push(("test", format!("cargo xtask test {tests}")));
    }
    for (short, command) in commands {
        let since = Instant::now();
        let outcome = root.run(case, &command, &format!("{name}: `{command}`"))?;
        let log = logs.join(format!("{}-{short}.txt", name.replace(' ', "-")));
        fs::write(&log, &outcome.output)
            .with_context(|| format!("cannot write {}", log.display()))?;
        let verdict = case.judge(short, outcome.success, &outcome.output);
        let row = Row {
            machine: name.to_string(),
            command: short,
            outcome: verdict.map_err(|reason| format!("{reason}; see {}", log.display())),
            time: since.elapsed(),
        };
        say!("{}", text(&row));
        rows.push(row);
    }
    root.remove(request.keep)?;
    Ok(rows)
}

fn text(row: &Row) -> String {
    let (verdict, detail) = match &row.outcome {
        Ok(detail) => ("ok", detail),
        Err(reason) => ("FAILED", reason),
    };
    format!(
        "{:<34} {:<12} {verdict:<7} {:>7.0} s  {detail}",
        row.machine,
        row.command,
        row.time.as_secs_f32()
    )
}

fn print(rows: &[Row]) -> u8 {
    say!("");
    for row in rows {
        say!("{}", text(row));
    }
    let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
    say!("{} passed, {failed} failed", rows.len() - failed);
    u8::from(failed > 0)
}
