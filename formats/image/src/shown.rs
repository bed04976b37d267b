//! Texts of unknown authors, as people read them: names of files, modules and functions, and whatever else
//! comes from a file, a package or a peer.
//!
//! A terminal obeys some characters instead of showing them, and others make a line look like two or
//! read in another order. These are shown escaped; all others, letters of all languages among them,
//! are shown as they are.
//!
//! The kernel's log, its crash reports, the compiler's and the joiner's refusals and the `sing`
//! command's complaints have the same rule from here.

use core::fmt::{self, Write as _};

/// Whether a terminal might interpret a character instead of showing it: control characters, and
/// those that end a line or change the direction of writing.
#[must_use]
pub fn is_escaped(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A foreign text for people: its [`Display`](fmt::Display) has one line and nothing that a terminal
/// obeys.
#[derive(Clone, Copy, Debug)]
pub struct Shown<T>(pub T);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

/// Writes what it is given, escaped.
struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(is_escaped) {
            let (plain, behind) = rest.split_at(at);
            self.0.write_str(plain)?;
            let mut chars = behind.chars();
            if let Some(c) = chars.next() {
                write!(self.0, "{}", c.escape_default())?;
            }
            rest = chars.as_str();
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn a_foreign_text_is_one_line_that_no_terminal_obeys() {
        for (text, shown) in [
            ("plain name.wasm", "plain name.wasm"),
            ("a\nsing: all is well", "a\\nsing: all is well"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("c1\u{9b}2J", "c1\\u{9b}2J"),
            ("tab\tand\r", "tab\\tand\\r"),
            ("gpj\u{202e}.exe", "gpj\\u{202e}.exe"),
            ("line\u{2028}", "line\\u{2028}"),
            // Not a terminal's business: quotes, and letters that consist of several characters.
            ("'it' \"is\" \\", "'it' \"is\" \\"),
            (
                "cafe\u{301} \u{1112}\u{1161}\u{11ab}",
                "cafe\u{301} \u{1112}\u{1161}\u{11ab}",
            ),
            ("", ""),
        ] {
            assert_eq!(Shown(text).to_string(), shown);
        }
    }
}
