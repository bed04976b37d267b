//! The arguments of a program, declared once: names, types, defaults and help ([O] 5.2.1).
//!
//! [`arguments!`](crate::arguments) makes a table ([`Usage`]) and a structure with the values of a declaration. A word that
//! fits no declaration is refused with the usage and status 2 before the program does anything;
//! `--help` prints the usage.
//!
//! Invariants:
//! - Parsing and the text of the usage read the same table, and nothing else decides which words
//!   are understood.
//! - An argument that is understood has a value of its type; a word that has none is wrong use, not
//!   a default.

mod declare;

use crate::process::status::USAGE;
use crate::{args, eprintln, println};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// A value that an argument can have.
pub trait Value: Sized {
    /// The kind of value, for the person who gave something else.
    const KIND: &'static str;

    /// The value that a text means.
    fn parse(text: &str) -> Option<Self>;
}

/// The kind of an integer. Its bounds are those of its type, and no part of the usage.
const WHOLE: &str = "a whole number";

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Value for $t {
            const KIND: &'static str = WHOLE;
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 i32 i64 usize);

impl Value for f64 {
    const KIND: &'static str = "a number";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|n: &f64| n.is_finite())
    }
}

impl Value for core::num::NonZeroU32 {
    const KIND: &'static str = "a whole number above zero";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Value for String {
    const KIND: &'static str = "a text";
    fn parse(text: &str) -> Option<Self> {
        Some(text.into())
    }
}

impl Value for core::time::Duration {
    const KIND: &'static str = "a number of seconds";
    fn parse(text: &str) -> Option<Self> {
        Self::try_from_secs_f64(f64::parse(text)?).ok()
    }
}

/// How often an argument stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// An option without a value: there or not.
    Flag,
    /// An option that the next word is the value of. It stands once or not at all.
    Valued,
    /// Once.
    One,
    /// Once, or not at all.
    Optional,
    /// Any number of times.
    Many,
    /// At least once.
    Some,
}

/// An argument that a program takes.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name in the usage; of an option, the word itself.
    pub name: &'static str,
    /// How often.
    pub count: Count,
    /// The kind of its values.
    pub kind: &'static str,
    /// Its value if it is left out.
    pub default: Option<&'static str>,
    /// Its meaning.
    pub help: &'static str,
    /// Whether a text is a value.
    pub accepts: fn(&str) -> bool,
}

impl Argument {
    /// The option that a person types for it, if it is one.
    fn option(&self) -> Option<&str> {
        match self.count {
            Count::Flag | Count::Valued => self.name.split(' ').next(),
            _ => None,
        }
    }

    /// Why a text is no value.
    fn refusal(&self, text: &str) -> String {
        let (below, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        match (self.kind == WHOLE && whole, below) {
            (true, true) => format!("{}: {text} is too small", self.name),
            (true, false) => format!("{}: {text} is too large", self.name),
            (false, _) => format!("{}: {text} is not {}", self.name, self.kind),
        }
    }
}

/// The arguments that a program takes.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The arguments, those that are no options in their order.
    pub arguments: &'static [Argument],
}

/// The structure that [`arguments!`](crate::arguments) makes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared by `arguments!`",
    label = "not the arguments of a program",
    note = "`main` takes nothing, or the `Arguments` that `arguments!` makes"
)]
pub trait Declared: Sized {
    /// Reads the program's arguments.
    ///
    /// # Errors
    /// The exit code of the program, if they are not understood or the usage is asked for. The text
    /// for the person has been printed.
    fn get() -> Result<Self, i32>;
}

/// The values of each declared argument, as they were given.
#[derive(Debug)]
pub struct Given {
    values: Vec<Vec<String>>,
}

impl Given {
    /// Whether an argument stands there at all.
    #[must_use]
    pub fn is_given(&self, place: usize) -> bool {
        self.values.get(place).is_some_and(|v| !v.is_empty())
    }

    /// The values of an argument; all of them are of its type.
    pub fn values<T: Value>(&self, place: usize) -> impl Iterator<Item = T> + '_ {
        let values = self.values.get(place).map_or(&[][..], Vec::as_slice);
        values.iter().filter_map(|text| T::parse(text))
    }
}

/// Why there are no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// `--help` asks for the usage.
    Help,
    /// The arguments are wrong, for this reason.
    Wrong(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Help => f.write_str("the usage is asked for"),
            Refused::Wrong(reason) => f.write_str(reason),
        }
    }
}

impl Usage {
    /// Reads arguments, the program's name not among them.
    ///
    /// # Errors
    /// The words are wrong, or ask for the usage.
    pub fn read(&self, given: &[String]) -> Result<Given, Refused> {
        let wrong = |text| Err(Refused::Wrong(text));
        let mut values: Vec<Vec<String>> = self.arguments.iter().map(|_| Vec::new()).collect();
        let mut options = true;
        let mut words = given.iter();
        while let Some(text) = words.next() {
            let is_option = options && text.len() > 1 && text.starts_with('-');
            if is_option && text == "--" {
                options = false;
                continue;
            }
            let named = |a: &Argument| a.option() == Some(text);
            if let Some(place) = self.arguments.iter().position(|a| is_option && named(a)) {
                let a = &self.arguments[place];
                if a.count == Count::Flag {
                    values[place].push(text.clone());
                    continue;
                }
                match words.next() {
                    _ if !values[place].is_empty() => return wrong(format!("{text} stands twice")),
                    None => return wrong(format!("{}: the value is missing", a.name)),
                    Some(value) if (a.accepts)(value) => values[place].push(value.clone()),
                    Some(value) => return wrong(a.refusal(value)),
                }
                continue;
            }
            if is_option && matches!(text.as_str(), "--help" | "-h") {
                return Err(Refused::Help);
            }
            // The first that has room. A number below zero looks like an option, and may be a
            // value.
            let next = self.arguments.iter().enumerate().position(|(i, a)| {
                let has_room = matches!(a.count, Count::Many | Count::Some) || values[i].is_empty();
                a.option().is_none() && has_room
            });
            match next.map(|i| (i, &self.arguments[i])) {
                Some((i, a)) if (a.accepts)(text) && (!is_option || is_number(text)) => {
                    values[i].push(text.clone());
                }
                _ if is_option && !is_number(text) => {
                    return wrong(format!("unknown option {text}"));
                }
                Some((_, a)) => return wrong(a.refusal(text)),
                None => return wrong(format!("one argument too many: {text}")),
            }
        }
        for (a, values) in self.arguments.iter().zip(&values) {
            if matches!(a.count, Count::One | Count::Some) && values.is_empty() {
                return wrong(format!("{} is missing", a.name));
            }
        }
        Ok(Given { values })
    }

    /// One line: how the program is called.
    #[must_use]
    pub fn line(&self, program: &str) -> String {
        let mut line = format!("usage: {program}");
        for a in self.arguments {
            let name = a.name;
            // Writing to a string does not fail.
            let _ = match a.count {
                Count::Flag | Count::Valued | Count::Optional => write!(line, " [{name}]"),
                Count::One => write!(line, " {name}"),
                Count::Many => write!(line, " [{name}…]"),
                Count::Some => write!(line, " {name}…"),
            };
        }
        line
    }

    /// All that is to be said of the arguments.
    #[must_use]
    pub fn text(&self, program: &str) -> String {
        let mut text = self.line(program);
        for a in self.arguments {
            let _ = write!(text, "\n  {:<12} {}", a.name, a.help.trim());
            if a.count != Count::Flag {
                let _ = write!(text, " ({}", a.kind);
                if let Some(default) = a.default {
                    let _ = write!(text, "; {default} if left out");
                }
                text.push(')');
            }
        }
        text
    }

    /// Reads the program's own arguments. If they are not understood, or the usage is asked for,
    /// says so.
    ///
    /// # Errors
    /// The exit code with which the program is to end.
    pub fn get(&self) -> Result<Given, i32> {
        self.read(&args::rest()).map_err(|refused| match refused {
            Refused::Help => {
                println!("{}", self.text(&program()));
                0
            }
            Refused::Wrong(reason) => self.refuse(&reason),
        })
    }

    /// Refuses the program's arguments for a reason that the table cannot hold; the exit code with
    /// which it is to end.
    #[must_use]
    pub fn refuse(&self, reason: &str) -> i32 {
        eprintln!("{}", self.refusal(&program(), reason));
        USAGE
    }

    /// The reason, and how the program is called.
    #[must_use]
    pub fn refusal(&self, program: &str, reason: &str) -> String {
        format!("{program}: {reason}\n{}", self.line(program))
    }
}

/// Whether a word that begins like an option is a number below zero. It is not parsed here: the
/// tables for that would be in the memory of every program.
fn is_number(text: &str) -> bool {
    let rest = text.strip_prefix('-').unwrap_or(text);
    let digits = rest.strip_prefix('.').unwrap_or(rest);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// The program's name.
fn program() -> String {
    args::get(0).unwrap_or_default()
}

#[doc(hidden)]
pub use alloc::vec::Vec as Values;

#[cfg(test)]
mod tests {
    use super::*;

    crate::arguments! {
        /// Whether.
        all: flag "-a";
        /// How often.
        rounds: default u32 = 3, "ROUNDS";
        /// By how much.
        by: optional i32 "BY";
        /// What.
        what: many String "WHAT";
        /// From where.
        from: option String "--from PLACE";
    }

    fn read(line: &str) -> Result<Arguments, Refused> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        USAGE.read(&words).map(|given| Arguments::of(&given))
    }

    fn wrong(line: &str) -> String {
        match read(line) {
            Err(Refused::Wrong(what)) => what,
            Err(Refused::Help) => "help".into(),
            Ok(_) => "understood".into(),
        }
    }

    #[test]
    fn what_is_declared_is_understood() {
        let a = read("").unwrap();
        assert!(!a.all && a.rounds == 3 && a.by.is_none() && a.what.is_empty());
        let a = read("7 -a -5 x y").unwrap();
        assert!(a.all && a.rounds == 7 && a.by == Some(-5) && a.what == ["x", "y"]);
        let a = read("7 --from -a 1 x").unwrap();
        assert!(!a.all && a.from.as_deref() == Some("-a") && a.by == Some(1) && a.what == ["x"]);
        let a = read("7 1 -- -a --help").unwrap();
        assert!(!a.all && a.what == ["-a", "--help"]);
    }

    #[test]
    fn what_is_not_declared_is_refused() {
        assert_eq!(wrong("-3"), "ROUNDS: -3 is too small");
        assert_eq!(wrong("4294967296"), "ROUNDS: 4294967296 is too large");
        assert_eq!(wrong("1 2147483648"), "BY: 2147483648 is too large");
        assert_eq!(wrong("-"), "ROUNDS: - is not a whole number");
        assert_eq!(wrong("-3x"), "ROUNDS: -3x is not a whole number");
        assert_eq!(wrong("--3"), "unknown option --3");
        assert_eq!(wrong("many"), "ROUNDS: many is not a whole number");
        assert_eq!(wrong("--fast"), "unknown option --fast");
        assert_eq!(wrong("--from"), "--from PLACE: the value is missing");
        assert_eq!(wrong("--from a --from b"), "--from stands twice");
        assert_eq!(wrong("3 --help"), "help");
        const NONE: Usage = Usage { arguments: &[] };
        assert_eq!(
            NONE.read(&["x".into()]).unwrap_err(),
            Refused::Wrong("one argument too many: x".into())
        );
    }

    #[test]
    fn the_usage_says_all() {
        assert_eq!(
            USAGE.line("p"),
            "usage: p [-a] [ROUNDS] [BY] [WHAT…] [--from PLACE]"
        );
        let text = USAGE.text("p");
        for part in [
            "-a",
            "How often. (a whole number; 3 if left out)",
            "What. (a text)",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
