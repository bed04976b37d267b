//! Rust targets and components that the builds and tests need.

use crate::cargo;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target of programs.
pub const WASM: &str = "wasm32-unknown-unknown";
/// The target of the PC HAL.
pub const BARE: &str = "x86_64-unknown-none";

/// The target of ordinary programs.
pub const WASIP1: &str = "wasm32-wasip1";

/// The targets among these that are not installed.
pub fn missing_targets(root: &Path, targets: &[&'static str]) -> Result<Vec<&'static str>> {
    let libraries = libraries(root)?;
    let installed = |target: &str| libraries.join(target).join("lib").is_dir();
    Ok(targets.iter().filter(|t| !installed(t)).copied().collect())
}

/// The components among these that are not installed: each provides a command of cargo's.
pub fn missing_components(root: &Path) -> Result<Vec<&'static str>> {
    let mut missing = Vec::new();
    for (component, command) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let mut version = cargo::command(root, &[command, "--version"]);
        if !cargo::capture(&mut version, &format!("looking for {component}"))?.success {
            missing.push(component);
        }
    }
    Ok(missing)
}

/// Tells rustup to add targets or components; returns the reason if it failed.
pub fn add(root: &Path, kind: &str, names: &[&str]) -> Result<Option<String>> {
    if names.is_empty() {
        return Ok(None);
    }
    let mut rustup = Command::new("rustup");
    rustup.current_dir(root).args([kind, "add"]).args(names);
    let line = format!("rustup {kind} add {}", names.join(" "));
    Ok(match cargo::capture(&mut rustup, &format!("`{line}`")) {
        Ok(outcome) if outcome.success => None,
        Ok(outcome) => Some(format!("`{line}` failed:\n{}", outcome.output.trim_end())),
        Err(_) => Some(format!(
            "there is no rustup to add {}: install rustup (https://rustup.rs), or what is missing by the means that \
             your Rust came from",
            names.join(" and ")
        )),
    })
}

/// The folder of the standard libraries of targets.
fn libraries(root: &Path) -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let name = rustc.to_string_lossy().into_owned();
    let output = Command::new(&rustc)
        .current_dir(root)
        .args(["--print", "sysroot"])
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{name} --print sysroot` failed:\n{}", said.trim_end());
    }
    let sysroot = String::from_utf8(output.stdout).context("rustc --print sysroot: not text")?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib"))
}
