//! Words, before what stands for their variables is known.

use crate::glob::Glob;
use crate::variables::Variables;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Quoted text.
    Text(String),
    /// Text that is not quoted: `*`, `?` and `[` in it are wildcards.
    Plain(String),
    /// `$?`: the last status.
    Status,
    /// `$NAME`: the value of a variable.
    Variable(String),
}

impl Part {
    /// What it stands for, and whether that is not quoted.
    fn text<'a>(
        &'a self,
        variables: &'a Variables,
        status: &'a str,
    ) -> Result<(&'a str, bool), Meaningless> {
        Ok(match self {
            Part::Text(text) => (text, false),
            Part::Plain(text) => (text, true),
            Part::Status => (status, false),
            Part::Variable(name) => {
                let value = variables.get(name);
                let not_set = || Meaningless::NotSet(name.clone());
                (value.ok_or_else(not_set)?, false)
            }
        })
    }
}

/// A word, before its variables and its `$?` are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// In `NAME=VALUE`, the name.
    pub(super) name: Option<String>,
    pub(super) parts: Vec<Part>,
}

/// The most bytes of a word, with what stands for its variables.
pub const LONGEST: usize = 256 << 10;

/// Why a word means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaningless {
    /// There is no variable of this name.
    NotSet(String),
    /// It would have more than [`LONGEST`] bytes.
    TooLong,
    /// The words of a pipeline would have more than this many bytes together.
    TooMany(usize),
}

impl fmt::Display for Meaningless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meaningless::NotSet(name) => write!(f, "${name} is not set; {name}=VALUE does"),
            Meaningless::TooLong => write!(
                f,
                "a word has {LONGEST} bytes at most, with what stands for its variables"
            ),
            Meaningless::TooMany(most) => write!(
                f,
                "the words of a pipeline have {most} bytes at most, with what stands for variables"
            ),
        }
    }
}

impl Word {
    /// The word, with what stands for its variables.
    ///
    /// # Errors
    /// A variable is not set, or the word would be too long.
    pub fn expand(&self, variables: &Variables) -> Result<String, Meaningless> {
        let mut out = String::new();
        if let Some(name) = &self.name {
            out.push_str(name);
            out.push('=');
        }
        out.push_str(&self.value(variables)?);
        Ok(out)
    }

    /// What a word that gives a variable its value is for: its name.
    #[must_use]
    pub fn sets(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The value of such a word; else the word itself.
    ///
    /// # Errors
    /// A variable is not set, or the word would be too long.
    pub fn value(&self, variables: &Variables) -> Result<String, Meaningless> {
        let status = variables.status.to_string();
        let mut out = String::new();
        for part in &self.parts {
            let (text, _) = part.text(variables, &status)?;
            if out.len() + text.len() > LONGEST {
                return Err(Meaningless::TooLong);
            }
            out.push_str(text);
        }
        Ok(out)
    }

    /// What the word's wildcards mean; `None` if it has none, or gives a variable its value.
    ///
    /// # Errors
    /// A variable is not set, or the word would be too long.
    pub fn glob(&self, variables: &Variables) -> Result<Option<Glob>, Meaningless> {
        let wild =
            |part: &Part| matches!(part, Part::Plain(text) if text.contains(['*', '?', '[']));
        if self.name.is_some() || !self.parts.iter().any(wild) {
            return Ok(None);
        }
        let status = variables.status.to_string();
        let (mut chars, mut bytes) = (Vec::new(), 0);
        for part in &self.parts {
            let (text, plain) = part.text(variables, &status)?;
            bytes += text.len();
            if bytes > LONGEST {
                return Err(Meaningless::TooLong);
            }
            chars.extend(text.chars().map(|c| (c, plain)));
        }
        Ok(Glob::of(&chars))
    }

    pub(super) fn is_number(&self) -> bool {
        let digits = |part: &Part| match part {
            Part::Text(text) | Part::Plain(text) => text.bytes().all(|byte| byte.is_ascii_digit()),
            _ => false,
        };
        let some = |part: &Part| matches!(part, Part::Text(t) | Part::Plain(t) if !t.is_empty());
        self.name.is_none() && self.parts.iter().all(digits) && self.parts.iter().any(some)
    }

    /// Adds a quoted character.
    pub(super) fn push(&mut self, c: char) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push(c),
            _ => self.parts.push(Part::Text(c.into())),
        }
    }

    /// Adds a character that is not quoted.
    pub(super) fn push_plain(&mut self, c: char) {
        match self.parts.last_mut() {
            Some(Part::Plain(text)) => text.push(c),
            _ => self.parts.push(Part::Plain(c.into())),
        }
    }
}
