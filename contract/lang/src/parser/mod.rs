//! From tokens to the syntax tree, by recursive descent.
//!
//! After an error the parser skips to the next member or declaration and goes on, so that one run
//! reports what it can. Nesting is bounded: no text exhausts the stack.

mod declarations;
mod expressions;
mod states;

use crate::ast::{File, Name};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, lex};
use crate::source::Span;

/// How deep parentheses may nest.
const MAX_DEPTH: usize = 48;

/// Words that cannot be names.
const KEYWORDS: [&str; 17] = [
    "public", "contract", "in", "out", "message", "requires", "state", "override", "one", "or",
    "closed", "enum", "rep", "struct", "import", "true", "false",
];

/// Says that something did not parse; the diagnostic has been recorded.
pub(crate) struct Failed;

pub(crate) type Parsed<T> = Result<T, Failed>;

/// Parses one source text; what is wrong with it is added to `errors`.
pub(crate) fn parse(source: u32, text: &str, errors: &mut Vec<Diagnostic>) -> File {
    let tokens = lex(source, text, errors);
    Parser {
        tokens,
        at: 0,
        depth: 0,
        braces: 0,
        operators: 0,
        errors,
    }
    .file()
}

struct Parser<'a> {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
    braces: usize,
    /// Operators of the condition at hand.
    operators: usize,
    errors: &'a mut Vec<Diagnostic>,
}

impl Parser<'_> {
    /// The token at hand, documentation left out.
    fn peek(&self) -> &Token {
        &self.tokens[self.solid(self.at)].0
    }

    /// The token after it.
    fn peek_second(&self) -> &Token {
        let first = self.solid(self.at);
        &self.tokens[self.solid((first + 1).min(self.tokens.len() - 1))].0
    }

    /// Place of the token at hand.
    fn span(&self) -> Span {
        self.tokens[self.solid(self.at)].1
    }

    /// Place of the last token taken.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    /// Index of the first token from `i` on that is no documentation; there is always the end.
    fn solid(&self, mut i: usize) -> usize {
        while matches!(self.tokens[i].0, Token::Doc(_)) {
            i += 1;
        }
        i
    }

    /// Takes the token at hand. The end is never passed.
    fn next(&mut self) -> Span {
        let i = self.solid(self.at);
        self.at = (i + 1).min(self.tokens.len() - 1);
        match self.tokens[i].0 {
            Token::Sign("{") => self.braces += 1,
            Token::Sign("}") => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
        self.tokens[i].1
    }

    /// The documentation lines before the token at hand.
    fn docs(&self) -> Vec<String> {
        let mut i = self.at;
        let mut docs = Vec::new();
        while let Token::Doc(line) = &self.tokens[i].0 {
            docs.push(line.clone());
            i += 1;
        }
        docs
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w == word)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if *s == sign)
    }

    /// Takes this keyword if it is there.
    fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    /// Takes this sign if it is there.
    fn sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.next();
        }
        found
    }

    /// Records that something else was expected here.
    fn unexpected(&mut self, expected: &str) -> Diagnostic {
        let found = match self.peek() {
            Token::Word(w) => format!("`{w}`"),
            Token::Number(n) => format!("`{n}`"),
            Token::Text(t) => format!("`\"{}\"`", t.escape_debug()),
            Token::Sign(s) => format!("`{s}`"),
            Token::Doc(_) | Token::End => "the end of the text".into(),
        };
        Diagnostic::error(
            format!("expected {expected}, found {found}"),
            self.span(),
            format!("expected {expected}"),
        )
    }

    fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parsed<T> {
        self.errors.push(diagnostic);
        Err(Failed)
    }

    /// Takes a sign that must be there.
    fn expect(&mut self, sign: &str) -> Parsed<Span> {
        if self.is_sign(sign) {
            return Ok(self.next());
        }
        let diagnostic = self.unexpected(&format!("`{sign}`"));
        self.fail(diagnostic)
    }

    /// Takes a name that must be there.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.peek().clone() {
            Token::Word(text) if KEYWORDS.contains(&text.as_str()) => {
                let diagnostic = self.unexpected(what).help(format!(
                    "`{text}` is a keyword of the language; choose another name"
                ));
                self.fail(diagnostic)
            }
            Token::Word(text) => Ok(Name {
                text,
                span: self.next(),
            }),
            _ => {
                let diagnostic = self.unexpected(what);
                self.fail(diagnostic)
            }
        }
    }

    /// Takes the name of an argument or field, which may also be a keyword: no doubt can arise
    /// there.
    fn field_name(&mut self, what: &str) -> Parsed<Name> {
        match self.peek().clone() {
            Token::Word(text) if !matches!(text.as_str(), "in" | "true" | "false") => Ok(Name {
                text,
                span: self.next(),
            }),
            _ => self.name(what),
        }
    }

    /// Runs a parser of states one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.deeper("give the inner part a state of its own", parse)
    }

    /// Runs a parser one level deeper; `help` is the way out where there are too many.
    fn deeper<T>(&mut self, help: &str, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            return self.fail(Diagnostic::error("nested too deeply", span, "here").help(help));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Skips to where the next member of a block can begin: behind a `;` or `}` in the block
    /// itself, or before the `}` that ends it. `level` is how many braces are open inside the
    /// block.
    fn skip_member(&mut self, level: usize) {
        loop {
            let inside = self.braces > level;
            let (ends, last) = match self.peek() {
                Token::End => return,
                Token::Sign("}") if !inside => return,
                Token::Sign("}") => (true, self.braces == level + 1),
                Token::Sign(";") => (true, !inside),
                _ => (false, false),
            };
            self.next();
            if ends && last {
                return;
            }
        }
    }

    /// Skips to the next declaration.
    fn skip_item(&mut self) {
        while !matches!(self.peek(), Token::End) {
            let starts = ["public", "contract", "enum", "rep", "import"];
            if starts.iter().any(|w| self.is_word(w)) {
                return;
            }
            self.next();
        }
    }
}
