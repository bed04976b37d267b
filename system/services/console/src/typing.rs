//! What a keyboard's keys send, as a terminal would.

use alloc::vec::Vec;

/// A key without a character, by the number of its last byte or parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// `ESC [ X`.
    Letter(u8),
    /// `ESC [ N ~`.
    Number(u8),
    /// None.
    None,
}

/// Modifiers, as in `keyboard.contract`.
const SHIFT: u32 = 1;
const CTRL: u32 = 2;
const ALT: u32 = 4;

/// Appends what a key with a character sends.
pub fn character(character: char, modifiers: u32, out: &mut Vec<u8>) {
    if modifiers & ALT != 0 {
        out.push(0x1b);
    }
    let character = match character {
        '\n' => '\r',
        '\u{8}' => '\u{7f}',
        other => other,
    };
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Appends what a key without a character sends.
pub fn sequence(key: Sequence, modifiers: u32, out: &mut Vec<u8>) {
    // 2 for shift, 3 for Alt, 5 for Ctrl, and their sums.
    let held = [(SHIFT, 1), (ALT, 2), (CTRL, 4)]
        .iter()
        .filter(|(bit, _)| modifiers & bit != 0)
        .fold(1, |sum, (_, value)| sum + value);
    let held = (held > 1).then_some(b'0' + held);
    match (key, held) {
        (Sequence::Letter(letter), None) => out.extend_from_slice(&[0x1b, b'[', letter]),
        (Sequence::Letter(letter), Some(held)) => {
            out.extend_from_slice(&[0x1b, b'[', b'1', b';', held, letter]);
        }
        (Sequence::Number(number), held) => {
            out.extend_from_slice(b"\x1b[");
            if number >= 10 {
                out.push(b'0' + number / 10);
            }
            out.push(b'0' + number % 10);
            if let Some(held) = held {
                out.extend_from_slice(&[b';', held]);
            }
            out.push(b'~');
        }
        (Sequence::None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_send_what_a_terminal_sends() {
        let mut out = Vec::new();
        for c in ['a', '\n', '\u{8}', '\u{3}', 'ü'] {
            character(c, 0, &mut out);
        }
        assert_eq!(out, "a\r\u{7f}\u{3}ü".as_bytes());
        out.clear();
        character('b', ALT, &mut out);
        sequence(Sequence::Letter(b'A'), 0, &mut out);
        sequence(Sequence::Letter(b'C'), CTRL, &mut out);
        sequence(Sequence::Number(3), 0, &mut out);
        sequence(Sequence::Number(15), SHIFT | CTRL, &mut out);
        sequence(Sequence::None, 0, &mut out);
        assert_eq!(out, b"\x1bb\x1b[A\x1b[1;5C\x1b[3~\x1b[15;6~");
    }
}
