//! The folded form of `try` in the first encoding of exceptions, which the parser of the text format
//! does not read.
//!
//! The suite writes `(try (result i32) (do ..) (catch $e ..))`; the parser reads only the flat form,
//! `try (result i32) .. catch $e .. end`. Both say the same where a folded `try` stands among
//! instructions, which is the only place in which the suite has it. As an operand, the flat form
//! stays an error of the parser.

use crate::script::{skip_comment, skip_line, skip_string};
use std::borrow::Cow;

/// An open parenthesis.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    /// Of a folded `try`; whether it ends with `delegate`, which needs no `end`.
    Try {
        delegates: bool,
    },
    /// Of a part of one: `do`, `catch`, `catch_all`, `delegate`.
    Part,
    Other,
}

/// The text with each folded `try` in its flat form. Lines stay as they are; columns may move.
pub fn unfold(text: &str) -> Cow<'_, str> {
    if !text.contains("(try") {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let (mut out, mut open, mut at) = (String::with_capacity(text.len()), Vec::new(), 0);
    while at < bytes.len() {
        let from = at;
        match (bytes[at], bytes.get(at + 1)) {
            (b';', Some(b';')) => at = skip_line(bytes, at),
            (b'(', Some(b';')) => at = skip_comment(bytes, at).unwrap_or(bytes.len()),
            (b'"', _) => at = skip_string(bytes, at),
            (b'(', _) => {
                let word = word(&text[at + 1..]);
                let kind = opened(word, open.last_mut());
                open.push(kind);
                match kind {
                    Open::Other => out.push('('),
                    // The word of this part is that there is none in the flat form.
                    Open::Part if word == "do" => at += word.len(),
                    _ => out.push(' '),
                }
                at += 1;
                continue;
            }
            (b')', _) => {
                out.push_str(match open.pop() {
                    Some(Open::Try { delegates: false }) => " end ",
                    Some(Open::Try { .. } | Open::Part) => " ",
                    Some(Open::Other) | None => ")",
                });
                at += 1;
                continue;
            }
            // Whole characters: what is special above is one byte of ASCII.
            _ => at = at + 1 + bytes[at + 1..].iter().take_while(|b| **b >= 0x80).count(),
        }
        out.push_str(&text[from..at]);
    }
    Cow::Owned(out)
}

/// What a parenthesis before `word` opens, within `around`.
fn opened(word: &str, around: Option<&mut Open>) -> Open {
    match (word, around) {
        ("try", _) => Open::Try { delegates: false },
        ("do" | "catch" | "catch_all", Some(Open::Try { .. })) => Open::Part,
        ("delegate", Some(Open::Try { delegates })) => {
            *delegates = true;
            Open::Part
        }
        _ => Open::Other,
    }
}

/// The word that text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_.$-".contains(c)));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        unfold(text)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn parts_of_a_try_become_flat() {
        let folded = "(func (try $l (result i32) (do (f)) (catch $e (g)) (catch_all (h))))";
        let flat = "(func try $l (result i32) (f) catch $e (g) catch_all (h) end )";
        assert_eq!(words(folded), flat);
        assert_eq!(words("(try (do) (delegate $l))"), "try delegate $l");
        assert_eq!(words("(try (do (try (do))))"), "try try end end");
    }

    #[test]
    fn what_is_no_folded_try_stays() {
        let others = [
            "(try_table (catch $e 0) (do))",
            "(func try (f) catch_all end) ;; (try (do))",
            "(; (try (do)) ;) \"(try (do))\" (catch (do)) é ) (",
        ];
        for text in others {
            assert_eq!(unfold(text), text);
        }
    }

    #[test]
    fn lines_stay() {
        let text = "(try\n(do\n(f))\n;; é\n(catch_all\n))\n(g)";
        assert_eq!(unfold(text).matches('\n').count(), 6);
        assert!(unfold(text).ends_with("\n(g)"));
    }
}
