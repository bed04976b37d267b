//! The parameters of a program: what may stand behind its name on a command line ([O] 5.2.1).
//!
//! A program declares them in its source. They become a table in the program itself, which checks
//! its own words, and a part of its manifest, with which a shell checks the words before it makes
//! a process, explains them, and completes them. Both read words and print the usage by the
//! functions here, so that they say the same.
//!
//! In a module they are JSON text in the custom section `singularity.parameters`: any number of
//! lists, one behind the other. A module without that section declares nothing, and its words are
//! not checked by others; one with an empty list takes no words.
//!
//! Invariants:
//! - Reading and explaining use the same declarations, and nothing else decides which words are
//!   understood.
//! - What [`check`] accepts is bounded in every count and length, and has no control characters:
//!   it can be printed on a terminal.

mod check;
mod read;

pub use check::{MOST, check};
pub use read::{Next, Refused, is_number, line, next, places, read, refusal, text};

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// How often a parameter is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Count {
    /// An option without a value: there or not.
    Flag,
    /// An option that the next word is the value of. It stands once or not at all.
    Valued,
    /// Once.
    #[default]
    One,
    /// Once, or not at all.
    Optional,
    /// Any number of times: all words that are left.
    Many,
    /// At least once: all words that are left.
    Some,
}

impl Count {
    /// Whether it is an option: a word that begins with `-`, at any place.
    #[must_use]
    pub fn is_option(self) -> bool {
        matches!(self, Count::Flag | Count::Valued)
    }

    /// Whether it takes all words that are left.
    #[must_use]
    pub fn takes_the_rest(self) -> bool {
        matches!(self, Count::Many | Count::Some)
    }
}

/// A kind of value, with its texts in `T` and its words in `W`: a table in a program borrows both,
/// a manifest owns them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind<T = String, W = Vec<String>> {
    /// Any text.
    #[default]
    Text,
    /// A path in the name space.
    Path,
    /// The name of a program.
    Program,
    /// A text of which the program alone knows whether it is a value; described so.
    Other(T),
    /// A whole number, with the bounds of its type, which the description leaves out.
    Whole {
        /// The least.
        least: i64,
        /// The largest.
        most: u64,
    },
    /// A whole number from a range.
    Range {
        /// The least.
        least: i64,
        /// The largest.
        most: u64,
    },
    /// A finite number.
    Number,
    /// A length of time, in seconds.
    Seconds,
    /// One of these words.
    Choice(W),
    /// A path specification: a path whose parts may be patterns, which the program looks for.
    Pattern,
    /// The number or name of a process.
    Process,
    /// The name of a service that the service manager knows.
    Service,
}

/// Words of which one is chosen.
pub trait Words {
    /// Calls a function with each, until it returns `true`; whether it did.
    fn any(&self, f: impl FnMut(&str) -> bool) -> bool;
}

impl Words for Vec<String> {
    fn any(&self, mut f: impl FnMut(&str) -> bool) -> bool {
        self.iter().any(|word| f(word))
    }
}

impl Words for &[&str] {
    fn any(&self, mut f: impl FnMut(&str) -> bool) -> bool {
        self.iter().any(|word| f(word))
    }
}

impl<T: AsRef<str>, W: Words> Kind<T, W> {
    /// The kind in words: `a whole number`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Kind::Text => "a text".into(),
            Kind::Path => "a path".into(),
            Kind::Pattern => "a path or a pattern".into(),
            Kind::Program => "a program".into(),
            // For who types `kill -9 5`.
            Kind::Process => {
                "the number or name of a process, as `ps` shows it (there are no signals)".into()
            }
            Kind::Service => "a service".into(),
            Kind::Other(text) => text.as_ref().into(),
            Kind::Whole { .. } => "a whole number".into(),
            Kind::Range { least: 1, most } if *most >= u32::MAX.into() => {
                "a whole number above zero".into()
            }
            Kind::Range { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Number => "a number".into(),
            Kind::Seconds => "a number of seconds".into(),
            Kind::Choice(words) => {
                let mut text = String::from("one of: ");
                let mut first = true;
                words.any(|word| {
                    if !core::mem::take(&mut first) {
                        text.push_str(", ");
                    }
                    text.push_str(word);
                    false
                });
                text
            }
        }
    }

    /// Whether a text is a value, as far as the kind says. A program does not ask this: it parses
    /// by its own types, which accept the same.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        match self {
            Kind::Text
            | Kind::Path
            | Kind::Pattern
            | Kind::Program
            | Kind::Service
            | Kind::Other(_) => true,
            Kind::Process => !text.is_empty() && !text.starts_with(['-', '+']),
            Kind::Whole { least, most } | Kind::Range { least, most } => {
                // An unsigned type has no minus sign, not even before a zero.
                let sign = *least >= 0 && text.starts_with('-');
                let value: Option<i128> = text.parse().ok().filter(|_| !sign);
                value.is_some_and(|v| (i128::from(*least)..=i128::from(*most)).contains(&v))
            }
            Kind::Number => number(text).is_some(),
            Kind::Seconds => number(text).is_some_and(|n| Duration::try_from_secs_f64(n).is_ok()),
            Kind::Choice(words) => words.any(|word| word == text),
        }
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|n: &f64| n.is_finite())
}

/// A declared parameter, wherever it is kept.
pub trait Declaration {
    /// The texts of its kind.
    type Text: AsRef<str>;
    /// The words of its kind.
    type Words: Words;

    /// Its name in the usage: of a flag, the word itself; of an option with a value, the word and
    /// a name of the value, as in `-n LINES`.
    fn name(&self) -> &str;
    /// How often it is given.
    fn count(&self) -> Count;
    /// The kind of its values.
    fn kind(&self) -> &Kind<Self::Text, Self::Words>;
    /// Its value if it is left out.
    fn if_left_out(&self) -> Option<&str>;
    /// Its meaning.
    fn help(&self) -> &str;
    /// Whether a text is a value.
    fn accepts(&self, text: &str) -> bool;

    /// The word that a person types for it, if it is an option.
    fn option(&self) -> Option<&str> {
        let name = self.name();
        let word = name.find(' ').map_or(name, |at| &name[..at]);
        self.count().is_option().then_some(word)
    }
}

/// A parameter in a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name, as [`Declaration::name`] says.
    pub name: String,
    /// How often it is given.
    #[serde(default)]
    pub count: Count,
    /// The kind of its values; a flag has none.
    #[serde(default)]
    pub kind: Kind,
    /// Its value if it is left out.
    #[serde(default)]
    pub default: Option<String>,
    /// Its meaning.
    #[serde(default)]
    pub help: String,
}

impl Declaration for Parameter {
    type Text = String;
    type Words = Vec<String>;

    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self) -> Count {
        self.count
    }

    fn kind(&self) -> &Kind {
        &self.kind
    }

    fn if_left_out(&self) -> Option<&str> {
        self.default.as_deref()
    }

    fn help(&self) -> &str {
        &self.help
    }

    fn accepts(&self, text: &str) -> bool {
        self.kind.accepts(text)
    }
}
