//! A line on the terminal that says how far a compilation is, if it takes longer than a second. It
//! is gone when that is over; nothing is written where nobody looks.

use sing_files::standard;
use std::cell::Cell;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// What takes no longer is not worth a line.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line changes.
const OFTEN: Duration = Duration::from_millis(100);
/// The longest name of a program in the line, in characters.
const LONGEST: usize = 40;
/// Back to the start of the line, which is cleared.
const CLEAR: &str = "\r\u{1b}[K";

/// The progress of one compilation.
pub struct Progress {
    name: String,
    started: Instant,
    /// When the line was last written.
    shown: Cell<Option<Instant>>,
    terminal: bool,
}

impl Progress {
    /// Of the program in this file, from now on.
    pub fn of(file: &Path) -> Progress {
        let name = file
            .file_name()
            .unwrap_or(file.as_os_str())
            .to_string_lossy();
        let name = name.chars().take(LONGEST);
        Progress {
            name: name.map(|c| if c.is_control() { '_' } else { c }).collect(),
            started: Instant::now(),
            shown: Cell::new(None),
            terminal: io::stderr().is_terminal(),
        }
    }

    /// So many functions are done, of so many.
    pub fn at(&self, done: usize, of: usize) {
        if let Some(line) = self.line(Instant::now(), done, of) {
            standard::complain(line);
        }
    }

    /// The line, if one is to be written now.
    fn line(&self, now: Instant, done: usize, of: usize) -> Option<String> {
        let since = |then| now.saturating_duration_since(then);
        let soon = since(self.started) < PATIENCE;
        if !self.terminal || soon || self.shown.get().is_some_and(|then| since(then) < OFTEN) {
            return None;
        }
        self.shown.set(Some(now));
        Some(format!(
            "{CLEAR}{}: {done} of {of} functions compiled",
            self.name
        ))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.get().is_some() {
            standard::complain(CLEAR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_long_is_shown_and_only_at_a_terminal() {
        let progress = |terminal| {
            let mut progress = Progress::of(Path::new("a/b\u{1b}.wasm"));
            progress.terminal = terminal;
            progress
        };
        let after = |progress: &Progress, ms| {
            let now = progress.started + Duration::from_millis(ms);
            progress.line(now, 7, 9)
        };
        let shown = progress(true);
        assert_eq!(after(&shown, 990), None);
        let line = after(&shown, 1000).unwrap();
        assert_eq!(line, "\r\u{1b}[Kb_.wasm: 7 of 9 functions compiled");
        assert_eq!(after(&shown, 1099), None);
        assert!(after(&shown, 1100).is_some());
        // Nothing is to be cleared by a test.
        shown.shown.set(None);
        let hidden = progress(false);
        assert_eq!(after(&hidden, 5000), None);
        assert_eq!(hidden.shown.get(), None);
    }
}
