//! The system inside a program: the tests of `embed/`, which call programs of an image, and the
//! example of a program with a plug-in.

use super::{Report, Run, unit};
use crate::{build, cargo, embed};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// What the example says.
const SAID: &str = "HELLO
shout has crashed: unreachable code was reached
shout has not answered within 100ms, and was ended
BYE
";

/// Runs both.
pub fn check(run: &Run) -> Result<Report> {
    let image = embed::image(&run.project)?;
    let mut line = vec!["test", "--release", "--no-fail-fast"];
    line.extend(["-p", "sing-embed", "-p", "sing-hosted"]);
    line.extend([
        "--test", "calls", "--test", "callers", "--test", "returned", "--test", "embedded",
        "--test", "lent",
    ]);
    line.extend(run.filter.as_deref());
    line.extend(["--", "--include-ignored"]);
    let mut command = cargo::command(&run.project.root, &line);
    command.env("SING_EMBED_IMAGE", &image);
    let outcome = cargo::capture(&mut command, "calling into an embedded system")?;
    let mut report = unit::read(&outcome.output);
    if !outcome.success && report.failures.is_empty() {
        report.count("sing-embed", Err(outcome.output));
    }
    if run.wants("plugin-host") {
        let said = example(run, &image).map_err(|error| format!("{error:#}"));
        let said = said.and_then(|said| match said == SAID {
            true => Ok(()),
            false => Err(format!("it has said\n{said}and not\n{SAID}")),
        });
        report.count("plugin-host", said);
    }
    Ok(report)
}

/// Runs the example; what it has said.
fn example(run: &Run, image: &Path) -> Result<String> {
    build::host(&run.project, &["plugin-host"])?;
    let program = run.project.host_binary("plugin-host");
    let output = Command::new(&program)
        .arg(image)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    // The place of a trap, which the compiler chooses, is not the example's.
    let end = |line: &str| line.split(", in ").next().unwrap_or_default().to_owned() + "\n";
    Ok(said.lines().map(end).collect())
}
