//! Words, before what stands for their variables is known.

use crate::variables::Variables;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text.
    Text(String),
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
                Part::Text(text) => out.push_str(text),
                Part::Status => out.push_str(&variables.status.to_string()),
                Part::Variable(name) => {
                    let value = variables.get(name);
                    out.push_str(value.ok_or_else(|| NotSet(name.clone()))?);
                }
            }
        }
        Ok(out)
    }

    pub(super) fn is_number(&self) -> bool {
        let digits =
            |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        matches!(&self.parts[..], [Part::Text(text)] if digits(text)) && self.name.is_none()
    }

    pub(super) fn push(&mut self, c: char) {
        if let Some(Part::Text(text)) = self.parts.last_mut() {
            text.push(c);
        } else {
            self.parts.push(Part::Text(c.into()));
        }
    }
}
