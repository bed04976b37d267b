//! Words, numbers and signs of the language.
//!
//! Any text lexes: what is no token becomes a diagnostic and is passed over, so that the parser can
//! go on.

use crate::diagnostic::{Diagnostic, MOST_KEPT};
use crate::source::Span;

/// A kind of token. Keywords are words; the parser knows from the place whether they are meant so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A name or keyword.
    Word(String),
    /// A whole number.
    Number(i128),
    /// Text in double quotes.
    Text(String),
    /// A line of documentation: `///`, or a comment right before what it speaks of.
    Doc(String),
    /// A sign or pair of signs.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// Longest first: `->` before `-`.
const SIGNS: [&str; 29] = [
    "->", "==", "!=", "<=", ">=", "&&", "||", "{", "}", "(", ")", "[", "]", ":", ";", ",", ".",
    "?", "!", "*", "=", "<", ">", "+", "-", "/", "%", "&", "|",
];

/// The most letters of a name.
const MAX_NAME: usize = 255;

/// The text without the byte order mark with which some editors let a file begin.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// All tokens, each with its place; the last one is [`Token::End`].
pub fn lex(source: u32, text: &str, errors: &mut Vec<Diagnostic>) -> Vec<(Token, Span)> {
    let mut tokens = Vec::new();
    let mut rest = without_mark(text);
    let start = rest.len();
    let place = |rest: &str, len: usize| {
        let start = text.len() - rest.len();
        Span {
            source,
            start: start as u32,
            end: (start + len) as u32,
        }
    };
    // Comments since the last other token, which document the next one if no empty line comes
    // between.
    let mut loose = 0;
    loop {
        let solid = rest.trim_start();
        let gap = &rest[..rest.len() - solid.len()];
        if gap.bytes().filter(|&b| b == b'\n').count() > 1 {
            tokens.truncate(tokens.len() - loose);
            loose = 0;
        }
        let begins_line = gap.contains('\n') || rest.len() == start || loose > 0;
        rest = solid;
        let Some(first) = rest.chars().next() else {
            break;
        };
        if errors.len() >= MOST_KEPT {
            break; // wrong everywhere; the end follows
        }
        let mut token = None;
        let mut comment = false;
        let len;
        if rest.starts_with("//") {
            // The line's end stays, so that what follows is known to begin a line.
            len = rest.find('\n').unwrap_or(rest.len());
            let line = rest[..len].trim_end();
            let doc = line.strip_prefix("///").filter(|d| !d.starts_with('/'));
            comment = doc.is_none() && begins_line;
            if let Some(doc) = doc.or(line.strip_prefix("//").filter(|_| comment)) {
                token = Some(Token::Doc(doc.strip_prefix(' ').unwrap_or(doc).into()));
            }
        } else if rest.starts_with("/*") {
            len = rest.find("*/").map_or(rest.len(), |end| end + 2);
            if !rest[..len].ends_with("*/") || len < 4 {
                errors.push(
                    Diagnostic::error("a comment does not end", place(rest, 2), "it begins here")
                        .help("close it with `*/`"),
                );
            }
        } else if first.is_ascii_alphabetic() || first == '_' {
            len = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            if len > MAX_NAME {
                // A name is repeated wherever it is inherited or referred to.
                errors.push(Diagnostic::error(
                    format!("a name of {len} letters"),
                    place(rest, len),
                    format!("at most {MAX_NAME} may be"),
                ));
            }
            token = Some(Token::Word(rest[..len].into()));
        } else if first.is_ascii_digit() {
            len = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            token = Some(number(&rest[..len]).unwrap_or_else(|| {
                errors.push(
                    Diagnostic::error(
                        format!("`{}` is no number", &rest[..len]),
                        place(rest, len),
                        "here",
                    )
                    .help("whole numbers are written 42, 1_000 or 0x2A and fit 64 bits"),
                );
                Token::Number(0)
            }));
        } else if first == '"' {
            let end = rest[1..].find(['"', '\n']).map(|end| end + 1);
            if let Some(end) = end.filter(|&end| rest.as_bytes()[end] == b'"') {
                len = end + 1;
                token = Some(Token::Text(rest[1..end].into()));
            } else {
                len = end.unwrap_or(rest.len());
                errors.push(Diagnostic::error(
                    "a text does not end",
                    place(rest, len),
                    "here",
                ));
            }
        } else if let Some(sign) = SIGNS.into_iter().find(|s| rest.starts_with(s)) {
            len = sign.len();
            token = Some(Token::Sign(sign));
        } else {
            len = first.len_utf8();
            errors.push(Diagnostic::error(
                format!("`{}` has no meaning in a contract", first.escape_debug()),
                place(rest, len),
                "here",
            ));
        }
        if let Some(token) = token {
            tokens.push((token, place(rest, len)));
            loose = if comment { loose + 1 } else { 0 };
        }
        rest = &rest[len..];
    }
    tokens.push((Token::End, place(rest, 0)));
    tokens
}

/// The value of a number as written.
fn number(text: &str) -> Option<Token> {
    let digits = text.replace('_', "");
    let value = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value
        .ok()
        .filter(|&v| v <= i128::from(u64::MAX))
        .map(Token::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        let mut errors = Vec::new();
        let tokens = lex(0, text, &mut errors).into_iter().map(|t| t.0).collect();
        assert!(errors.is_empty(), "{errors:?}");
        tokens
    }

    #[test]
    fn signs_are_taken_longest_first() {
        assert_eq!(
            tokens("a->b!=1-2"),
            [
                Token::Word("a".into()),
                Token::Sign("->"),
                Token::Word("b".into()),
                Token::Sign("!="),
                Token::Number(1),
                Token::Sign("-"),
                Token::Number(2),
                Token::End
            ]
        );
    }

    #[test]
    fn comments_before_something_document_it() {
        let doc = |s: &str| Token::Doc(s.into());
        let x = Token::Word("x".into());
        assert_eq!(
            tokens("/// yes \n/* no\n */ x"),
            [doc("yes"), x.clone(), Token::End]
        );
        assert_eq!(
            tokens("// yes\n  // too\nx"),
            [doc("yes"), doc("too"), x.clone(), Token::End]
        );
        assert_eq!(
            tokens("// no\n\n// yes\nx"),
            [doc("yes"), x.clone(), Token::End]
        );
        assert_eq!(tokens("// no\n  \nx // no\n"), [x.clone(), Token::End]);
        assert_eq!(tokens("x // no\nx"), [x.clone(), x, Token::End]);
    }

    #[test]
    fn numbers() {
        assert_eq!(
            tokens("0x1F 1_000")[..2],
            [Token::Number(31), Token::Number(1000)]
        );
        let mut errors = Vec::new();
        lex(0, "99999999999999999999999", &mut errors);
        lex(0, "1x", &mut errors);
        assert_eq!(errors.len(), 2);
    }

    #[test]
    fn what_does_not_end_is_reported() {
        for text in ["/* x", "/*/", "\"abc", "\"abc\n\"", "§"] {
            let mut errors = Vec::new();
            lex(0, text, &mut errors);
            assert!(!errors.is_empty(), "{text}");
        }
    }
}
