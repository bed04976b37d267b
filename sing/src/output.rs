//! Printing to a reader that may have gone (`sing inspect FILE | head` ends quietly), and writing
//! files.

use std::io::{self, Write as _};
use std::path::Path;

/// Prints a line. Without a reader, the program ends.
pub fn line(text: impl AsRef<str>) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{}", text.as_ref()).is_err() {
        std::process::exit(0);
    }
}

/// Writes a file, unless it has these contents already: then builds that depend on it stay up to
/// date.
pub fn file(path: &Path, text: &str) -> Result<(), String> {
    if sing_contract::read_text(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    std::fs::write(path, text).map_err(|e| format!("{}: cannot be written: {e}", path.display()))
}
