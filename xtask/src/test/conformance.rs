//! `sing check contracts` on the system itself: a complete exploration must find nothing.

use super::{Report, Run};
use crate::cargo;
use crate::image::{self, MemoryMode, Programs};
use anyhow::{Context, Result};
use std::process::Command;

/// A system that deadlocks.
const FAULTY: &str = "tests/conformance/faulty/pipeline-end.system";

/// More situations than the system has with any shell: the name server has three clients there.
const ANY_SHELL: &str = "10000000";

/// Checks the system image, its services with a client of theirs, and every contract by itself.
pub fn check(run: &Run) -> Result<Report> {
    let project = &run.project;
    let images = image::compile_programs(project, Programs::Ordinary, MemoryMode::Guard)?;
    let system = project
        .out()
        .join(format!("conformance-{}.img", std::process::id()));
    let system = image::pack(project, &images, &system, None)?;
    let mut report = Report::default();
    let sing = || {
        let mut command = Command::new(project.host_binary("sing"));
        command
            .current_dir(&project.root)
            .args(["check", "contracts"]);
        command
    };
    let mut count = |name: &str, mut command: Command| -> Result<()> {
        let outcome = cargo::capture(&mut command, &format!("checking {name}"))?;
        let clean = outcome.success && outcome.output.contains("nothing found in all of");
        report.count(name, if clean { Ok(()) } else { Err(outcome.output) });
        Ok(())
    };
    let mut whole = sing();
    whole.arg(&system);
    let checked = count("the system image", whole);
    let mut any = sing();
    any.arg(&system).args(["--any", "shell", "--closing"]);
    any.args(["--limit", ANY_SHELL]);
    let checked = checked.and_then(|()| count("the system image with any shell", any));
    std::fs::remove_file(&system).with_context(|| format!("cannot remove {}", system.display()))?;
    checked?;
    let mut services = sing();
    services.args(["--manifest", "tests/conformance/services.json"]);
    for (name, image) in &images {
        services
            .arg("--bin")
            .arg(format!("{name}={}", image.display()));
    }
    count("services and a client", services)?;
    let mut contracts = sing();
    contracts.arg("system/contracts/system.contract");
    count("contracts by themselves", contracts)?;
    let mut answers = |name: &str, args: &[&str], status: i32| -> Result<()> {
        let output = sing().args(args).output().context("cannot start sing")?;
        let said = if output.status.code() == Some(status) {
            Ok(())
        } else {
            Err(format!("{}, not exit status {status}", output.status))
        };
        report.count(name, said);
        Ok(())
    };
    let system = "system/contracts/system.contract";
    answers("a system with a fault is refused", &[FAULTY], 1)?;
    answers("no system is no check", &[], 2)?;
    answers(
        "an unfinished check is no pass",
        &[system, "--limit", "2"],
        3,
    )?;
    answers(
        "a fault counts, however far it came",
        &[FAULTY, "--limit", "20"],
        1,
    )?;
    Ok(report)
}
