//! Words and signs of the command language.

use super::Error;
use super::word::{Part, Word};
use crate::variables::{in_name, is_name};
use alloc::string::String;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    Pipe,
    And,
    Or,
    Semicolon,
    Background,
    LineEnd,
    Input,
    Output,
    Append,
    Errors,
    AppendErrors,
    ErrorsWithOutput,
}

impl Token {
    /// The file that must follow is written, at its end or anew, by errors or by output.
    pub(super) fn writes(&self) -> Option<(bool, bool)> {
        match self {
            Token::Output => Some((false, false)),
            Token::Append => Some((false, true)),
            Token::Errors => Some((true, false)),
            Token::AppendErrors => Some((true, true)),
            _ => None,
        }
    }
}

pub(super) struct Lexer<'a> {
    chars: core::iter::Peekable<core::str::Chars<'a>>,
    /// The present line, from 1.
    pub(super) line: usize,
}

impl Lexer<'_> {
    pub(super) fn new(text: &str) -> Lexer<'_> {
        Lexer {
            chars: text.chars().peekable(),
            line: 1,
        }
    }

    pub(super) fn fail<T>(&self, message: &'static str) -> Result<T, Error> {
        Err(Error {
            message,
            line: self.line,
        })
    }

    fn doubled(&mut self, c: char, twice: Token, once: Token) -> Token {
        if self.chars.next_if_eq(&c).is_some() {
            twice
        } else {
            once
        }
    }

    pub(super) fn token(&mut self) -> Result<Option<Token>, Error> {
        while self
            .chars
            .next_if(|c| *c != '\n' && c.is_whitespace())
            .is_some()
        {}
        if self.chars.peek() == Some(&'#') {
            while self.chars.next_if(|c| *c != '\n').is_some() {}
        }
        let Some(&c) = self.chars.peek() else {
            return Ok(None);
        };
        let token = match c {
            '\n' | ';' | '|' | '&' => {
                self.chars.next();
                match c {
                    '\n' => Token::LineEnd,
                    ';' => Token::Semicolon,
                    '|' => self.doubled('|', Token::Or, Token::Pipe),
                    _ => self.doubled('&', Token::And, Token::Background),
                }
            }
            '<' => {
                self.chars.next();
                if self.chars.peek() == Some(&'<') {
                    return self.fail("there is no <<; a file is read with <");
                }
                Token::Input
            }
            '>' => {
                self.chars.next();
                self.doubled('>', Token::Append, Token::Output)
            }
            '2' if self.is_of_errors() => self.errors()?,
            _ => Token::Word(self.word()?),
        };
        Ok(Some(token))
    }

    /// Whether a word is the number of the stream of errors: `2>`.
    fn is_of_errors(&self) -> bool {
        let mut ahead = self.chars.clone();
        ahead.next() == Some('2') && ahead.next() == Some('>')
    }

    /// What begins with `2>`.
    fn errors(&mut self) -> Result<Token, Error> {
        self.chars.nth(1);
        if self.chars.next_if_eq(&'&').is_none() {
            return Ok(self.doubled('>', Token::AppendErrors, Token::Errors));
        }
        let one = self.chars.next_if_eq(&'1').is_some();
        if !one || !self.chars.peek().is_none_or(ends_word) {
            return self.fail("only 2>&1 sends a stream where another one goes");
        }
        Ok(Token::ErrorsWithOutput)
    }

    fn word(&mut self) -> Result<Word, Error> {
        let mut word = Word::default();
        // Whether everything so far stands as it was typed, so that it may be a name before a `=`.
        let mut plain = true;
        while let Some(c) = self.chars.next_if(|c| !ends_word(c)) {
            if c == '='
                && core::mem::take(&mut plain)
                && let [Part::Plain(name)] = &mut word.parts[..]
                && is_name(name)
            {
                word.name = Some(core::mem::take(name));
                continue;
            }
            plain &= !"'\"\\$".contains(c);
            match c {
                '\'' => loop {
                    match self.chars.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return self.fail("a ' is not closed"),
                    }
                },
                '"' => loop {
                    match self.chars.next() {
                        Some('"') => break,
                        Some('\\') => match self.chars.next() {
                            Some(c @ ('"' | '\\' | '$')) => word.push(c),
                            Some(c) => {
                                word.push('\\');
                                word.push(c);
                            }
                            None => return self.fail("a \" is not closed"),
                        },
                        Some('$') => self.dollar(&mut word)?,
                        Some(c) => word.push(c),
                        None => return self.fail("a \" is not closed"),
                    }
                },
                '\\' => match self.chars.next() {
                    Some('\n') => {}
                    Some(c) => word.push(c),
                    None => return self.fail("nothing follows a \\"),
                },
                '$' => self.dollar(&mut word)?,
                c => word.push_plain(c),
            }
        }
        // Elsewhere that is the number of a stream; as an argument it would be a surprise.
        if matches!(self.chars.peek(), Some('<' | '>')) && word.is_number() {
            return self.fail("only 2> has a number; put a space before < or >");
        }
        Ok(word)
    }

    fn dollar(&mut self, word: &mut Word) -> Result<(), Error> {
        let part = if self.chars.next_if_eq(&'?').is_some() {
            Part::Status
        } else if self.chars.next_if_eq(&'{').is_some() {
            let name = self.name();
            if name.is_empty() || self.chars.next_if_eq(&'}').is_none() {
                return self.fail("a name and } must follow ${");
            }
            Part::Variable(name)
        } else {
            let name = self.name();
            if name.is_empty() {
                word.push('$');
                return Ok(());
            }
            Part::Variable(name)
        };
        word.parts.push(part);
        Ok(())
    }

    /// The name of a variable; empty if none comes next.
    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(|&c| in_name(c, name.is_empty())) {
            name.push(c);
        }
        name
    }
}

/// Whether a character ends a word that is not quoted.
pub(crate) fn ends_word(c: &char) -> bool {
    c.is_whitespace() || ";|&<>".contains(*c)
}
