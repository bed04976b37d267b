//! Converts the bytes of a terminal to keys.
//!
//! Invariant: any sequence of bytes is accepted; an unknown sequence is skipped, and never consumes
//! more than its own escape sequence.

/// A key, by its meaning for the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character to insert.
    Char(char),
    /// End of the line.
    Enter,
    /// Delete before the cursor.
    Backspace,
    /// Delete under the cursor.
    Delete,
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// A word left.
    WordLeft,
    /// A word right.
    WordRight,
    /// Earlier in the history.
    Up,
    /// Later in the history.
    Down,
    /// Start of the line.
    Home,
    /// End of the line.
    End,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// Ctrl-K: delete to the end.
    KillToEnd,
    /// Ctrl-U: delete to the start.
    KillToStart,
    /// Ctrl-W: delete a word.
    KillWord,
    /// Ctrl-L: clear the screen.
    Clear,
    /// Complete the word.
    Tab,
    /// Ctrl-R: search the history.
    Search,
    /// Ctrl-G: end that search, with the line as it was.
    Cancel,
    /// Ctrl-Z.
    Suspend,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Plain,
    /// After ESC.
    Escape,
    /// After ESC [ or ESC O; the first number and whether a later one said Ctrl.
    Sequence { number: u16, later: u16, parts: u8 },
}

/// Assembles bytes to keys.
#[derive(Debug, Default)]
pub struct Decoder {
    state: State,
    /// Bytes of an unfinished UTF-8 character.
    partial: [u8; 4],
    have: usize,
}

impl Decoder {
    /// The key that this byte completes, if it does.
    pub fn feed(&mut self, byte: u8) -> Option<Key> {
        match self.state {
            State::Plain => self.plain(byte),
            State::Escape => {
                self.state = match byte {
                    b'[' | b'O' => State::Sequence {
                        number: 0,
                        later: 0,
                        parts: 0,
                    },
                    0x1b => State::Escape,
                    _ => State::Plain,
                };
                match byte {
                    b'b' => Some(Key::WordLeft),
                    b'f' => Some(Key::WordRight),
                    0x7f => Some(Key::KillWord),
                    // Ctrl-C and similar keys must work also after a stray ESC.
                    b if b < 0x20 && b != 0x1b => self.plain(b),
                    _ => None,
                }
            }
            State::Sequence {
                number,
                later,
                parts,
            } => self.sequence(byte, number, later, parts),
        }
    }

    fn plain(&mut self, byte: u8) -> Option<Key> {
        if byte >= 0x80 {
            return self.utf8(byte);
        }
        self.have = 0;
        Some(match byte {
            0x1b => {
                self.state = State::Escape;
                return None;
            }
            b'\r' | b'\n' => Key::Enter,
            0x01 => Key::Home,
            0x02 => Key::Left,
            0x03 => Key::Interrupt,
            0x04 => Key::EndOfInput,
            0x05 => Key::End,
            0x06 => Key::Right,
            0x07 => Key::Cancel,
            0x08 | 0x7f => Key::Backspace,
            0x0b => Key::KillToEnd,
            0x0c => Key::Clear,
            0x0e => Key::Down,
            0x10 => Key::Up,
            0x12 => Key::Search,
            0x15 => Key::KillToStart,
            0x17 => Key::KillWord,
            0x1a => Key::Suspend,
            b'\t' => Key::Tab,
            b if b < 0x20 => return None,
            b => Key::Char(char::from(b)),
        })
    }

    fn utf8(&mut self, byte: u8) -> Option<Key> {
        if byte & 0xc0 != 0x80 {
            self.have = 0;
        }
        *self.partial.get_mut(self.have)? = byte;
        self.have += 1;
        match core::str::from_utf8(&self.partial[..self.have]) {
            Ok(text) => {
                self.have = 0;
                text.chars().next().map(Key::Char)
            }
            Err(e) => {
                if e.error_len().is_some() {
                    self.have = 0;
                }
                None
            }
        }
    }

    fn sequence(&mut self, byte: u8, number: u16, later: u16, parts: u8) -> Option<Key> {
        let digit = |n: u16| {
            n.saturating_mul(10)
                .saturating_add(u16::from(byte.wrapping_sub(b'0')))
        };
        self.state = State::Plain;
        match byte {
            b'0'..=b'9' if parts == 0 => {
                self.state = State::Sequence {
                    number: digit(number),
                    later,
                    parts,
                };
                None
            }
            b'0'..=b'9' => {
                self.state = State::Sequence {
                    number,
                    later: digit(later),
                    parts,
                };
                None
            }
            b';' => {
                self.state = State::Sequence {
                    number,
                    later: 0,
                    parts: parts.saturating_add(1),
                };
                None
            }
            // With Ctrl held, cursor keys move by words.
            b'C' if later == 5 => Some(Key::WordRight),
            b'D' if later == 5 => Some(Key::WordLeft),
            b'A' => Some(Key::Up),
            b'B' => Some(Key::Down),
            b'C' => Some(Key::Right),
            b'D' => Some(Key::Left),
            b'H' => Some(Key::Home),
            b'F' => Some(Key::End),
            b'~' => match number {
                1 | 7 => Some(Key::Home),
                4 | 8 => Some(Key::End),
                3 => Some(Key::Delete),
                _ => None,
            },
            b if b < 0x20 => self.plain(b),
            // Private and intermediate bytes are part of the sequence.
            0x20..=0x3f => {
                self.state = State::Sequence {
                    number,
                    later,
                    parts,
                };
                None
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut d = Decoder::default();
        bytes.iter().filter_map(|&b| d.feed(b)).collect()
    }

    #[test]
    fn cursor_keys_and_text() {
        assert_eq!(
            keys(b"a\x1b[A\x1b[D\x1bOH\x1b[3~\x1b[1;5Cz"),
            [
                Key::Char('a'),
                Key::Up,
                Key::Left,
                Key::Home,
                Key::Delete,
                Key::WordRight,
                Key::Char('z')
            ]
        );
        assert_eq!(
            keys("ä€😀".as_bytes()),
            [Key::Char('ä'), Key::Char('€'), Key::Char('😀')]
        );
    }

    #[test]
    fn broken_input_is_passed_over() {
        assert_eq!(keys(b"\xff\xc3a"), [Key::Char('a')]);
        assert_eq!(keys(b"\x1b[999999999999~b"), [Key::Char('b')]);
        assert_eq!(keys(b"\x1b[\x03"), [Key::Interrupt]);
        assert_eq!(keys(b"\x1b\x03"), [Key::Interrupt]);
        // Every pair and triple of bytes, then a plain letter after a reset by Ctrl-C.
        for a in 0..=255_u8 {
            for b in 0..=255_u8 {
                let got = keys(&[0x1b, a, b, 0x03, b'x']);
                assert!(got.contains(&Key::Interrupt) && got.last() == Some(&Key::Char('x')));
            }
        }
    }
}
