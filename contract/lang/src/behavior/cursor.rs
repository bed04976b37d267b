//! A place in a sequence of tokens, from which the parser takes one after the other.

use crate::ast::Name;
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, lex};
use crate::source::Span;

/// How deep choices may nest.
const MAX_DEPTH: usize = 48;

/// Says that something did not parse; the diagnostic has been recorded.
pub(super) struct Failed;

pub(super) type Parsed<T> = Result<T, Failed>;

/// The tokens of a text, and how far they have been taken. There is always a last one, the end.
pub(super) struct Cursor<'a> {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
    clean: bool,
    errors: &'a mut Vec<Diagnostic>,
}

impl<'a> Cursor<'a> {
    /// The tokens of this text; what is no token is an error.
    pub fn new(source: u32, text: &str, errors: &'a mut Vec<Diagnostic>) -> Cursor<'a> {
        let before = errors.len();
        let mut tokens = lex(source, text, errors);
        tokens.retain(|t| !matches!(t.0, Token::Doc(_)));
        Cursor {
            tokens,
            at: 0,
            depth: 0,
            clean: errors.len() == before,
            errors,
        }
    }

    /// Whether all of the text was tokens.
    pub fn is_clean(&self) -> bool {
        self.clean
    }

    /// The token at hand.
    pub fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    /// Place of the token at hand.
    pub fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    /// Place of the last token taken.
    pub fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    /// Whether the last token taken is this sign.
    pub fn last_is(&self, sign: &str) -> bool {
        let last = self.at.checked_sub(1).map(|i| &self.tokens[i].0);
        matches!(last, Some(Token::Sign(s)) if *s == sign)
    }

    /// Takes the token at hand. The end is never passed.
    pub fn next(&mut self) -> Span {
        let span = self.span();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        span
    }

    /// Whether this keyword is at hand. A word before a `.` is the name of an endpoint.
    pub fn is_word(&self, word: &str) -> bool {
        let endpoint = matches!(self.tokens.get(self.at + 1), Some((Token::Sign("."), _)));
        !endpoint && matches!(self.peek(), Token::Word(w) if w == word)
    }

    /// Whether this sign is at hand.
    pub fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if *s == sign)
    }

    /// Whether the text is at its end.
    pub fn is_end(&self) -> bool {
        matches!(self.peek(), Token::End)
    }

    /// Takes this keyword if it is there.
    pub fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    /// Takes this sign if it is there.
    pub fn sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.next();
        }
        found
    }

    /// Records that something else was expected here.
    pub fn unexpected<T>(&mut self, expected: &str) -> Parsed<T> {
        let found = match self.peek() {
            Token::Word(w) => format!("`{w}`"),
            Token::Number(n) => format!("`{n}`"),
            Token::Text(t) => format!("`\"{}\"`", t.escape_debug()),
            Token::Sign(s) => format!("`{s}`"),
            Token::Doc(_) | Token::End => "the end of the text".into(),
        };
        let diagnostic = Diagnostic::error(
            format!("expected {expected}, found {found}"),
            self.span(),
            format!("expected {expected}"),
        );
        self.fail(diagnostic)
    }

    /// Records an error.
    pub fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parsed<T> {
        self.errors.push(diagnostic);
        Err(Failed)
    }

    /// Takes a sign that must be there.
    pub fn expect(&mut self, sign: &str) -> Parsed<Span> {
        if self.is_sign(sign) {
            return Ok(self.next());
        }
        self.unexpected(&format!("`{sign}`"))
    }

    /// Takes a name that must be there.
    pub fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.peek().clone() {
            Token::Word(text) => Ok(Name {
                text,
                span: self.next(),
            }),
            _ => self.unexpected(what),
        }
    }

    /// Takes a text in quotes that must be there.
    pub fn text(&mut self, what: &str) -> Parsed<Name> {
        match self.peek().clone() {
            Token::Text(text) => Ok(Name {
                text,
                span: self.next(),
            }),
            _ => self.unexpected(what),
        }
    }

    /// Runs a parser one level deeper.
    pub fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            return self.fail(
                Diagnostic::error("nested too deeply", span, "here")
                    .help("give the inner part a state of its own"),
            );
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }
}
