//! How long the system takes from its start to the shell's prompt.

use super::samples::Sample;
use crate::machine::Kernel;
use crate::system::terminal::Terminal;
use anyhow::{Result, bail};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for a prompt at most.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the shell's prompt ends with.
pub const PROMPT: &str = "> $";

/// Starts the hosted system at a terminal, some times.
pub fn hosted(kernel: &Kernel, image: &Path, times: u32) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for _ in 0..times {
        let launch = kernel.launch(Some(image), &[], true)?;
        let since = Instant::now();
        let mut terminal = Terminal::start(launch)?;
        if let Err(reason) = terminal.wait(PROMPT, since + PATIENCE) {
            bail!("no prompt: {reason}");
        }
        let median = since.elapsed().as_secs_f64() * 1e3;
        let name = "start to shell prompt".into();
        samples.push(Sample {
            id: Some("T11".into()),
            name,
            peer: None,
            unit: "ms".into(),
            median,
            p10: None,
            p90: None,
        });
    }
    Ok(samples)
}
