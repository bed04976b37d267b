//! Formatting, and clippy for each of the three targets.

use super::{Report, Run};
use crate::{cargo, toolchain};
use anyhow::Result;

/// `cargo fmt --check`.
pub fn formatted(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let mut command = cargo::command(&run.project.root, &["fmt", "--all", "--check"]);
    let outcome = cargo::capture(&mut command, "checking the format")?;
    let result = if outcome.success {
        Ok(())
    } else {
        Err(outcome.output)
    };
    report.count("cargo fmt --all --check", result);
    Ok(report)
}

/// Clippy without a warning: what runs on this machine, programs, the PC HAL.
pub fn lints(run: &Run) -> Result<Report> {
    let project = &run.project;
    let mut report = Report::default();
    let mut lint = |name: &str, arguments: &[&str]| -> Result<()> {
        // The release profile, so that build scripts and macros are shared with the builds.
        let mut line = vec!["clippy", "--release"];
        line.extend(arguments);
        line.extend(["--", "-D", "warnings"]);
        let outcome = cargo::capture(
            &mut cargo::command(&project.root, &line),
            &format!("linting: {name}"),
        )?;
        report.count(
            name,
            if outcome.success {
                Ok(())
            } else {
                Err(outcome.output)
            },
        );
        Ok(())
    };
    lint("host", &["--all-targets"])?;
    toolchain::ensure_target(&project.root, toolchain::WASM)?;
    let mut programs = vec!["--target", toolchain::WASM, "-p", "sing-sdk"];
    for program in &project.programs {
        programs.extend(["-p", &program.package]);
    }
    lint("programs", &programs)?;
    if !run.quick {
        toolchain::ensure_target(&project.root, toolchain::BARE)?;
        lint("pc", &["--target", toolchain::BARE, "-p", "sing-pc"])?;
    }
    Ok(report)
}
