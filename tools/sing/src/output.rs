//! Printing, where the reader may have gone: `sing inspect FILE | head` ends quietly.

use std::io::{self, Write as _};

/// Prints a line. Where nobody reads any more, the program ends.
pub fn line(text: impl AsRef<str>) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{}", text.as_ref()).is_err() {
        std::process::exit(0);
    }
}
