//! Runs cargo and other tools quietly: what they say is shown only when they fail.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// After this long, a line on stderr says what is being waited for.
const PATIENCE: Duration = Duration::from_millis(1500);

/// The cargo that runs us, or the one in the path.
pub fn program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A cargo command in the project's root.
pub fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.current_dir(root).args(arguments);
    // What `cargo run` tells xtask about itself is not for the builds that it starts.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_BIN_") {
            command.env_remove(&*name);
        }
    }
    command
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_MANIFEST_PATH");
    command
}

/// How a quiet command ended, with all that it wrote.
pub struct Outcome {
    /// Whether its exit status was zero.
    pub success: bool,
    /// Its standard output and error, interleaved as written.
    pub output: String,
}

/// Runs a command without showing what it writes; `what` tells what takes so long, where it does.
pub fn capture(command: &mut Command, what: &str) -> Result<Outcome> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null());
    command
        .stdout(writer.try_clone().context("cannot copy a pipe")?)
        .stderr(writer);
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    // The command holds the pipe's writing end until it is dropped or given new ends; then reading would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut progress = Progress::new(what);
    let mut output = String::new();
    let mut line = Vec::new();
    let mut reader = BufReader::new(reader);
    while reader
        .read_until(b'\n', &mut line)
        .context("cannot read a pipe")?
        > 0
    {
        let text = String::from_utf8_lossy(&line);
        progress.show(&text);
        output.push_str(&text);
        line.clear();
    }
    let status = child
        .wait()
        .with_context(|| format!("cannot wait for {name}"))?;
    progress.clear();
    Ok(Outcome {
        success: status.success(),
        output,
    })
}

/// Runs a command without showing what it writes; fails with all of it where the command fails.
pub fn quiet(command: &mut Command, what: &str) -> Result<()> {
    let outcome = capture(command, what)?;
    if !outcome.success {
        bail!("{what}: failed\n{}", without_noise(&outcome.output));
    }
    Ok(())
}

/// Leaves out what rustc says about `+atomics` at every crate, and that it has said so: programs use the atomic
/// instructions of WebAssembly on memory that no other SIP shares, and the compiler's support for those is tested here.
fn without_noise(output: &str) -> String {
    let mut lines = output.lines().peekable();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        if line.starts_with("warning: unstable feature specified for `-Ctarget-feature`") {
            while lines.next_if(|l| !l.trim().is_empty()).is_some() {}
            lines.next_if(|l| l.trim().is_empty());
        } else if !(line.starts_with("warning: `") && line.contains(") generated 1 warning")) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// What has been said where there is no terminal: each thing once, however often it is waited for.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A line on stderr while something takes long: kept up to date on a terminal, said once elsewhere.
pub struct Progress<'a> {
    what: &'a str,
    since: Instant,
    terminal: bool,
    shown: bool,
}

impl<'a> Progress<'a> {
    /// Starts the clock.
    pub fn new(what: &'a str) -> Progress<'a> {
        let terminal = std::io::stderr().is_terminal();
        Progress {
            what,
            since: Instant::now(),
            terminal,
            shown: false,
        }
    }

    /// Shows where it stands, once it has taken a while.
    pub fn show(&mut self, detail: &str) {
        let elapsed = self.since.elapsed();
        if elapsed < PATIENCE {
            return;
        }
        if self.terminal {
            let detail: String = detail
                .chars()
                .filter(|c| !c.is_control())
                .take(50)
                .collect();
            eprint!("\r\x1b[K{} ({} s) {detail}", self.what, elapsed.as_secs());
            let _ = std::io::stderr().flush();
        } else if SAID
            .lock()
            .is_ok_and(|mut said| said.insert(self.what.to_string()))
        {
            eprintln!("{} …", self.what);
        }
        self.shown = true;
    }

    fn clear(&mut self) {
        if self.shown && self.terminal {
            eprint!("\r\x1b[K");
            let _ = std::io::stderr().flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_left_out_and_errors_stay() {
        let text = "warning: unstable feature specified for `-Ctarget-feature`: `atomics`\n  |\n  = note: x\n\nwarning: `a` (lib) generated 1 warning (1 duplicate)\nerror: no\n";
        assert_eq!(without_noise(text), "error: no\n");
    }

    #[test]
    fn both_streams_are_captured_in_order() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo a; echo b >&2; echo c; exit 3"]);
        let outcome = capture(&mut command, "test").unwrap();
        assert!(!outcome.success);
        assert_eq!(outcome.output, "a\nb\nc\n");
    }
}
