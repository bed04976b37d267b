//! A conversation with the system at a pseudo-terminal: keys go in, what appears is waited for.

use crate::machine::Launch;
use anyhow::{Context, Result};
use regex::Regex;
use rustix::pty;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// A running system and the keyboard and screen of its terminal.
pub struct Terminal {
    launch: Launch,
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    waited: usize,
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
        let size = rustix::termios::Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&master, size).context("cannot size the terminal")?;
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
        // Our copies of the terminal's far end; while one is open, the end of output never shows.
        let null = std::process::Stdio::null;
        launch.command.stdin(null()).stdout(null()).stderr(null());
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().context("cannot copy the terminal")?;
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading fails when the system has closed the terminal.
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
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
            seen: String::new(),
            waited: 0,
        })
    }

    /// Presses keys.
    pub fn send(&mut self, keys: &[u8]) -> Result<()> {
        self.keyboard
            .write_all(keys)
            .context("cannot write to the terminal")
    }

    /// Waits until what has appeared since the last wait matches; control sequences are left out.
    pub fn wait(&mut self, pattern: &str, deadline: Instant) -> Result<(), String> {
        let regex = Regex::new(&format!("(?m){pattern}")).map_err(|e| e.to_string())?;
        loop {
            let plain = without_controls(&self.seen);
            if let Some(found) = plain.get(self.waited..).and_then(|rest| regex.find(rest)) {
                self.waited += found.end();
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(chunk) => self.seen.push_str(&String::from_utf8_lossy(&chunk)),
                Err(_) => {
                    let shown = plain.get(self.waited..).unwrap_or_default();
                    let all = self.seen.escape_debug();
                    return Err(format!(
                        "`{pattern}` has not appeared; since the last wait:\n{shown}\neverything:\n{all}"
                    ));
                }
            }
        }
    }

    /// Waits for the system's end; its exit status, where it said one in time.
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

/// The same command as the leader of a session of its own, with standard input as its controlling terminal, as a
/// shell's are.
fn in_session(command: &Command) -> Command {
    let mut session = Command::new("setsid");
    session
        .args(["--ctty", "--wait"])
        .arg(command.get_program())
        .args(command.get_args());
    session
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
    }
}
