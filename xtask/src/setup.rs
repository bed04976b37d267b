//! The tools that a command needs, found or fetched before anything is built: a build takes
//! minutes, and must not end with a report of a missing tool that could have been made at once.
//!
//! All missing tools are named together, with one line that installs them. An optional tool that
//! cannot be installed is left out, with a line that says so.

use crate::packages::{self, Tools};
use crate::project::{Maker, Project};
use crate::test::bridge::NATS;
use crate::test::debugger::GDB;
use crate::test::deploy::PYTHON;
use crate::test::web::devtools::CHROMIUM;
use crate::{clang, qemu, toolchain};
use anyhow::{Result, bail};

/// How much a command needs a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Not at all.
    No,
    /// Without it, parts are left out.
    Wanted,
    /// Without it, nothing can be done.
    Required,
}

/// The tools that a command needs beside cargo and the target of programs.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// The C compiler: without it, programs in C are left out.
    pub clang: Need,
    /// The emulator.
    pub qemu: Need,
    /// The target of the PC's kernel.
    pub pc: bool,
    /// The target of ordinary programs in Rust. What lacks it says so itself.
    pub ordinary: bool,
    /// The checkers of format and lints.
    pub lints: bool,
    /// The server that two systems meet at in a test.
    pub nats: Need,
    /// What reads the manifests for others in a test.
    pub python: Need,
    /// The browser that a test opens the system in.
    pub chromium: Need,
    /// The debugger.
    pub gdb: Need,
}

impl Needs {
    /// The needs of a command that builds the system, and runs it on an emulated machine or on this
    /// one.
    pub fn of(emulated: bool) -> Needs {
        Needs {
            clang: Need::Wanted,
            qemu: if emulated { Need::Required } else { Need::No },
            pc: emulated,
            ordinary: false,
            lints: false,
            nats: Need::No,
            python: Need::No,
            chromium: Need::No,
            gdb: Need::No,
        }
    }
}

/// The parts that this machine lacks and that cannot be installed.
#[derive(Debug, Default)]
pub struct Without {
    /// Optional tools that are missing, with the way to get each.
    tools: Vec<&'static Tools>,
    /// Programs that cannot be built.
    pub programs: Vec<String>,
}

impl Without {
    /// The reason for leaving out emulated machines, if they are left out.
    pub fn qemu(&self) -> Option<String> {
        self.reason(&qemu::TOOLS)
    }

    /// The reason for leaving out programs in C, if they are left out.
    pub fn clang(&self) -> Option<String> {
        self.reason(&clang::TOOLS)
    }

    /// The reason for leaving out the test with a server of NATS, if it is left out.
    pub fn nats(&self) -> Option<String> {
        self.reason(&NATS)
    }

    /// The reason for leaving out the test of the manifests, if it is left out.
    pub fn python(&self) -> Option<String> {
        self.reason(&PYTHON)
    }

    /// The reason for leaving out the test with a browser, if it is left out.
    pub fn chromium(&self) -> Option<String> {
        self.reason(&CHROMIUM)
    }

    /// The reason for leaving out the tests with a debugger, if they are left out.
    pub fn gdb(&self) -> Option<String> {
        self.reason(&GDB)
    }

    fn reason(&self, tools: &Tools) -> Option<String> {
        let found = self.tools.iter().find(|t| t.name == tools.name)?;
        Some(format!(
            "{} missing; install: {}",
            found.name,
            packages::how(&[found])
        ))
    }

    /// The first missing program that a line of shell commands names, if any.
    pub fn named_in(&self, commands: &str) -> Option<&str> {
        let mut words = commands.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
        words.find_map(|word| {
            self.programs
                .iter()
                .find(|name| *name == word)
                .map(String::as_str)
        })
    }
}

/// Finds or fetches all tools. Removes from the project the programs that cannot be built.
pub fn prepare(project: &mut Project, needs: Needs) -> Result<Without> {
    let in_c = |project: &Project| {
        let made = project.programs.iter();
        made.filter(|p| matches!(p.maker, Maker::Clang(_)))
            .map(|p| p.name.clone())
            .collect::<Vec<_>>()
    };
    let mut wanted: Vec<(&'static Tools, Need)> = vec![
        (&qemu::TOOLS, needs.qemu),
        (&NATS, needs.nats),
        (&PYTHON, needs.python),
        (&CHROMIUM, needs.chromium),
        (&GDB, needs.gdb),
    ];
    if !in_c(project).is_empty() {
        wanted.push((&clang::TOOLS, needs.clang));
    }
    wanted.retain(|(tools, need)| *need != Need::No && tools.missing().is_some());
    let tools: Vec<&Tools> = wanted.iter().map(|(tools, _)| *tools).collect();
    let apt = packages::install(&tools)?;
    wanted.retain(|(tools, _)| tools.missing().is_some());

    let targets: &[&str] = if needs.pc {
        &[toolchain::WASM, toolchain::BARE]
    } else {
        &[toolchain::WASM]
    };
    let targets = toolchain::missing_targets(&project.root, targets)?;
    let mut lacking = Vec::new();
    lacking.extend(toolchain::add(&project.root, "target", &targets)?);
    if lacking.is_empty() && !toolchain::missing_targets(&project.root, &targets)?.is_empty() {
        lacking.push(format!(
            "rustup has added {}, but not to the toolchain in use; is RUSTC or PATH set to another one?",
            targets.join(" and ")
        ));
    }
    if needs.ordinary {
        let missing = toolchain::missing_targets(&project.root, &[toolchain::WASIP1])?;
        toolchain::add(&project.root, "target", &missing)?;
    }
    if needs.lints {
        let components = toolchain::missing_components(&project.root)?;
        lacking.extend(toolchain::add(&project.root, "component", &components)?);
    }
    let required: Vec<&Tools> = named(&wanted, Need::Required);
    if !required.is_empty() {
        let programs: Vec<&str> = required
            .iter()
            .filter_map(|tools| tools.missing())
            .collect();
        lacking.push(format!(
            "{} missing: {}",
            programs.join(" and "),
            packages::how(&required)
        ));
        lacking.extend(apt.map(|said| format!("apt-get failed:\n{}", said.trim_end())));
    }
    if !lacking.is_empty() {
        bail!("this machine lacks what is needed.\n{}", lacking.join("\n"));
    }

    let mut without = Without {
        tools: named(&wanted, Need::Wanted),
        ..Without::default()
    };
    if let Some(reason) = without.clang() {
        without.programs = in_c(project);
        project
            .programs
            .retain(|p| !without.programs.contains(&p.name));
        complain!("without {}: {reason}", without.programs.join(" and "));
    }
    if let Some(reason) = without.qemu() {
        complain!("without emulated machines: {reason}");
    }
    Ok(without)
}

fn named(tools: &[(&'static Tools, Need)], need: Need) -> Vec<&'static Tools> {
    let found = tools.iter().filter(|(_, n)| *n == need);
    found.map(|(tools, _)| *tools).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_with_programs_that_are_not_there_are_known() {
        let without = Without {
            tools: vec![&clang::TOOLS],
            programs: vec!["c-ping".into(), "c-wrong".into()],
        };
        assert_eq!(without.named_in("hello; c-wrong twice"), Some("c-wrong"));
        assert_eq!(without.named_in("bin/c-ping|wc"), Some("c-ping"));
        assert_eq!(without.named_in("ping; c-pings"), None);
        assert!(
            without
                .clang()
                .unwrap()
                .contains("apt-get install clang lld")
        );
        assert_eq!(without.qemu(), None);
    }
}
