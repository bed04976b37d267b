//! `cargo xtask doc`: the documentation of the system's contracts, with their servers and clients
//! in the system as it is built.

use crate::image::{self, MemoryMode};
use crate::project::Project;
use crate::setup::{self, Needs};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the system and documents its contracts; returns 0.
pub fn run() -> Result<u8> {
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(false))?;
    let system = image::system(&project, MemoryMode::Guard, None)?;
    let index = contracts(&project, &system)?;
    say!("{}", index.display());
    Ok(0)
}

/// Writes the pages; returns the path of the index.
pub fn contracts(project: &Project, system: &Path) -> Result<PathBuf> {
    let folder = project.target.join("doc-contracts");
    if folder.exists() {
        // Pages of deleted contracts must not stay.
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let mut command = Command::new(project.host_binary("sing"));
    command.current_dir(&project.root);
    command.args(["doc", "-o"]).arg(&folder);
    command.arg("system/contracts/system.contract").arg(system);
    crate::cargo::quiet(&mut command, "documenting the contracts")?;
    Ok(folder.join("index.html"))
}
