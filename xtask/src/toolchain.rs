//! Rust targets that the builds need.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target of programs.
pub const WASM: &str = "wasm32-unknown-unknown";
/// The target of the PC HAL.
pub const BARE: &str = "x86_64-unknown-none";

/// Adds a target with rustup where it is missing.
pub fn ensure_target(root: &Path, target: &str) -> Result<()> {
    if library(root, target)?.is_dir() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.current_dir(root).args(["target", "add", target]);
    match crate::cargo::capture(&mut rustup, &format!("adding the Rust target {target}")) {
        Ok(outcome) if outcome.success => {}
        Ok(outcome) => bail!("`rustup target add {target}` failed:\n{}", outcome.output),
        Err(_) => bail!(
            "the Rust target {target} is not installed and there is no rustup to add it; install rustup \
             (https://rustup.rs), or the target's standard library by the means your Rust came from"
        ),
    }
    if !library(root, target)?.is_dir() {
        bail!(
            "rustup has added {target}, but not to the toolchain in use; is RUSTC or PATH set to another one?"
        );
    }
    Ok(())
}

/// Where a target's standard library lies when it is installed.
fn library(root: &Path, target: &str) -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .current_dir(root)
        .args(["--print", "sysroot"])
        .output()
        .with_context(|| format!("cannot start {}", rustc.to_string_lossy()))?;
    let sysroot = String::from_utf8(output.stdout).context("rustc --print sysroot: not text")?;
    Ok(Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(target)
        .join("lib"))
}
