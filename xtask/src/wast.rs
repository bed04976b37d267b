//! `cargo xtask wast`: runs `.wast` files through verifier, compiler and hosted kernel.

use crate::build;
use crate::project::Project;
use anyhow::{Context, Result};
use std::process::Command;

/// Passes the arguments on to the runner; returns its exit status.
pub fn run(arguments: &[String]) -> Result<u8> {
    let project = Project::find()?;
    build::host(&project, &["sing-wast"])?;
    let runner = project.host_binary("sing-wast");
    let status = Command::new(&runner)
        .args(arguments)
        .status()
        .with_context(|| format!("cannot start {}", runner.display()))?;
    Ok(status.code().unwrap_or(1) as u8)
}
