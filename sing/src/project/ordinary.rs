//! Projects of ordinary programs: a package for `wasm32-wasip1`, with the standard library and without the SDK.
//!
//! Cargo builds and tests it as any package: `.cargo/config.toml` says for which target, and has this
//! command run what is built.

use super::cargo;
use crate::output::name_of;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The target of ordinary programs.
const WASIP1: &str = "wasm32-wasip1";
/// The table of the package's manifest that says what it is, and its line.
const TABLE: &str = "[package.metadata.sing]";
const LINE: &str = "ordinary=true";

/// Whether a package with this manifest is an ordinary program.
pub fn is(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        line.chars()
            .filter(|c| !c.is_whitespace())
            .collect::<String>()
    });
    lines.any(|line| line == TABLE)
        && lines
            .take_while(|line| !line.starts_with('['))
            .any(|line| line == LINE)
}

/// Builds it; `None` if the compiler refuses it, which it has explained.
pub fn build(root: &Path) -> Result<Option<PathBuf>, String> {
    let package = cargo::package(root)?;
    let Some(programs) = cargo::programs(root, WASIP1)? else {
        return Ok(None);
    };
    let names: Vec<&str> = programs
        .iter()
        .map(|program| program.name.as_str())
        .collect();
    let own = programs.iter().find(|program| program.name == package.name);
    match own.or(programs.first()) {
        Some(program) if own.is_some() || programs.len() == 1 => Ok(Some(program.module.clone())),
        Some(_) => Err(format!(
            "{}: has several programs, none of them called as the package: {}; `cargo build` builds them, and \
             `sing run MODULE` runs one",
            name_of(root),
            names.join(", ")
        )),
        None => Err(format!("{}: the package has no program", name_of(root))),
    }
}

/// What has been built.
pub fn about(module: &Path, json: bool) -> Result<String, String> {
    let failed = |e| format!("{}: cannot be read: {e}", name_of(module));
    let bytes = std::fs::metadata(module).map_err(failed)?.len();
    Ok(match json {
        true => json!({"module": module, "bytes": bytes}).to_string(),
        false => format!("{}: {bytes} bytes", name_of(module)),
    })
}

/// Runs the package's tests, each program of them as an ordinary one; the exit status.
pub fn test(root: &Path, arguments: &[OsString]) -> Result<u8, String> {
    cargo::has_target(root, WASIP1)?;
    cargo::test(root, arguments)
}

#[cfg(test)]
mod tests {
    use super::is;

    #[test]
    fn ordinary_packages_are_recognised() {
        for text in [
            "[package]\nname = \"a\"\n[package.metadata.sing]\nordinary = true\n",
            "[package.metadata.sing]\nother = 1\n\n ordinary=true # yes",
        ] {
            assert!(is(text), "{text}");
        }
        for text in [
            "",
            "[package]\nordinary = true",
            "[package.metadata.sing]\n[package]\nordinary = true",
            "[package.metadata.sing]\nordinary = false",
        ] {
            assert!(!is(text), "{text}");
        }
    }
}
