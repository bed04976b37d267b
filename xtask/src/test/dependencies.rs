//! Dependencies: licences and sources by `deny.toml`, advisories by cargo-deny.
//!
//! cargo-deny checks all of it if it is installed. It takes minutes to build and the network to
//! fetch advisories, so it is not installed automatically; licences and sources are then checked
//! here, from cargo's metadata and without a network.

use super::{Report, Run};
use crate::cargo;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fs;

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

/// Runs cargo-deny, or the checks of our own.
pub fn check(run: &Run) -> Result<Report> {
    let root = &run.project.root;
    let mut report = Report::default();
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
}
