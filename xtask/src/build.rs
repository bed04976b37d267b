//! Builds the parts: host tools, programs, the PC HAL.

use crate::cargo;
use crate::project::Project;
use crate::toolchain;
use anyhow::Result;
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

/// Builds all programs to WebAssembly modules.
pub fn programs(project: &Project) -> Result<()> {
    toolchain::ensure_target(&project.root, toolchain::WASM)?;
    let mut arguments = vec!["build", "--release", "--target", toolchain::WASM];
    let mut packages: Vec<&str> = project
        .programs
        .iter()
        .map(|p| p.package.as_str())
        .collect();
    packages.dedup();
    for package in packages {
        arguments.extend(["-p", package]);
    }
    cargo::quiet(
        &mut cargo::command(&project.root, &arguments),
        "building the programs",
    )
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
