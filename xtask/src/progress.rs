//! A progress line on stderr: updated in place on a terminal, printed now and then elsewhere.

use sing_files::standard;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// After this long, the line names the command that is being waited for.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How often it reports without a terminal.
const REMINDER: Duration = Duration::from_secs(30);

/// Reports already printed without a terminal: each is printed once, however often it recurs.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Whether a command has the line. Of several at once, the first to take long has it until it ends;
/// then the next.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The line.
pub struct Progress<'a> {
    what: &'a str,
    /// Whether this command has the line.
    front: bool,
    since: Instant,
    detail: String,
    terminal: bool,
    shown: bool,
    /// Without a terminal: the time of the last report.
    said: Instant,
}

impl<'a> Progress<'a> {
    /// Starts the clock.
    pub fn new(what: &'a str) -> Progress<'a> {
        let now = Instant::now();
        Progress {
            what,
            front: false,
            since: now,
            detail: String::new(),
            terminal: std::io::stderr().is_terminal(),
            shown: false,
            said: now,
        }
    }

    /// Notes the command's output, and shows it.
    pub fn show(&mut self, detail: &str) {
        let detail = if detail.contains("waiting for file lock") {
            "another cargo is at work here; waiting until it has ended"
        } else if detail.trim_start().starts_with("warning:") {
            // Of the compiler about itself: the tree has no others.
            ""
        } else {
            detail.trim()
        };
        if !detail.is_empty() {
            self.detail = detail
                .chars()
                .filter(|c| !c.is_control())
                .take(70)
                .collect();
        }
        self.tick();
    }

    /// Shows the progress, once the command has taken a while.
    pub fn tick(&mut self) {
        let elapsed = self.since.elapsed();
        if elapsed < PATIENCE || !self.front && TAKEN.swap(true, Ordering::Relaxed) {
            return;
        }
        self.front = true;
        let (what, seconds, detail) = (self.what, elapsed.as_secs(), &self.detail);
        if self.terminal {
            standard::complain(format!("\r\x1b[K{what} ({seconds} s) {detail}"));
        } else {
            let first = SAID
                .lock()
                .is_ok_and(|mut said| said.insert(what.to_string()));
            if first {
                complain!("{what} …");
            }
            if self.said.elapsed() >= REMINDER && !detail.is_empty() {
                complain!("{what} ({seconds} s): {detail}");
                self.said = Instant::now();
            }
        }
        self.shown = true;
    }
}

impl Drop for Progress<'_> {
    /// Removes the line; another command at work may have it now.
    fn drop(&mut self) {
        if self.shown && self.terminal {
            standard::complain("\r\x1b[K");
        }
        if self.front {
            TAKEN.store(false, Ordering::Relaxed);
        }
    }
}
