//! A text as tokens with the comments and line ends before each: nothing of the text but white
//! space is lost.
//!
//! Also which tokens stand apart from the one before. That depends on what a sign means in its
//! place: `*` and `!` are parts of a type or a step, or operators of a condition; `:` binds the
//! parts of an endpoint type together and keeps those of a declaration apart.

use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, lex, without_mark};

/// A comment as written, without the white space behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comment {
    pub text: String,
    /// Line ends between it and what stands before it.
    pub lines: usize,
}

impl Comment {
    /// Whether it reaches to the end of its line.
    pub fn ends_line(&self) -> bool {
        self.text.starts_with("//")
    }
}

/// A token.
#[derive(Clone, Debug)]
pub(super) struct Piece<'a> {
    pub text: &'a str,
    /// Comments before it, in order.
    pub comments: Vec<Comment>,
    /// Line ends between it and the last comment, or the token before.
    pub lines: usize,
    /// Whether it stands apart from the token before, where both are in one line.
    pub apart: bool,
    /// The offset of its first byte.
    pub start: usize,
}

impl Piece<'_> {
    /// How many of its comments, counted from the last, stand in one line with it.
    pub fn beside(&self) -> usize {
        let mut lines = self.lines;
        let mut count = 0;
        for comment in self.comments.iter().rev() {
            if lines > 0 || comment.ends_line() || comment.text.contains('\n') {
                break;
            }
            (lines, count) = (comment.lines, count + 1);
        }
        count
    }
}

/// All tokens; the last one is the end, with what stands before it.
pub(super) fn pieces<'a>(text: &'a str, errors: &mut Vec<Diagnostic>) -> Vec<Piece<'a>> {
    let mut all: Vec<Piece<'a>> = Vec::new();
    let mut spacing = Spacing::default();
    let mut at = text.len() - without_mark(text).len();
    for (token, span) in lex(0, text, errors) {
        if matches!(token, Token::Doc(_)) {
            continue;
        }
        let range = span.range();
        let (comments, lines) = gap(&text[at..range.start]);
        let piece = &text[range.clone()];
        let apart = spacing.next(piece);
        all.push(Piece {
            text: piece,
            comments,
            lines,
            apart,
            start: range.start,
        });
        at = range.end;
    }
    all
}

/// The gap between two tokens: comments, and the line ends behind the last of them.
fn gap(mut rest: &str) -> (Vec<Comment>, usize) {
    let mut comments = Vec::new();
    loop {
        let solid = rest.trim_start();
        let lines = rest[..rest.len() - solid.len()].matches('\n').count();
        if solid.is_empty() {
            return (comments, lines);
        }
        let len = if solid.starts_with("//") {
            solid.find('\n').unwrap_or(solid.len())
        } else {
            solid.find("*/").map_or(solid.len(), |end| end + 2)
        };
        let text = solid[..len].trim_end().replace("\r\n", "\n");
        comments.push(Comment { text, lines });
        rest = &solid[len..];
    }
}

/// The context of the current statement, which tells what a sign means in it.
#[derive(Default)]
struct Spacing<'a> {
    last: &'a str,
    /// Tokens of the statement so far.
    count: usize,
    /// Open parentheses. In them words may be names that are keywords elsewhere.
    depth: usize,
    /// Whether it declares a contract or an enum.
    declares: bool,
    /// Whether it declares a state.
    state: bool,
    /// Whether this is a condition.
    requires: bool,
    /// Whether the last token belongs to the next: `!` and `-` before an operand, `:` in a type.
    binds: bool,
}

impl<'a> Spacing<'a> {
    /// Whether this token stands apart from the one before.
    fn next(&mut self, token: &'a str) -> bool {
        if matches!(self.last, ";" | "{" | "}") {
            *self = Spacing {
                last: self.last,
                ..Spacing::default()
            };
        }
        self.count += 1;
        match token {
            "contract" | "enum" if self.count <= 2 => self.declares = true,
            "state" if self.count <= 2 => self.state = true,
            "requires" if self.depth == 0 => self.requires = true,
            "(" => self.depth += 1,
            ")" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let bound = std::mem::take(&mut self.binds);
        let apart = match token {
            ";" | "," | ")" | "]" | "[" | "?" | "." => false,
            "!" if !self.requires => false,
            "*" if !self.requires => false,
            ":" => self.declares,
            "(" if is_word(self.last) => matches!(self.last, "requires" | "one" | "or"),
            _ => !bound && !matches!(self.last, "(" | "[" | "."),
        };
        self.binds = match token {
            "!" => self.requires,
            "-" => !(is_word(self.last) && self.last != "requires") && self.last != ")",
            ":" => !self.declares && !self.state,
            _ => false,
        };
        self.last = token;
        apart
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}
