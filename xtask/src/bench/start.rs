//! How long the system takes from its start to the shell's prompt.

use super::samples::{Sample, percentile};
use crate::machine::Kernel;
use crate::system::terminal::Terminal;
use anyhow::{Result, bail};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for a prompt at most.
const PATIENCE: Duration = Duration::from_secs(60);
/// The shell's prompt.
const PROMPT: &str = "^> $";

/// Starts the system at a terminal several times, and measures the time until the prompt.
pub fn to_prompt(
    kernel: &Kernel,
    image: &Path,
    name: &str,
    unit: &str,
    times: u32,
) -> Result<Sample> {
    let mut values = Vec::new();
    for _ in 0..times {
        let launch = kernel.launch(Some(image), &[], true)?;
        let since = Instant::now();
        let mut terminal = Terminal::start(launch)?;
        if let Err(reason) = terminal.wait(PROMPT, since + PATIENCE) {
            bail!("no prompt: {reason}");
        }
        values.push(since.elapsed().as_secs_f64() * 1e3);
    }
    values.sort_by(f64::total_cmp);
    Ok(Sample {
        id: Some("T11".into()),
        name: name.into(),
        peer: None,
        unit: unit.into(),
        median: percentile(&values, 50),
        p10: Some(percentile(&values, 10)),
        p90: Some(percentile(&values, 90)),
    })
}
