//! A conversation with the system at a pseudo-terminal: presses keys, waits for output.

use crate::machine::Launch;
use anyhow::{Context, Result};
use regex::Regex;
use rustix::pty;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The least number of bytes of the output that a report shows.
const REPORTED: usize = 16 << 10;

/// How many times a second a slow terminal reads.
const SLICES: usize = 50;
const SLICE: Duration = Duration::from_millis(20);

/// A running system and the keyboard and screen of its terminal.
pub struct Terminal {
    launch: Launch,
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// The bytes a second that are read; 0 for no limit.
    rate: Arc<AtomicUsize>,
    /// The last of the output, unchanged.
    seen: String,
    /// A control sequence that has begun and not ended.
    begun: String,
    /// The output since the last wait, without control sequences and without lines that did not
    /// match.
    plain: String,
    /// The last of those lines.
    missed: String,
}

fn resize(terminal: impl std::os::fd::AsFd, columns: u16, rows: u16) -> Result<()> {
    let size = rustix::termios::Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(terminal, size).context("cannot size the terminal")
}

impl Terminal {
    /// Starts a system at a new terminal of 80 columns and 24 rows.
    pub fn start(mut launch: Launch) -> Result<Terminal> {
        let flags = pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY | pty::OpenptFlags::CLOEXEC;
        let master = pty::openpt(flags).context("cannot open a pseudo-terminal")?;
        pty::grantpt(&master).context("cannot open a pseudo-terminal")?;
        pty::unlockpt(&master).context("cannot open a pseudo-terminal")?;
        let name = pty::ptsname(&master, Vec::new()).context("cannot open a pseudo-terminal")?;
        let path = name.to_string_lossy().into_owned();
        resize(&master, 80, 24)?;
        let open = || {
            File::options()
                .read(true)
                .write(true)
                .open(&path)
                .context("cannot open the terminal")
        };
        launch.command = in_session(&launch.command);
        launch
            .command
            .stdin(open()?)
            .stdout(open()?)
            .stderr(open()?);
        let child = launch.command.spawn().with_context(|| {
            format!(
                "cannot start {}",
                launch.command.get_program().to_string_lossy()
            )
        })?;
        // Drop our copies of the terminal's far end; while one is open, the end of output never
        // arrives.
        let null = std::process::Stdio::null;
        launch.command.stdin(null()).stdout(null()).stderr(null());
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().context("cannot copy the terminal")?;
        let (sender, screen) = channel();
        let rate = Arc::new(AtomicUsize::new(0));
        let limit = Arc::clone(&rate);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let most = match limit.load(Relaxed) {
                    0 => buffer.len(),
                    rate => {
                        std::thread::sleep(SLICE);
                        (rate / SLICES).clamp(1, buffer.len())
                    }
                };
                // Reading fails when the system has closed the terminal.
                let Ok(n @ 1..) = reader.read(&mut buffer[..most]) else {
                    break;
                };
                if sender.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Ok(Terminal {
            launch,
            child,
            keyboard,
            screen,
            rate,
            seen: String::new(),
            begun: String::new(),
            plain: String::new(),
            missed: String::new(),
        })
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, rows: u16) -> Result<()> {
        resize(&self.keyboard, columns, rows)
    }

    /// Presses keys.
    pub fn send(&mut self, keys: &[u8]) -> Result<()> {
        self.keyboard
            .write_all(keys)
            .context("cannot write to the terminal")
    }

    /// From now on reads this many bytes a second, like a slow terminal; 0 for no limit.
    pub fn read_at(&mut self, rate: usize) {
        self.rate.store(rate, Relaxed);
    }

    /// Waits until a line of the output since the last wait matches; control sequences are left
    /// out.
    pub fn wait(&mut self, pattern: &str, deadline: Instant) -> Result<(), String> {
        let regex = Regex::new(&format!("(?m){pattern}")).map_err(|e| e.to_string())?;
        self.missed.clear();
        loop {
            if let Some(found) = regex.find(&self.plain) {
                let end = found.end();
                self.plain.drain(..end);
                return Ok(());
            }
            // A system may print for ever: each line is examined once.
            if let Some(end) = self.plain.rfind('\n') {
                self.missed.extend(self.plain.drain(..=end));
                keep_last(&mut self.missed);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(chunk) if !left.is_zero() => self.appeared(&String::from_utf8_lossy(&chunk)),
                _ => {
                    let (missed, plain) = (&self.missed, &self.plain);
                    let all = self.seen.escape_debug();
                    return Err(format!(
                        "`{pattern}` has not appeared; since the last wait:\n{missed}{plain}\neverything:\n{all}"
                    ));
                }
            }
        }
    }

    fn appeared(&mut self, text: &str) {
        self.seen.push_str(text);
        keep_last(&mut self.seen);
        self.begun.push_str(text);
        let end = complete(&self.begun);
        self.plain.push_str(&without_controls(&self.begun[..end]));
        self.begun.drain(..end);
    }

    /// Waits for the system's end; returns its exit status, if it reported one in time.
    pub fn finish(mut self, deadline: Instant) -> Option<i32> {
        let ended = super::session::wait(&mut self.child, deadline)?;
        self.launch.status(ended)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The same command as the leader of a session of its own, with standard input as its controlling
/// terminal, like a shell.
fn in_session(command: &Command) -> Command {
    let mut session = Command::new("setsid");
    session
        .args(["--ctty", "--wait"])
        .arg(command.get_program())
        .args(command.get_args());
    session
}

/// Cuts a text to its last part, for a report.
fn keep_last(text: &mut String) {
    if text.len() > 2 * REPORTED {
        let mut from = text.len() - REPORTED;
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text.drain(..from);
    }
}

/// The length of a text before an escape sequence that has not ended.
fn complete(text: &str) -> usize {
    let Some(at) = text.rfind('\x1b') else {
        return text.len();
    };
    let sequence = &text[at + 1..];
    let ended = match sequence.strip_prefix('[') {
        Some(rest) => rest.contains(|c| ('@'..='~').contains(&c)),
        None => !sequence.is_empty(),
    };
    if ended { text.len() } else { at }
}

/// Text without escape sequences and carriage returns.
fn without_controls(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => {
                if chars.next_if_eq(&'[').is_some() {
                    while chars.next_if(|c| !('@'..='~').contains(c)).is_some() {}
                }
                chars.next();
            }
            '\r' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_left_out() {
        assert_eq!(without_controls("\x1b[1;31ma\x1b[K\r\nb\x1b7c"), "a\nbc");
        assert_eq!(without_controls("a\x1b["), "a");
        for (text, end) in [
            ("a\x1b[1;", 1),
            ("a\x1b", 1),
            ("\x1b[K", 3),
            ("\x1b[Kb", 4),
            ("b", 1),
        ] {
            assert_eq!(complete(text), end, "{text:?}");
        }
    }
}
