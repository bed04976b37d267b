//! Scripts: from a file to directives.
//!
//! A file is parsed as a whole. If that fails, its top-level forms are parsed one by one, so that a
//! form that cannot be parsed costs one directive and not the file.

use crate::folded;
use wast::lexer::Lexer;
use wast::parser::{self, ParseBuffer};
use wast::token::Span;
use wast::{Wast, WastDirective};

/// A buffer over text in which names may have any characters.
pub fn buffer(text: &str) -> Result<ParseBuffer<'_>, wast::Error> {
    let mut lexer = Lexer::new(text);
    // The suite has files with such names on purpose.
    lexer.allow_confusing_unicode(true);
    ParseBuffer::new_with_lexer(lexer)
}

/// Calls `f` with each directive in order, or the reason why it cannot be read, and its line.
pub fn for_each(text: &str, f: &mut dyn FnMut(usize, Result<WastDirective<'_>, String>)) {
    let text = &*folded::unfold(text);
    match parse(text, 0, f) {
        Ok(()) => {}
        Err((line, message)) => {
            let forms = forms(text);
            // Nothing but comments is a script without directives.
            if forms.is_empty() && is_blank(text) {
                return;
            }
            if forms.len() < 2 {
                f(line, Err(message));
                return;
            }
            for form in forms {
                let start = text[..form.0].matches('\n').count();
                if let Err((line, message)) = parse(&text[form.0..form.1], start, f) {
                    f(line, Err(message));
                }
            }
        }
    }
}

/// Parses text that starts `start` lines into its file. Calls `f` only if all of it can be read.
fn parse(
    text: &str,
    start: usize,
    f: &mut dyn FnMut(usize, Result<WastDirective<'_>, String>),
) -> Result<(), (usize, String)> {
    // Needed for each directive, so looked up rather than counted: scripts have a hundred thousand
    // lines.
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line = |span: Span| start + ends.partition_point(|end| *end < span.offset()) + 1;
    let fail = |e: wast::Error| (line(e.span()), e.message());
    let buffer = buffer(text).map_err(fail)?;
    let script = parser::parse::<Wast<'_>>(&buffer).map_err(fail)?;
    for directive in script.directives {
        f(line(directive.span()), Ok(directive));
    }
    Ok(())
}

/// Byte ranges of the top-level forms. An unbalanced form ends with the text.
fn forms(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let (mut forms, mut depth, mut start, mut i) = (Vec::new(), 0usize, 0, 0);
    while i < bytes.len() {
        match (bytes[i], bytes.get(i + 1)) {
            (b';', Some(b';')) => i = skip_line(bytes, i),
            (b'(', Some(b';')) => i = skip_comment(bytes, i).unwrap_or(bytes.len()),
            (b'"', _) => i = skip_string(bytes, i),
            (b'(', _) => {
                if depth == 0 {
                    start = i;
                }
                depth += 1;
                i += 1;
            }
            (b')', _) => {
                if depth == 1 {
                    forms.push((start, i + 1));
                }
                depth = depth.saturating_sub(1);
                i += 1;
            }
            _ => i += 1,
        }
    }
    if depth > 0 {
        forms.push((start, bytes.len()));
    }
    forms
}

/// Whether text has nothing but comments, all of them closed.
fn is_blank(text: &str) -> bool {
    let (bytes, mut i) = (text.as_bytes(), 0);
    while i < bytes.len() {
        match (bytes[i], bytes.get(i + 1)) {
            (b';', Some(b';')) => i = skip_line(bytes, i),
            (b'(', Some(b';')) => match skip_comment(bytes, i) {
                Some(end) => i = end,
                None => return false,
            },
            (b, _) if b.is_ascii_whitespace() => i += 1,
            _ => return false,
        }
    }
    true
}

/// The position of the line's end.
pub fn skip_line(bytes: &[u8], from: usize) -> usize {
    bytes[from..]
        .iter()
        .position(|b| *b == b'\n')
        .map_or(bytes.len(), |n| from + n)
}

/// The position after a block comment, which may hold others; `None` if it has no end.
pub fn skip_comment(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut depth, mut i) = (0usize, from);
    while i < bytes.len() {
        match (bytes[i], bytes.get(i + 1)) {
            (b'(', Some(b';')) => (depth, i) = (depth + 1, i + 2),
            (b';', Some(b')')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return Some(i);
        }
    }
    None
}

/// The position after a string.
pub fn skip_string(bytes: &[u8], from: usize) -> usize {
    let mut i = from + 1;
    while i < bytes.len() && bytes[i] != b'"' {
        i += if bytes[i] == b'\\' { 2 } else { 1 };
    }
    (i + 1).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, bool)> {
        let mut seen = Vec::new();
        for_each(text, &mut |line, d| seen.push((line, d.is_ok())));
        seen
    }

    #[test]
    fn directives_have_their_lines() {
        let text = "(module)\n;; nothing\n(assert_return\n  (invoke \"f\"))\n(register \"m\")";
        assert_eq!(read(text), [(1, true), (3, true), (5, true)]);
        assert_eq!(
            read("(func)\n(memory 1)"),
            [(1, true)],
            "fields alone are a module"
        );
        assert_eq!(read(""), []);
        assert_eq!(read(" ;; nothing\n(; at (; all ;) ;)\n"), []);
        assert_eq!(read("(; never closed"), [(1, false)]);
        assert_eq!(read("nonsense"), [(1, false)]);
    }

    #[test]
    fn a_form_that_cannot_be_read_costs_itself() {
        let text = "(module)\n(frobnicate 1)\n(; ( ;)(invoke \"a)\\\"b\")\n;; )\n(module (func";
        assert_eq!(read(text), [(1, true), (2, false), (3, true), (5, false)]);
        assert_eq!(read("(frobnicate)"), [(1, false)]);
    }

    #[test]
    fn forms_end_where_they_must() {
        assert_eq!(forms("(a \")\") (b (; ) (; ;) ;) c)"), [(0, 7), (8, 27)]);
        assert_eq!(forms(") (a"), [(2, 4)]);
        assert_eq!(forms("(; never closed"), []);
        assert_eq!(forms("(\"never closed\\"), [(0, 15)]);
    }
}
