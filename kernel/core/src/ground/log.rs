//! The log: lines of the kernel, and of SIPs by `debug_print`.
//!
//! Writers never wait for the log. A line for which the HAL has no room is lost and counted, and
//! the count is a line of its own as soon as there is room again.
//!
//! Invariants:
//! - A line without a prefix is the kernel's. A SIP's line begins with its name and number,
//!   `hello(6): `, whatever the text is.
//! - A line holds no control characters: these are shown escaped, even in the kernel's own lines
//!   that quote text of a module. A line longer than [`LONGEST`] is cut, and ends with [`CUT`].
//! - Nothing here allocates memory.
//! - While lines of the kernel are being lost, no family of SIPs has more than [`LINES`] of them in
//!   a second ([`Voice`]): a SIP that crashes again and again cannot drown the crash report of
//!   another.

use crate::ground::machine::hal;
use crate::ground::output::Class;
use crate::ground::trusted::variables;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_arch::lock::Counter;
use sing_image::shown::is_escaped;

/// The longest line, in bytes, without its end.
const LONGEST: usize = 1000;
/// End of a line that was cut.
const CUT: &str = " ...(cut)";

/// The most kernel lines about one family in a second, while the log is not read as fast as it is
/// written.
const LINES: u32 = 64;
const SECOND: u64 = 1_000_000_000;

variables! { forget:
    /// Uptime in nanoseconds until which the log counts as full.
    static FULL_UNTIL: AtomicU64 = AtomicU64::new(0);
    /// Lines lost since the last report of lost lines.
    static LOST: AtomicU32 = AtomicU32::new(0);
}

/// A line under construction.
struct Line {
    bytes: [u8; LONGEST],
    len: usize,
    cut: bool,
}

impl Line {
    fn new() -> Line {
        Line {
            bytes: [0; LONGEST],
            len: 0,
            cut: false,
        }
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Adds a piece that must not be divided.
    fn piece(&mut self, piece: &str) {
        let end = self.len + piece.len();
        if self.cut || end > LONGEST - CUT.len() {
            self.cut = true;
            return;
        }
        self.bytes[self.len..end].copy_from_slice(piece.as_bytes());
        self.len = end;
    }

    /// Marks a line that was cut, and returns it.
    fn finish(&mut self) -> &[u8] {
        if self.cut {
            let end = self.len + CUT.len();
            self.bytes[self.len..end].copy_from_slice(CUT.as_bytes());
            self.len = end;
        }
        self.text()
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if is_escaped(c) {
                let mut escaped = Escaped {
                    bytes: [0; 12],
                    len: 0,
                };
                write!(escaped, "{}", c.escape_default())?;
                self.piece(core::str::from_utf8(&escaped.bytes[..escaped.len]).unwrap_or("?"));
            } else {
                self.piece(c.encode_utf8(&mut [0; 4]));
            }
        }
        Ok(())
    }
}

/// One escaped character: `\u{10ffff}` at the longest.
struct Escaped {
    bytes: [u8; 12],
    len: usize,
}

impl Write for Escaped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let room = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// Writes a line of the kernel.
pub(crate) fn kernel(text: fmt::Arguments<'_>) {
    let mut line = Line::new();
    // Writing to a line cannot fail: excess text is cut.
    let _ = line.write_fmt(text);
    put(Class::Kernel, line.finish());
}

/// Limits the kernel's lines about a family of SIPs.
#[derive(Default)]
pub(crate) struct Voice {
    /// Start of the current second, in nanoseconds of uptime.
    since: AtomicU64,
    /// Lines in the current second.
    lines: AtomicU32,
}

impl Voice {
    /// Resets the counts, for a new family.
    pub(crate) fn clear(&self) {
        self.since.store(0, Relaxed);
        self.lines.store(0, Relaxed);
    }

    /// Counts a line; returns whether it may be written.
    fn may(&self, now: u64, full: bool) -> bool {
        if now >= self.since.load(Relaxed) + SECOND {
            self.since.store(now, Relaxed);
            self.lines.store(0, Relaxed);
        }
        let lines = self.lines.add(1);
        !full || lines < LINES
    }
}

/// Writes a line of the kernel that is about SIPs of a family.
pub(crate) fn about(voice: &Voice, text: fmt::Arguments<'_>) {
    let now = hal().now();
    if voice.may(now, now < FULL_UNTIL.load(Relaxed)) {
        kernel(text);
    } else {
        LOST.add(1);
    }
}

/// Writes what a SIP says, each line of it marked with who says it. `more`: whether the SIP said
/// more than this. After each line it calls `between`: a text can have as many lines as bytes.
pub(crate) fn debug(name: &str, id: u32, text: &[u8], more: bool, between: impl Fn()) {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let mut lines = text.split(|b| *b == b'\n').peekable();
    while let Some(part) = lines.next() {
        let mut line = Line::new();
        // Cannot fail, as above.
        let _ = write!(line, "{name}({id}): ");
        for chunk in part.utf8_chunks() {
            let _ = line.write_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                line.piece("\u{fffd}");
            }
        }
        line.cut |= more && lines.peek().is_none();
        put(Class::Debug, line.finish());
        between();
    }
}

fn put(class: Class, line: &[u8]) {
    if !tell_lost() || !hal().log(class, line) {
        LOST.add(1);
        if class == Class::Kernel {
            FULL_UNTIL.store(hal().now() + SECOND, Relaxed);
        }
    }
}

/// Reports the number of lost lines, if any; returns false if there is no room even for that.
/// Called also when the HAL has room again.
pub(crate) fn tell_lost() -> bool {
    let lost = LOST.load(Relaxed);
    if lost == 0 {
        return true;
    }
    let mut line = Line::new();
    let _ = write!(
        line,
        "system: {lost} lines of the log are lost: they came faster than they are read"
    );
    let told = hal().log(Class::Kernel, line.finish());
    if told {
        LOST.sub(lost);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn line(text: &str) -> String {
        let mut line = Line::new();
        line.write_str(text).unwrap();
        String::from_utf8(line.finish().to_vec()).unwrap()
    }

    #[test]
    fn what_a_terminal_would_act_on_is_shown() {
        assert_eq!(line("gr\u{fc}n \u{20ac}"), "gr\u{fc}n \u{20ac}");
        assert_eq!(line("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(line("a\rcrash: x\nb\tc\x7f"), "a\\rcrash: x\\nb\\tc\\u{7f}");
        assert_eq!(line("\u{9b}1m\u{202e}"), "\\u{9b}1m\\u{202e}");
        assert!(
            !line(&(0..0x300).filter_map(char::from_u32).collect::<String>())
                .contains(char::is_control)
        );
    }

    #[test]
    fn a_family_is_cut_short_only_where_lines_are_lost() {
        let (loud, quiet) = (Voice::default(), Voice::default());
        let told = |voice: &Voice, now, full| (0..1000).filter(|_| voice.may(now, full)).count();
        assert_eq!(told(&loud, 5, false), 1000);
        assert_eq!(told(&loud, SECOND - 1, true), 0);
        assert_eq!(told(&quiet, SECOND - 1, true), LINES as usize);
        assert_eq!(told(&loud, SECOND + 5, true), LINES as usize);
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        assert_eq!(line(&"x".repeat(900)), "x".repeat(900));
        for unit in ["x", "\u{20ac}", "\u{1f600}", "\x1b"] {
            let text = line(&unit.repeat(3000));
            assert!(text.ends_with(CUT) && text.len() <= LONGEST, "{text}");
            assert!(text.len() > LONGEST - 24, "{}", text.len());
        }
    }
}
