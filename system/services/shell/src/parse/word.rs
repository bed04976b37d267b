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

/// A word, before its variables and its `$?` are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// In `NAME=VALUE`, the name.
    pub(super) name: Option<String>,
    pub(super) parts: Vec<Part>,
}

/// There is no variable of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSet(pub String);

impl fmt::Display for NotSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.0;
        write!(f, "${name} is not set; {name}=VALUE does")
    }
}

impl Word {
    /// The word, with what stands for its variables.
    ///
    /// # Errors
    /// A variable is not set.
    pub fn expand(&self, variables: &Variables) -> Result<String, NotSet> {
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
    /// A variable is not set.
    pub fn value(&self, variables: &Variables) -> Result<String, NotSet> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) | Part::Plain(text) => out.push_str(text),
                Part::Status => out.push_str(&variables.status.to_string()),
                Part::Variable(name) => {
                    let value = variables.get(name);
                    out.push_str(value.ok_or_else(|| NotSet(name.clone()))?);
                }
            }
        }
        Ok(out)
    }

    /// What the word's wildcards mean; `None` if it has none, or gives a variable its value.
    ///
    /// # Errors
    /// A variable is not set.
    pub fn glob(&self, variables: &Variables) -> Result<Option<Glob>, NotSet> {
        let status = variables.status.to_string();
        let mut chars = Vec::new();
        for part in &self.parts {
            let (text, plain) = match part {
                Part::Text(text) => (text.as_str(), false),
                Part::Plain(text) => (text.as_str(), true),
                Part::Status => (status.as_str(), false),
                Part::Variable(name) => {
                    let value = variables.get(name);
                    (value.ok_or_else(|| NotSet(name.clone()))?, false)
                }
            };
            chars.extend(text.chars().map(|c| (c, plain)));
        }
        Ok(match self.name {
            Some(_) => None,
            None => Glob::of(&chars),
        })
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
