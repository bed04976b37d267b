//! What a process said last: the text of a panic goes to the debug log, and who is told of the crash wants it,
//! too.
//!
//! It lies in the process's record, which the process pays for. It is what the process says, so that
//! whoever shows it says whose words they are.

use core::fmt::{self, Write};

/// Bytes that are kept, and the most of one print: a print that is longer leaves room for one before it.
/// Programs in Rust print long texts in pieces of 256.
pub(super) const KEPT: usize = 352;
const OF_PRINT: usize = 256;

/// What a panic says of itself in Rust: `panicked at src/main.rs:7:5:`, with its message in the next line, or behind
/// a thread's name. What comes later does not drive it out, but for another one.
const PANIC: &[u8] = b"panicked at ";
const OF_THREAD: &[u8] = b"thread '";

/// Whether a line tells of a panic of this process: one within a line is quoted.
fn is_panic(line: &[u8]) -> bool {
    let has = |line: &[u8]| line.windows(PANIC.len()).any(|w| w == PANIC);
    line.starts_with(PANIC) || line.starts_with(OF_THREAD) && has(line)
}

/// The last prints of a process, each with a line end.
pub(crate) struct Words {
    bytes: [u8; KEPT],
    len: usize,
}

impl Default for Words {
    fn default() -> Words {
        Words {
            bytes: [0; KEPT],
            len: 0,
        }
    }
}

impl Words {
    /// Forgets them.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    fn text(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Keeps a print.
    pub(crate) fn say(&mut self, print: &[u8]) {
        let print = print.trim_ascii();
        let mut len = print.len().min(OF_PRINT);
        // Not within a character.
        while len > 0 && print.get(len).is_some_and(|byte| byte & 0xc0 == 0x80) {
            len -= 1;
        }
        let print = &print[..len];
        if print.is_empty() {
            return;
        }
        let excess = (self.len + print.len() + 1).saturating_sub(KEPT);
        if excess > 0 {
            // Of a panic, what was before it makes room.
            let kept = self.panic().filter(|_| !is_panic(print));
            let first = excess.min(kept.unwrap_or(self.len));
            self.bytes.copy_within(first..self.len, 0);
            self.len -= first;
        }
        for &byte in print.iter().chain(b"\n") {
            if let Some(place) = self.bytes.get_mut(self.len) {
                *place = byte;
                self.len += 1;
            }
        }
        // The next one begins a line, also behind one that was cut.
        if let Some(last) = self.bytes.get_mut(KEPT - 1).filter(|_| self.len == KEPT) {
            *last = b'\n';
        }
    }

    /// Where the line of the last panic begins.
    fn panic(&self) -> Option<usize> {
        let text = self.text();
        let mut ends = text.len();
        loop {
            let begins = line_at(text, ends);
            if text.get(begins..ends).is_some_and(is_panic) {
                return Some(begins);
            }
            ends = begins.checked_sub(1)?;
        }
    }

    /// The panic and what was said behind it, or the last line; none if nothing was said.
    fn last(&self) -> &[u8] {
        let text = self.text().trim_ascii_end();
        let from = self.panic().unwrap_or_else(|| line_at(text, text.len()));
        text.get(from..).unwrap_or_default()
    }
}

/// Where the line begins that a place is in.
fn line_at(text: &[u8], at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |end| end + 1)
}

/// In one line, with its introduction; nothing if nothing was said.
impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.last();
        if last.is_empty() {
            return Ok(());
        }
        f.write_str("; it said last: ")?;
        for chunk in last.utf8_chunks() {
            for c in chunk.valid().chars() {
                f.write_char(if c == '\n' { ' ' } else { c })?;
            }
            if !chunk.invalid().is_empty() {
                f.write_char('\u{fffd}')?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::{String, ToString};

    fn said(prints: &[&[u8]]) -> String {
        let mut words = Words::default();
        prints.iter().for_each(|print| words.say(print));
        assert!(words.len <= KEPT);
        words.to_string()
    }

    #[test]
    fn the_last_line_is_kept_or_the_panic_and_what_follows() {
        assert_eq!(said(&[]), "");
        assert_eq!(said(&[b"\n", b""]), "");
        assert_eq!(said(&[b"one", b"two\nthree\n"]), "; it said last: three");
        let panic = b"panicked at src/main.rs:7:5:";
        assert_eq!(
            said(&[b"begins", panic, b"index out of bounds"]),
            "; it said last: panicked at src/main.rs:7:5: index out of bounds"
        );
        // As Rust's standard library says it.
        let std = b"\nthread 'main' panicked at src/main.rs:7:5:\nno more\n";
        assert_eq!(
            said(&[std, b"note: run with more\n"]),
            "; it said last: thread 'main' panicked at src/main.rs:7:5: no more note: run with more"
        );
        assert_eq!(
            said(&[b"\xffa\xe2\x82"]),
            "; it said last: \u{fffd}a\u{fffd}"
        );
    }

    #[test]
    fn a_panic_drives_out_another_and_a_quoted_one_is_none() {
        let quoted = b"child: crashed; it said last: panicked at a.rs:1:1: no";
        assert_eq!(said(&[quoted, b"goes on"]), "; it said last: goes on");
        let mut words = Words::default();
        words.say(b"panicked at a.rs:1:1:");
        (0..20).for_each(|_| words.say(&[b'x'; 100]));
        words.say(b"panicked at b.rs:2:2:");
        words.say(b"no more");
        assert_eq!(
            words.to_string(),
            "; it said last: panicked at b.rs:2:2: no more"
        );
    }

    #[test]
    fn of_much_the_last_is_kept_and_a_panic_stays() {
        let mut words = Words::default();
        for number in 0..10_000 {
            words.say(format!("line {number}").as_bytes());
        }
        assert_eq!(words.to_string(), "; it said last: line 9999");
        words.say(b"panicked at a.rs:1:1:");
        for _ in 0..20 {
            words.say(&[b'x'; 1024]);
        }
        let text = words.to_string();
        assert!(
            text.starts_with("; it said last: panicked at a.rs:1:1: xxx"),
            "{text}"
        );
        assert_eq!(words.len, KEPT);
        words.clear();
        assert_eq!(words.to_string(), "");
        words.say("\u{20ac}".repeat(400).as_bytes());
        assert_eq!(words.to_string().matches('\u{20ac}').count(), OF_PRINT / 3);
    }
}
