//! Formatting of Rust and of contracts, and clippy for each of the three targets.

use super::{Report, Run};
use crate::image;
use crate::project::Maker;
use crate::wasi;
use crate::{build, cargo, toolchain, walk};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// `cargo fmt --check`, and `sing fmt --check` for all contracts.
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
    build::tools(&run.project)?;
    let mut command = Command::new(run.project.host_binary("sing"));
    command.current_dir(&run.project.root);
    command
        .args(["fmt", "--check"])
        .args(contracts(&run.project.root)?);
    let outcome = cargo::capture(&mut command, "checking the format of the contracts")?;
    let result = if outcome.success {
        Ok(())
    } else {
        Err(outcome.output)
    };
    report.count("sing fmt --check", result);
    Ok(report)
}

/// All contract files, except generated ones.
fn contracts(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = walk::files(root, walk::is_written)?;
    found.retain(|path| walk::is(path, "contract"));
    Ok(found)
}

/// Clippy without a warning: the host's code, programs, the PC HAL; and, unless it is to be quick, the command without
/// what is inside it, and the workspaces of their own.
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
    // Programs, too: editors treat them as part of the workspace.
    lint("host", &["--workspace", "--all-targets"])?;
    let mut programs = vec!["--target", toolchain::WASM, "-p", "sing-sdk"];
    for program in &project.programs {
        if let Maker::Cargo(package) = &program.maker {
            programs.extend(["-p", package]);
        }
    }
    for package in &wasi::PACKAGES {
        programs.extend(["-p", package]);
    }
    programs.extend(["-p", image::TLS]);
    lint("programs", &programs)?;
    if !run.quick {
        lint("pc", &["--target", toolchain::BARE, "-p", "sing-pc"])?;
        let bare = ["-p", "sing-cli", "--no-default-features", "--all-targets"];
        lint("the command alone", &bare)?;
        let target = project.target.join("lints");
        let target = target
            .to_str()
            .context("the target folder's path is no text")?;
        for folder in ["bench/compute", "tests/differential"] {
            let manifest = format!("{folder}/Cargo.toml");
            let place = ["--manifest-path", &manifest, "--target-dir", target];
            lint(folder, &[&place[..], &["--all-targets"]].concat())?;
        }
    }
    Ok(report)
}
