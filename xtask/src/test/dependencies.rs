//! Dependencies: whether lock files are current, licences and sources by `deny.toml`, advisories by
//! cargo-deny.
//!
//! cargo-deny checks all of it if it is installed. It takes minutes to build and the network to
//! fetch advisories, so it is not installed automatically; licences and sources are then checked
//! here, from cargo's metadata and without a network.

use super::{Report, Run};
use crate::{cargo, walk};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

/// Whether lock files are current; then runs cargo-deny, or the checks of our own.
pub fn check(run: &Run) -> Result<Report> {
    let root = &run.project.root;
    let mut report = Report::default();
    for folder in workspaces(root)? {
        let shown = folder.strip_prefix(root).unwrap_or(&folder).join(LOCK);
        // It downloads nothing: without the registry's index it cannot tell.
        let mut command =
            cargo::command(&folder, &["update", "--workspace", "--locked", "--offline"]);
        let outcome = cargo::capture(&mut command, &format!("checking {}", shown.display()))?;
        match judge(outcome.success, &outcome.output) {
            Lock::Current => report.passed += 1,
            Lock::Unknown => report.skipped.push(format!(
                "{}: cargo cannot tell offline whether it is current; `cargo fetch` there lets it",
                shown.display()
            )),
            Lock::Stale => report.count(
                shown.display().to_string(),
                Err(format!(
                    "not current; `cargo update --workspace` in its folder makes it so\n{}",
                    outcome.output
                )),
            ),
        }
    }
    if cargo::capture(
        &mut cargo::command(root, &["deny", "--version"]),
        "looking for cargo-deny",
    )?
    .success
    {
        let outcome = cargo::capture(
            &mut cargo::command(root, &["deny", "check"]),
            "checking dependencies",
        )?;
        report.count(
            "cargo deny check",
            if outcome.success {
                Ok(())
            } else {
                Err(outcome.output)
            },
        );
        return Ok(report);
    }
    report
        .skipped
        .push("advisories: cargo-deny is not installed (`cargo install cargo-deny`)".into());
    let text = fs::read_to_string(root.join("deny.toml")).context("cannot read deny.toml")?;
    let rules: Rules = basic_toml::from_str(&text).context("deny.toml: not understood")?;
    for package in packages(run)? {
        let name = format!("{} {}", package.name, package.version);
        report.count(name, check_package(&package, &rules.licenses.allow));
    }
    Ok(report)
}

/// The name of lock files.
const LOCK: &str = "Cargo.lock";

/// What is to be said of a lock file.
#[derive(Debug, PartialEq, Eq)]
enum Lock {
    Current,
    Stale,
    Unknown,
}

/// What cargo's answer means.
fn judge(success: bool, output: &str) -> Lock {
    match success {
        true => Lock::Current,
        false if output.contains("--locked was passed") => Lock::Stale,
        false => Lock::Unknown,
    }
}

/// The folders of this workspace and of those within it, which have lock files of their own.
fn workspaces(root: &Path) -> Result<Vec<PathBuf>> {
    let files = walk::files(root, walk::is_written)?;
    let locks = files.iter().filter(|file| file.ends_with(LOCK));
    Ok(locks
        .filter_map(|lock| Some(lock.parent()?.into()))
        .collect())
}

/// All packages used by builds for our machines.
fn packages(run: &Run) -> Result<Vec<Package>> {
    let mut arguments = vec!["metadata", "--format-version", "1", "--locked"];
    for target in [
        "x86_64-unknown-linux-gnu",
        crate::toolchain::WASM,
        crate::toolchain::BARE,
    ] {
        arguments.extend(["--filter-platform", target]);
    }
    let output = cargo::command(&run.project.root, &arguments)
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed (is Cargo.lock up to date?):\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).context("cargo metadata: not understood")?;
    Ok(metadata.packages)
}

fn check_package(package: &Package, allowed: &[String]) -> Result<(), String> {
    if let Some(source) = &package.source
        && !source.starts_with("registry+https://github.com/rust-lang/crates.io-index")
    {
        return Err(format!("comes from {source}, not from crates.io"));
    }
    let Some(license) = &package.license else {
        return Err("names no licence".into());
    };
    let expression = spdx::Expression::parse_mode(license, spdx::ParseMode::LAX)
        .map_err(|e| format!("its licence `{license}` is not understood: {}", e.reason))?;
    let accepted = expression.evaluate(|requirement| allowed.contains(&requirement.to_string()));
    if accepted {
        Ok(())
    } else {
        Err(format!(
            "its licence `{license}` is not one that deny.toml allows"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(license: Option<&str>, source: Option<&str>) -> Result<(), String> {
        let package = Package {
            name: "p".into(),
            version: "1".into(),
            license: license.map(String::from),
            source: source.map(String::from),
        };
        check_package(
            &package,
            &["MIT".into(), "Apache-2.0 WITH LLVM-exception".into()],
        )
    }

    #[test]
    fn licences_are_expressions() {
        assert!(verdict(Some("MIT OR Apache-2.0"), None).is_ok());
        assert!(verdict(Some("MIT/Apache-2.0"), None).is_ok());
        assert!(verdict(Some("Apache-2.0 WITH LLVM-exception"), None).is_ok());
        assert!(verdict(Some("MIT AND GPL-3.0-only"), None).is_err());
        assert!(verdict(Some("nonsense!"), None).is_err());
        assert!(verdict(None, None).is_err());
    }

    #[test]
    fn sources_are_the_registry() {
        assert!(verdict(Some("MIT"), Some("git+https://example.org/x")).is_err());
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        assert!(verdict(Some("MIT"), Some(registry)).is_ok());
    }

    #[test]
    fn every_workspace_is_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let all = workspaces(root).unwrap();
        for folder in ["", "bench/compute", "tests/differential"] {
            assert!(
                all.contains(&root.join(folder)),
                "{folder} is not among {all:?}"
            );
        }
    }

    /// A workspace that has got a dependency since its lock file was written.
    #[test]
    fn a_stale_lock_is_found() {
        let folder = std::env::temp_dir().join(format!("xtask-lock-{}", std::process::id()));
        for name in ["a", "b"] {
            fs::create_dir_all(folder.join(name).join("src")).unwrap();
            fs::write(folder.join(name).join("src/lib.rs"), "").unwrap();
            let text = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n");
            fs::write(folder.join(name).join("Cargo.toml"), text).unwrap();
        }
        fs::write(
            folder.join("Cargo.toml"),
            "[workspace]\nmembers = [\"a\"]\nresolver = \"2\"\n",
        )
        .unwrap();
        let ask = |words: &[&str]| {
            let outcome = cargo::command(&folder, words).output().unwrap();
            let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
            judge(outcome.status.success(), &text)
        };
        let locked = ["update", "--workspace", "--locked", "--offline"];
        let made = ask(&["update", "--workspace", "--offline"]);
        let current = ask(&locked);
        let manifest = folder.join("a/Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(
            &manifest,
            text + "[dependencies]\nb = { path = \"../b\" }\n",
        )
        .unwrap();
        let stale = ask(&locked);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            (made, current, stale),
            (Lock::Current, Lock::Current, Lock::Stale)
        );
        assert_eq!(
            judge(false, "error: no matching package named `x` found"),
            Lock::Unknown
        );
    }
}
