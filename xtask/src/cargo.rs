//! Runs cargo and other tools quietly: their output is shown only when they fail.

use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::io::{PipeReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Interval between updates of the progress line of a silent command.
const TICK: Duration = Duration::from_millis(500);

/// The cargo that runs us, or the one in the path.
pub fn program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Variables of the user's environment that would change the build or its output directory. The
/// flags of `.cargo/config.toml` are the only ones for programs, and xtask looks for binaries in
/// cargo's default places.
fn is_foreign(name: &str) -> bool {
    const NAMES: [&str; 4] = [
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
    ];
    // The builds must not inherit what `cargo run` tells xtask about itself.
    const BEGINNINGS: [&str; 7] = [
        "CARGO_PKG_",
        "CARGO_BIN_",
        "CARGO_BUILD_TARGET",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_ENCODED_",
        "CARGO_PROFILE_",
        "CARGO_TERM_",
    ];
    NAMES.contains(&name)
        || BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning))
            && name != "CARGO_BUILD_TARGET_DIR"
        || name.starts_with("CARGO_TARGET_") && name.ends_with("_RUSTFLAGS")
}

/// A cargo command in the project's root.
pub fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.current_dir(root).args(arguments);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_foreign) {
            command.env_remove(&name);
        }
    }
    command
}

/// Builds quietly, and shows the progress.
pub fn build(root: &Path, arguments: &[&str], what: &str) -> Result<()> {
    let mut command = command(root, arguments);
    // Cargo prints its counts when told to, terminal or not; `capture` reads them.
    command
        .env("CARGO_TERM_PROGRESS_WHEN", "always")
        .env("CARGO_TERM_PROGRESS_WIDTH", "120");
    quiet(&mut command, what)
}

/// The outcome of a quiet command, with all of its output.
pub struct Outcome {
    /// Whether its exit status was zero.
    pub success: bool,
    /// Its standard output and error, interleaved as written.
    pub output: String,
}

/// Runs a command without showing its output; `what` names it in the progress line, if it takes
/// long.
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
    // The command holds the pipe's writing end until it is dropped or given new ends; without that,
    // reading would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (sender, pieces) = mpsc::channel();
    let reading = thread::spawn(move || read(reader, &sender));
    let mut progress = Progress::new(what);
    let mut output = String::new();
    loop {
        match pieces.recv_timeout(TICK) {
            Ok(piece) => match Said::of(&piece) {
                Said::Far(count) => progress.show(&count),
                Said::Line(line) => {
                    progress.show(line);
                    output.push_str(line);
                }
            },
            // A silent command is shown, too: for how long, and with its last line.
            Err(RecvTimeoutError::Timeout) => progress.tick(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let read = reading.join();
    read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        .context("cannot read a pipe")?;
    let status = child
        .wait()
        .with_context(|| format!("cannot wait for {name}"))?;
    Ok(Outcome {
        success: status.success(),
        output,
    })
}

/// Runs a command without showing its output; fails with all of it if the command fails.
pub fn quiet(command: &mut Command, what: &str) -> Result<()> {
    let outcome = capture(command, what)?;
    if !outcome.success {
        bail!("{what}: failed\n{}", without_noise(&outcome.output));
    }
    Ok(())
}

/// Leaves out rustc's warnings about `+atomics`, one for each crate, and their count: programs use
/// the atomic instructions of WebAssembly on memory that no other SIP shares, and the tests here
/// cover the compiler's support for these.
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

/// Passes on a command's output in pieces that end with a newline or carriage return.
fn read(mut from: PipeReader, to: &Sender<String>) -> std::io::Result<()> {
    let (mut room, mut piece) = ([0; 4096], Vec::new());
    loop {
        let count = from.read(&mut room)?;
        for &byte in &room[..count] {
            piece.push(byte);
            if byte == b'\n' || byte == b'\r' {
                // The receiver is gone only if the other side has ended, and this thread with it.
                let _ = to.send(String::from_utf8_lossy(&piece).into_owned());
                piece.clear();
            }
        }
        if count == 0 {
            let _ = to.send(String::from_utf8_lossy(&piece).into_owned());
            return Ok(());
        }
    }
}

/// The kinds of output.
#[derive(Debug, PartialEq, Eq)]
enum Said<'a> {
    /// Cargo's bar: how many crates of how many, and which are being compiled.
    Far(String),
    /// Anything else.
    Line(&'a str),
}

impl Said<'_> {
    fn of(piece: &str) -> Said<'_> {
        // The bar is cleared before a line is written.
        let line = piece.trim_start_matches("\x1b[K");
        let bar = line.trim().strip_prefix("Building [");
        match bar.and_then(|bar| bar.split_once("] ")) {
            Some((_, count)) if line.ends_with('\r') => Said::Far(count.replacen('/', " of ", 1)),
            _ => Said::Line(line),
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

    #[test]
    fn a_bar_of_cargo_is_a_count_and_no_output() {
        let bar = "    Building [====>      ] 45/123: cranelift-codegen, log         \r";
        assert_eq!(
            Said::of(bar),
            Said::Far("45 of 123: cranelift-codegen, log".into())
        );
        let line = "\x1b[K   Compiling log v0.4\n";
        assert_eq!(Said::of(line), Said::Line("   Compiling log v0.4\n"));
        let mut command = Command::new("printf");
        command.arg("a\\r\\n   Building [=>] 1/2: x\\r\\033[Kb");
        assert_eq!(capture(&mut command, "test").unwrap().output, "a\r\nb");
    }

    #[test]
    fn a_persons_flags_are_not_for_programs() {
        for name in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_PKG_NAME",
        ] {
            assert!(is_foreign(name), "{name}");
        }
        for name in [
            "PATH",
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET_DIR",
            "CARGO_BUILD_JOBS",
            "CARGO_NET_OFFLINE",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
        ] {
            assert!(!is_foreign(name), "{name}");
        }
    }
}
