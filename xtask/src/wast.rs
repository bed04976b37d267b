//! `cargo xtask wast`: runs `.wast` files through verifier, compiler and hosted kernel.

use crate::build;
use crate::project::Project;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Passes the arguments on to the runner; returns its exit status.
pub fn run(arguments: &[String]) -> Result<u8> {
    there(arguments)?;
    let project = Project::find()?;
    build::host(&project, &["sing-wast"])?;
    let runner = project.host_binary("sing-wast");
    let status = Command::new(&runner)
        .args(arguments)
        .status()
        .with_context(|| format!("cannot start {}", runner.display()))?;
    Ok(status.code().unwrap_or(1) as u8)
}

/// Refuses paths that name nothing, before anything is built for them. The runner checks its
/// options.
fn there(arguments: &[String]) -> Result<()> {
    let mut words = arguments.iter();
    while let Some(path) = words.next() {
        if path == "--memory" {
            words.next();
        } else if !path.starts_with('-') && !Path::new(path).exists() {
            bail!("wast: {path}: there is no such file or folder");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_names_nothing_is_refused() {
        assert!(there(&["--memory".into(), "guard".into(), "-v".into(), "src".into()]).is_ok());
        let error = there(&["no/such".into()]).unwrap_err().to_string();
        assert!(error.contains("no/such"), "{error}");
    }
}
