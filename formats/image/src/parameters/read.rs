//! Reading words by declarations, and the texts that explain them.

use super::{Count, Declaration, Kind};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// Why there are no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// `--help` asks for the usage.
    Help,
    /// The words are wrong, for this reason.
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

/// The next declaration that a word which is no option belongs to: the first that has room.
fn with_room<D: Declaration>(all: &[D], has_value: impl Fn(usize) -> bool) -> Option<usize> {
    let mut all = all.iter().enumerate();
    all.find(|(i, d)| !d.count().is_option() && (d.count().takes_the_rest() || !has_value(*i)))
        .map(|(i, _)| i)
}

/// Whether a word looks like an option.
fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

/// Reads words, the program's name not among them: the values of each declaration.
///
/// # Errors
/// The words are wrong, or ask for the usage.
pub fn read<D: Declaration>(all: &[D], given: &[String]) -> Result<Vec<Vec<String>>, Refused> {
    let wrong = |text| Err(Refused::Wrong(text));
    let mut values: Vec<Vec<String>> = all.iter().map(|_| Vec::new()).collect();
    let mut options = true;
    let mut words = given.iter();
    while let Some(text) = words.next() {
        let is_option = options && is_option(text);
        if is_option && text == "--" {
            options = false;
            continue;
        }
        let named = |d: &D| d.option() == Some(text);
        if let Some(place) = all.iter().position(|d| is_option && named(d)) {
            let d = &all[place];
            if d.count() == Count::Flag {
                values[place].push(text.clone());
                continue;
            }
            match words.next() {
                _ if !values[place].is_empty() => return wrong(format!("{text} stands twice")),
                None => return wrong(format!("{}: the value is missing", d.name())),
                Some(value) if d.accepts(value) => values[place].push(value.clone()),
                Some(value) => return wrong(refused(d, value)),
            }
            continue;
        }
        if is_option && matches!(text.as_str(), "--help" | "-h") {
            return Err(Refused::Help);
        }
        // A number below zero looks like an option, and may be a value.
        let next = with_room(all, |i| !values[i].is_empty());
        match next.map(|i| (i, &all[i])) {
            Some((i, d)) if d.accepts(text) && (!is_option || is_number(text)) => {
                values[i].push(text.clone());
            }
            _ if is_option && !is_number(text) => {
                return wrong(format!("unknown option {text}"));
            }
            Some((_, d)) => return wrong(refused(d, text)),
            None => return wrong(format!("one argument too many: {text}")),
        }
    }
    for (d, values) in all.iter().zip(&values) {
        if matches!(d.count(), Count::One | Count::Some) && values.is_empty() {
            return wrong(format!("{} is missing", d.name()));
        }
    }
    Ok(values)
}

/// What may come behind words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The declaration that a word which is no option would be a value of.
    pub value: Option<usize>,
    /// Whether an option may stand there.
    pub option: bool,
}

/// What may come behind words. They may be wrong: a person may still change them.
pub fn next<D: Declaration>(all: &[D], given: &[String]) -> Next {
    walk(all, given, |_, _| {})
}

/// For each word, the declaration that it is a value of, if it is one's.
pub fn places<D: Declaration>(all: &[D], given: &[String]) -> Vec<Option<usize>> {
    let mut places: Vec<Option<usize>> = given.iter().map(|_| None).collect();
    walk(all, given, |word, place| places[word] = Some(place));
    places
}

/// Goes through words, and tells of each that is a value, by its place, of which declaration: what
/// may come behind them.
fn walk<D: Declaration>(all: &[D], given: &[String], mut value: impl FnMut(usize, usize)) -> Next {
    let mut has_value: Vec<bool> = all.iter().map(|_| false).collect();
    let mut option = true;
    let mut words = given.iter().enumerate();
    while let Some((word, text)) = words.next() {
        if option && text == "--" {
            option = false;
            continue;
        }
        let place = all.iter().position(|d| d.option() == Some(text));
        match place.filter(|_| option && is_option(text)) {
            Some(place) if all[place].count() == Count::Valued => match words.next() {
                Some((word, _)) => value(word, place),
                None => {
                    return Next {
                        value: Some(place),
                        option: false,
                    };
                }
            },
            Some(_) => {}
            None if option && is_option(text) && !is_number(text) => {}
            None => {
                if let Some(place) = with_room(all, |i| has_value[i]) {
                    has_value[place] = true;
                    value(word, place);
                }
            }
        }
    }
    Next {
        value: with_room(all, |i| has_value[i]),
        option,
    }
}

/// Why a text is no value.
fn refused<D: Declaration>(d: &D, text: &str) -> String {
    let (below, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match (whole && matches!(d.kind(), Kind::Whole { .. }), below) {
        (true, true) => format!("{}: {text} is too small", d.name()),
        (true, false) => format!("{}: {text} is too large", d.name()),
        (false, _) => format!("{}: {text} is not {}", d.name(), d.kind().describe()),
    }
}

/// Whether a word that begins like an option is a number below zero. It is not parsed here: the
/// tables for that would be in the memory of every program.
#[must_use]
pub fn is_number(text: &str) -> bool {
    let rest = text.strip_prefix('-').unwrap_or(text);
    let digits = rest.strip_prefix('.').unwrap_or(rest);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// One line: how the program is called.
pub fn line<D: Declaration>(all: &[D], program: &str) -> String {
    let mut line = format!("usage: {program}");
    for d in all {
        let name = d.name();
        // Writing to a string does not fail.
        let _ = match d.count() {
            Count::Flag | Count::Valued | Count::Optional => write!(line, " [{name}]"),
            Count::One => write!(line, " {name}"),
            Count::Many => write!(line, " [{name}…]"),
            Count::Some => write!(line, " {name}…"),
        };
    }
    line
}

/// All that is to be said of the words.
pub fn text<D: Declaration>(all: &[D], program: &str) -> String {
    let mut text = line(all, program);
    for d in all {
        let _ = write!(text, "\n  {:<12} {}", d.name(), d.help().trim());
        if d.count() != Count::Flag {
            let _ = write!(text, " ({}", d.kind().describe());
            if let Some(default) = d.if_left_out() {
                let _ = write!(text, "; {default} if left out");
            }
            text.push(')');
        }
    }
    text
}

/// The reason, and how the program is called.
pub fn refusal<D: Declaration>(all: &[D], program: &str, reason: &str) -> String {
    format!("{program}: {reason}\n{}", line(all, program))
}
