//! Tools that come with the machine's distribution: found, or installed where we may.

use anyhow::{Result, bail};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs that are needed together.
pub struct Tools {
    /// What they are called together.
    pub name: &'static str,
    /// The programs, each of which knows `--version`.
    pub programs: &'static [&'static str],
    /// The packages that bring them, on Debian and what is made of it.
    pub packages: &'static [&'static str],
    /// How they are installed elsewhere.
    pub elsewhere: &'static str,
}

impl Tools {
    fn missing(&self) -> Option<&'static str> {
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

    /// Installs them where they are missing and we may; otherwise says how to.
    pub fn ensure(&self) -> Result<()> {
        let Some(missing) = self.missing() else {
            return Ok(());
        };
        let packages = self.packages.join(" ");
        let how = format!(
            "`sudo apt-get install {packages}` on Debian and Ubuntu, {}",
            self.elsewhere
        );
        let root = std::fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0);
        if !root || !Path::new("/usr/bin/apt-get").exists() {
            bail!("{missing} is missing; install it: {how}");
        }
        let install = || -> Result<bool> {
            let mut apt = Command::new("apt-get");
            apt.args(["install", "-y", "--no-install-recommends"])
                .args(self.packages)
                .env("DEBIAN_FRONTEND", "noninteractive");
            let what = format!("installing {}", self.name);
            Ok(crate::cargo::capture(&mut apt, &what)?.success)
        };
        if !install()? {
            let mut update = Command::new("apt-get");
            crate::cargo::quiet(update.arg("update"), "updating the package lists")?;
            if !install()? {
                bail!("`apt-get install {packages}` failed; install {missing} by hand: {how}");
            }
        }
        if let Some(missing) = self.missing() {
            bail!("{missing} is still missing after its installation; install it by hand: {how}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let tools = |programs| Tools {
            name: "tools",
            programs,
            packages: &[],
            elsewhere: "",
        };
        assert_eq!(tools(&["cargo"]).missing(), None);
        assert_eq!(
            tools(&["cargo", "no-such-tool"]).missing(),
            Some("no-such-tool")
        );
    }
}
