//! The file in which `perf` looks for functions that no file on disk has: `/tmp/perf-PID.map`, with a
//! line for each, `ADDRESS SIZE NAME` in hexadecimal digits.
//!
//! Invariant: a name takes one line, whatever bytes are in it; an image's author chose it.

use sing_image::shown::is_escaped;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The most bytes of a name.
const LONGEST: usize = 512;

/// So many functions are written together.
const AT_ONCE: usize = 256;

/// The file, as long as it can be written.
pub(crate) struct Map(Mutex<Option<File>>);

/// Where `perf` looks for it.
pub(crate) fn path() -> PathBuf {
    format!("/tmp/perf-{}.map", std::process::id()).into()
}

impl Map {
    /// Makes it anew: what an earlier process of this number has left is removed, and what another user
    /// has put there, who may write to that folder, is not opened.
    pub(crate) fn new() -> io::Result<Map> {
        match fs::remove_file(path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(path())?;
        Ok(Map(Mutex::new(Some(file))))
    }

    /// Adds the functions of an image.
    ///
    /// # Errors
    /// The first time that the file cannot be written; nothing is written from then on.
    pub(crate) fn add(
        &self,
        image: &str,
        functions: &mut dyn Iterator<Item = (Range<u64>, &str)>,
    ) -> io::Result<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = &mut *file else {
            return Ok(());
        };
        let mut done = Ok(());
        let mut functions = functions.peekable();
        while done.is_ok() && functions.peek().is_some() {
            let text = lines(image, &mut functions.by_ref().take(AT_ONCE));
            done = open.write_all(text.as_bytes());
        }
        if done.is_err() {
            *file = None;
        }
        done
    }
}

/// The lines of an image's functions.
fn lines(image: &str, functions: &mut dyn Iterator<Item = (Range<u64>, &str)>) -> String {
    let mut text = String::new();
    for (code, name) in functions.filter(|(code, _)| !code.is_empty()) {
        let size = code.end - code.start;
        // A `String` takes everything.
        let _ = write!(text, "{:x} {size:x} ", code.start);
        let name = image.chars().chain([':']).chain(name.chars());
        let printed = name.map(|c| if is_escaped(c) { '?' } else { c });
        text.extend(printed.take(LONGEST));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_with_code_has_one_line() {
        let long = "x".repeat(LONGEST);
        let functions = [
            (0x1000..0x1010, "first<A, B>"),
            (0x1010..0x1010, "empty"),
            (0x1010..0x1012, "two\nlines\r1000 ff fake"),
            (0x1012..0x1013, &long),
        ];
        let text = lines("tool.wasm", &mut functions.into_iter());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "1000 10 tool.wasm:first<A, B>");
        assert_eq!(lines[1], "1010 2 tool.wasm:two?lines?1000 ff fake");
        assert!(lines[2].starts_with("1012 1 tool.wasm:xxx"));
        assert_eq!(lines[2].len(), "1012 1 ".len() + LONGEST);
        assert_eq!(lines.len(), 3);
    }
}
