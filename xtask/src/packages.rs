//! Tools of the machine's distribution: found, or installed if permitted.

use crate::cargo;
use anyhow::{Result, bail};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs that are needed together.
#[derive(Debug)]
pub struct Tools {
    /// Their common name.
    pub name: &'static str,
    /// The programs; all of them accept `--version`.
    pub programs: &'static [&'static str],
    /// The packages that contain them, on Debian and its derivatives.
    pub packages: &'static [&'static str],
    /// How to install them elsewhere.
    pub elsewhere: &'static str,
}

impl Tools {
    /// The first of the programs that does not run.
    pub fn missing(&self) -> Option<&'static str> {
        let works = |program: &&str| {
            let mut version = Command::new(program);
            version
                .arg("--version")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            version.status().is_ok_and(|status| status.success())
        };
        self.programs.iter().find(|p| !works(p)).copied()
    }

    /// Installs them if they are missing and that is permitted; otherwise says how to.
    pub fn ensure(&self) -> Result<()> {
        let Some(missing) = self.missing() else {
            return Ok(());
        };
        let failed = install(&[self])?;
        if self.missing().is_none() {
            return Ok(());
        }
        let how = how(&[self]);
        match failed {
            Some(output) => bail!("{missing} could not be installed; by hand: {how}\n{output}"),
            None => bail!("{missing} is missing; install it: {how}"),
        }
    }
}

/// The one line that installs all of these, with the alternative for other distributions.
pub fn how(tools: &[&Tools]) -> String {
    let elsewhere: Vec<&str> = tools.iter().map(|tools| tools.elsewhere).collect();
    format!(
        "`sudo apt-get install {}` on Debian and Ubuntu, {}",
        packages(tools).join(" "),
        elsewhere.join(", ")
    )
}

fn packages(tools: &[&Tools]) -> Vec<&'static str> {
    tools
        .iter()
        .flat_map(|tools| tools.packages)
        .copied()
        .collect()
}

/// Installs these if permitted; returns the output of `apt-get` if it failed.
pub fn install(tools: &[&Tools]) -> Result<Option<String>> {
    let root = std::fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0);
    if tools.is_empty() || !root || !Path::new("/usr/bin/apt-get").exists() {
        return Ok(None);
    }
    let names: Vec<&str> = tools.iter().map(|tools| tools.name).collect();
    let what = format!("installing {}", names.join(" and "));
    let run = |arguments: &[&str], what: &str| {
        let mut apt = Command::new("apt-get");
        apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        cargo::capture(&mut apt, what)
    };
    let mut line = vec!["install", "-y", "--no-install-recommends"];
    line.extend(packages(tools));
    let mut outcome = run(&line, &what)?;
    if !outcome.success {
        // The package lists may be old, or not there yet.
        let lists = run(&["update"], "updating the package lists")?;
        outcome = if lists.success {
            run(&line, &what)?
        } else {
            lists
        };
    }
    Ok((!outcome.success).then_some(outcome.output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let tools = |programs| Tools {
            name: "tools",
            programs,
            packages: &["a", "b"],
            elsewhere: "`get a` elsewhere",
        };
        assert_eq!(tools(&["cargo"]).missing(), None);
        let missing = tools(&["cargo", "no-such-tool"]);
        assert_eq!(missing.missing(), Some("no-such-tool"));
        assert_eq!(
            how(&[&missing, &missing]),
            "`sudo apt-get install a b a b` on Debian and Ubuntu, `get a` elsewhere, `get a` elsewhere"
        );
    }
}
