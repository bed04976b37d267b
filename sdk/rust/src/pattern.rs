//! Path specifications: which paths a Find or a Notify means ([O] 5.3).
//!
//! A specification is a path whose parts may be patterns: `*` is any run of characters within a
//! name, `?` one character, `[a-z]` one of these and `[!a-z]` one of no others, and `**` as a whole
//! part any number of parts. A `[` without its `]` is a character like others; `[*]` is a star.
//!
//! The parts before the first pattern name a directory ([`split`]), which is looked up like any
//! path, through links and mounted name servers. The rest is matched name by name from there on:
//! a [`Pattern`] and the [`Places`] in it that a walk has reached.
//!
//! Invariants:
//! - No specification costs exponential time. Places are a set of at most 64 positions, so a step
//!   matches a name with each part at most once; a name of n characters costs a part of m
//!   characters n times m steps at most, and m is bounded.
//! - Directories are compared part by part ([`order`]), so that all below a name comes right after
//!   it: a walk can go on behind any path.

use crate::path;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// The most parts of a pattern: places are the bits of one word.
pub const MOST_PARTS: usize = 63;
/// The most bytes of all parts with wildcards together.
pub const MOST_WILD: usize = 255;

/// Why a text is no specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is no path: not absolute, or with a part `.` or `..` or a control character.
    NoPath,
    /// The path, the number of pattern parts or one of these is too long.
    TooLong,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    One(char),
    Any,
    Run,
    Set(bool, Vec<(char, char)>),
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Name(String),
    Glob(Vec<Token>),
    Deep,
}

/// Parts of a specification from its first pattern on.
#[derive(Debug, PartialEq, Eq)]
pub struct Pattern(Vec<Part>);

/// The places in a pattern that the names so far can have reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places(u64);

impl Places {
    /// Whether no further name can match.
    #[must_use]
    pub fn are_none(self) -> bool {
        self.0 == 0
    }
}

/// The normalized specification, divided: the path of the directory in which to look, and the
/// pattern of what is below it. Without wildcards the pattern is the last part; that of `/` is
/// empty.
///
/// # Errors
/// If the text is no specification.
pub fn split(spec: &str) -> Result<(String, String), Wrong> {
    if spec.len() > path::LONGEST {
        return Err(Wrong::TooLong);
    }
    let spec = path::normalize(spec).ok_or(Wrong::NoPath)?;
    let mut rest = &spec[1..];
    let mut directory = String::new();
    while let Some((part, behind)) = rest.split_once('/') {
        let Some(name) = name(part) else { break };
        directory.push('/');
        directory.push_str(&name);
        rest = behind;
    }
    if directory.is_empty() {
        directory.push('/');
    }
    // A dot in brackets is no way to go up, either.
    let directory = path::normalize(&directory).ok_or(Wrong::NoPath)?;
    Ok((directory, rest.into()))
}

/// The specification of a pattern below a directory: what [`split`] divides.
#[must_use]
pub fn under(directory: &str, pattern: &str) -> String {
    let mut spec = literal(directory.trim_end_matches('/'));
    spec.push('/');
    spec.push_str(pattern);
    spec
}

/// The only name that a part means, if it has no wildcards.
fn name(part: &str) -> Option<Cow<'_, str>> {
    if part.contains(['*', '?', '[']) {
        let name: Option<String> = tokens(part).iter().map(Token::name).collect();
        name.map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(part))
    }
}

/// Whether a specification means more than one path.
#[must_use]
pub fn is_pattern(spec: &str) -> bool {
    spec.split('/').any(|part| name(part).is_none())
}

/// The specification that means this path and no other.
#[must_use]
pub fn literal(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '*' | '?' | '[' => out.extend(['[', c, ']']),
            c => out.push(c),
        }
    }
    out
}

fn tokens(part: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = part.chars();
    while let Some(c) = rest.next() {
        out.push(match c {
            // A run of runs is one.
            '*' if out.last() == Some(&Token::Run) => continue,
            '*' => Token::Run,
            '?' => Token::Any,
            '[' => match set(rest.as_str()) {
                Some((token, behind)) => {
                    rest = behind.chars();
                    token
                }
                None => Token::One('['),
            },
            c => Token::One(c),
        });
    }
    out
}

/// The set whose text begins behind a `[`, and what is behind its `]`.
fn set(text: &str) -> Option<(Token, &str)> {
    let not = text.starts_with(['!', '^']);
    let inner = &text[usize::from(not)..];
    // The first character is one of the set, whatever it is.
    let first = inner.chars().next()?.len_utf8();
    let end = first + inner[first..].find(']')?;
    let mut chars = inner[..end].chars().peekable();
    let mut ranges = Vec::new();
    while let Some(from) = chars.next() {
        let mut ahead = chars.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(to)) => {
                ranges.push((from, to));
                chars = ahead;
            }
            _ => ranges.push((from, from)),
        }
    }
    // A set of one character is that character, so that `[*]` is a name like others.
    let token = match (not, &ranges[..]) {
        (false, [(from, to)]) if from == to => Token::One(*from),
        _ => Token::Set(not, ranges),
    };
    Some((token, &inner[end + 1..]))
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Token::One(own) => *own == c,
            Token::Any => true,
            Token::Run => false,
            Token::Set(not, ranges) => ranges.iter().any(|(a, b)| (*a..=*b).contains(&c)) != *not,
        }
    }
}

/// Whether a name is what the tokens mean. After a mismatch only the last run takes one character
/// more, since what the earlier ones took can stay as it is.
fn glob(tokens: &[Token], name: &str) -> bool {
    let (mut at, mut rest) = (0, name);
    let mut last: Option<(usize, &str)> = None;
    loop {
        let mut chars = rest.chars();
        match (tokens.get(at), chars.next()) {
            (None, None) => return true,
            (Some(Token::Run), _) => {
                at += 1;
                last = Some((at, rest));
            }
            (Some(token), Some(c)) if token.takes(c) => {
                at += 1;
                rest = chars.as_str();
            }
            _ => {
                let Some((behind, from)) = last else {
                    return false;
                };
                let mut from = from.chars();
                if from.next().is_none() {
                    return false;
                }
                rest = from.as_str();
                last = Some((behind, rest));
                at = behind;
            }
        }
    }
}

impl Pattern {
    /// The pattern of a specification, as [`split`] divides it.
    ///
    /// # Errors
    /// [`Wrong::TooLong`] for one with more or longer parts than can be matched.
    pub fn new(text: &str) -> Result<Pattern, Wrong> {
        let mut parts: Vec<Part> = Vec::new();
        // Of all parts with patterns together: matching compares a name with each of them.
        let mut globs = 0;
        for part in text.split('/').filter(|part| !part.is_empty()) {
            let next = match name(part) {
                // In brackets, these would slip past the look at the whole path.
                Some(name) if matches!(&*name, "." | "..") => return Err(Wrong::NoPath),
                Some(name) => Part::Name(name.into_owned()),
                None if part == "**" => Part::Deep,
                None => {
                    globs += part.len();
                    if globs > MOST_WILD {
                        return Err(Wrong::TooLong);
                    }
                    Part::Glob(tokens(part))
                }
            };
            // Any depth below any depth is any depth.
            if next != Part::Deep || parts.last() != Some(&Part::Deep) {
                parts.push(next);
            }
        }
        if parts.len() > MOST_PARTS {
            return Err(Wrong::TooLong);
        }
        Ok(Pattern(parts))
    }

    /// The places before the first name.
    #[must_use]
    pub fn start(&self) -> Places {
        Places(self.with_skipped(1))
    }

    /// The places after one more name.
    #[must_use]
    pub fn step(&self, from: Places, name: &str) -> Places {
        let mut to = 0;
        for (at, part) in self.0.iter().enumerate() {
            if from.0 & 1 << at == 0 {
                continue;
            }
            match part {
                Part::Name(own) if own == name => to |= 1 << (at + 1),
                Part::Glob(tokens) if glob(tokens, name) => to |= 1 << (at + 1),
                // As the last part it means what is below, so it takes one name at least.
                Part::Deep if at + 1 == self.0.len() => to |= 1 << at | 1 << (at + 1),
                Part::Deep => to |= 1 << at,
                Part::Name(_) | Part::Glob(_) => {}
            }
        }
        Places(self.with_skipped(to))
    }

    /// The places after all parts of a relative path.
    #[must_use]
    pub fn follow(&self, mut from: Places, path: &str) -> Places {
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if from.are_none() {
                break;
            }
            from = self.step(from, name);
        }
        from
    }

    /// A part for any depth may also be for none, except the last.
    fn with_skipped(&self, mut places: u64) -> u64 {
        for (at, part) in self.0.iter().enumerate() {
            if *part == Part::Deep && at + 1 < self.0.len() && places & 1 << at != 0 {
                places |= 1 << (at + 1);
            }
        }
        places
    }

    /// Whether the names so far match.
    #[must_use]
    pub fn matches(&self, places: Places) -> bool {
        places.0 & 1 << self.0.len() != 0
    }

    /// Whether something below may match.
    #[must_use]
    pub fn goes_on(&self, places: Places) -> bool {
        places.0 & !(1 << self.0.len()) != 0
    }

    /// Whether a path that begins with the names of this relative one matches, or it does itself.
    #[must_use]
    pub fn meets(&self, path: &str) -> bool {
        let mut places = self.start();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if self.matches(places) || places.are_none() {
                break;
            }
            places = self.step(places, name);
        }
        self.matches(places)
    }

    /// The only name that can match next, if there is only one.
    #[must_use]
    pub fn only(&self, places: Places) -> Option<&str> {
        let below = places.0 & !(1 << self.0.len());
        match self.0.get(below.trailing_zeros() as usize) {
            Some(Part::Name(name)) if below.is_power_of_two() => Some(name),
            _ => None,
        }
    }

    /// Whether something may match below the next name.
    #[must_use]
    pub fn is_deeper(&self, places: Places) -> bool {
        let last = self.0.len().saturating_sub(1);
        places.0 & !(1 << last | 1 << self.0.len()) != 0 || self.0.last() == Some(&Part::Deep)
    }

    /// What it costs to match one byte of a name, at most.
    #[must_use]
    pub fn weight(&self, places: Places) -> usize {
        let parts = self.0.iter().enumerate();
        let active = parts.filter(|(at, _)| places.0 & 1 << at != 0);
        active
            .map(|(_, part)| match part {
                Part::Glob(tokens) => tokens.iter().map(Token::weight).sum(),
                Part::Name(_) | Part::Deep => 1,
            })
            .sum()
    }
}

impl Token {
    /// Comparisons with a character, at most.
    fn weight(&self) -> usize {
        match self {
            Token::Set(_, ranges) => 1 + ranges.len(),
            _ => 1,
        }
    }

    fn name(&self) -> Option<char> {
        match self {
            Token::One(c) => Some(*c),
            _ => None,
        }
    }
}

/// The order of a walk: part by part, a directory before what is below it.
#[must_use]
pub fn order(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

#[cfg(test)]
#[path = "pattern/tests.rs"]
mod tests;
