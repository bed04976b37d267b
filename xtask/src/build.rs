//! Builds the parts: host tools, programs, the PC HAL.

use crate::cargo;
use crate::project::{Program, Project};
use crate::toolchain;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Builds binaries for this machine (packages of the workspace), optimised.
pub fn host(project: &Project, packages: &[&str]) -> Result<()> {
    let mut arguments = vec!["build", "--release"];
    for package in packages {
        arguments.extend(["-p", package]);
    }
    cargo::quiet(
        &mut cargo::command(&project.root, &arguments),
        "building the tools",
    )
}

/// Builds programs to WebAssembly modules.
pub fn programs(project: &Project, programs: &[&Program]) -> Result<()> {
    toolchain::ensure_target(&project.root, toolchain::WASM)?;
    let packages: BTreeSet<&str> = programs.iter().map(|p| p.package.as_str()).collect();
    let mut arguments = vec!["build", "--release", "--target", toolchain::WASM];
    for package in packages {
        arguments.extend(["-p", package]);
    }
    let mut command = cargo::command(&project.root, &arguments);
    cargo::quiet(&mut command, "building the programs")
}

/// Builds the PC HAL; answers where its binary is.
pub fn pc(project: &Project) -> Result<PathBuf> {
    toolchain::ensure_target(&project.root, toolchain::BARE)?;
    let arguments = [
        "build",
        "--release",
        "--target",
        toolchain::BARE,
        "-p",
        "sing-pc",
    ];
    cargo::quiet(
        &mut cargo::command(&project.root, &arguments),
        "building the PC kernel",
    )?;
    Ok(project
        .target
        .join(toolchain::BARE)
        .join("release")
        .join("sing-pc"))
}
