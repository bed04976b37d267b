//! Answering a Find: a walk through directories, in pieces.
//!
//! Whoever has directories says what is in them ([`Directories`]); the walk matches the names with
//! the pattern, goes down where something below may match, and stops when the piece is full or
//! enough has been looked at. Where to go on is a path, so that nothing is kept between pieces.
//!
//! Invariants:
//! - Names come in one order ([`pattern::order`]), each at most once in all pieces. A name that is
//!   there during the whole walk is found; one that is made or removed meanwhile may be.
//! - A piece is bounded in names, bytes and work, whatever the directories hold.
//! - Links are found and not followed, so that a walk ends.

use crate::Error;
use crate::contracts::{FindResponse, NameKind, Refusal};
use crate::path;
use crate::pattern::{self, Pattern, Places};
use crate::rt::{Text, Vector};
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// The most names in a piece.
pub const NAMES: usize = 256;
/// The most bytes of text in a piece; a single name may be longer.
pub const BYTES: usize = 16 << 10;
/// How much is looked at for a piece: names, and comparisons of [`WORK_BYTES`].
pub const WORK: usize = 2048;
/// So many bytes of a name, compared with one place of a pattern, are as much work as a name.
pub const WORK_BYTES: usize = 64;
/// Names that are asked for at a time: where the walk goes down it asks again behind the directory.
const AHEAD: usize = 256;
const AHEAD_DEEP: usize = 8;

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, without a `/`.
    pub name: String,
    /// What it names.
    pub kind: NameKind,
    /// A link's target or a service's contract, if it is known.
    pub detail: String,
    /// The directory is another server's: the walk ends before what is below it.
    pub foreign: bool,
}

impl Entry {
    /// A directory.
    #[must_use]
    pub fn directory(name: &str) -> Entry {
        Entry::new(name, NameKind::Directory, "")
    }

    /// A service of a contract; an empty one is not known.
    #[must_use]
    pub fn service(name: &str, contract: &str) -> Entry {
        Entry::new(name, NameKind::Service, contract)
    }

    /// A symbolic link.
    #[must_use]
    pub fn link(name: &str, target: &str) -> Entry {
        Entry::new(name, NameKind::Link, target)
    }

    fn new(name: &str, kind: NameKind, detail: &str) -> Entry {
        let (name, detail) = (name.into(), detail.into());
        Entry {
            name,
            kind,
            detail,
            foreign: false,
        }
    }
}

/// Directories through which a walk goes. Paths are normalized.
pub trait Directories {
    /// At most so many names directly below a directory, in order of their bytes, those after
    /// `after`; fewer only at the end.
    ///
    /// # Errors
    /// If there is no such directory.
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal>;

    /// One name of a directory.
    ///
    /// # Errors
    /// If there is no such directory.
    fn entry(&mut self, at: &str, name: &str) -> Result<Option<Entry>, Refusal> {
        let mut after: Option<String> = None;
        loop {
            let names = self.list(at, after.as_deref(), AHEAD)?;
            let last = names.last().map(|e| e.name.clone());
            if let Some(found) = names.into_iter().find(|e| e.name == name) {
                return Ok(Some(found));
            }
            match last {
                Some(last) if last.as_str() < name => after = Some(last),
                _ => return Ok(None),
            }
        }
    }
}

/// A walk, or the rest of one.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    /// The directory in which it begins, and of which paths of results are relative.
    pub directory: &'a str,
    /// What it looks for.
    pub pattern: &'a Pattern,
    /// The names, already matched, that lead from where the specification begins to the directory.
    pub at: &'a str,
    /// Where to go on: behind this path, or with a `/` at its end behind all below it.
    pub after: &'a str,
}

/// How a piece ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing else matches.
    Complete,
    /// There may be more behind this path.
    More(String),
    /// What comes next is below this directory of another server.
    Foreign(String),
}

/// Results of a walk.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    records: Vec<FindResponse>,
    text: String,
}

impl Piece {
    /// How many results it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The paths of its results, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let mut at = 0;
        self.records.iter().map(move |found| {
            let path = &self.text[at..at + found.path as usize];
            at += (found.path + found.detail) as usize;
            path
        })
    }

    /// Adds a result; false if it does not fit, and the piece ends before it.
    pub fn push(&mut self, path: &str, kind: NameKind, detail: &str) -> bool {
        let full = self.text.len() + path.len() + detail.len() > BYTES || self.len() == NAMES;
        if full && !self.is_empty() {
            return false;
        }
        self.text.push_str(path);
        self.text.push_str(detail);
        self.records.push(FindResponse {
            kind,
            path: path.len() as u32,
            detail: detail.len() as u32,
        });
        true
    }

    /// As the arguments of an AckFind: how many results, the results, their text.
    ///
    /// # Errors
    /// [`Error::NoResources`] if memory is short.
    pub fn into_blocks(self) -> Result<(u32, Vector<FindResponse>, Text), Error> {
        let count = self.len() as u32;
        // No block is empty.
        let results = match &self.records[..] {
            [] => Vector::new(1)?,
            records => Vector::from_slice(records)?,
        };
        Ok((count, results, Text::new(&self.text)?))
    }
}

/// A directory on the way from the beginning to where the walk is.
struct Frame {
    /// The length of its relative path.
    len: usize,
    places: Places,
    /// The last name that was looked at.
    after: Option<String>,
}

impl Walk<'_> {
    /// The next piece.
    ///
    /// # Errors
    /// If there is no directory in which to begin.
    pub fn piece(&self, names: &mut impl Directories) -> Result<(Piece, End), Refusal> {
        if !path::is_relative(self.at) || !path::is_relative(self.after) {
            return Err(Refusal::BadPath);
        }
        let pattern = self.pattern;
        let start = pattern.follow(pattern.start(), self.at);
        let mut piece = Piece::default();
        let (mut here, mut stack) = self.resume(start);
        if self.after.is_empty() && self.at.is_empty() && pattern.matches(start) {
            piece.push("", NameKind::Directory, "");
        }
        // Where there is no directory to begin with, the request is refused; one that goes away
        // during the walk is at its end.
        if stack.len() == 1 && stack[0].after.is_none() && !pattern.goes_on(start) {
            names.list(self.directory, None, 1)?;
            return Ok((piece, End::Complete));
        }
        let mut ahead: VecDeque<Entry> = VecDeque::new();
        let mut done = String::from(self.after);
        let mut work = 0;
        while let Some(frame) = stack.last_mut() {
            here.truncate(frame.len);
            let Some(entry) = self.next(names, frame, &here, &mut ahead, &mut work)? else {
                stack.pop();
                ahead.clear();
                continue;
            };
            if !path::is_relative(&entry.name) {
                // No path can name it: a file system may hold such a thing all the same.
                frame.after = Some(entry.name);
                work += 1;
                continue;
            }
            let next = pattern.step(frame.places, &entry.name);
            work += 1 + entry.name.len() * pattern.weight(frame.places) / WORK_BYTES;
            if !here.is_empty() {
                here.push('/');
            }
            here.push_str(&entry.name);
            if pattern.matches(next) && !piece.push(&here, entry.kind, &entry.detail) {
                return Ok((piece, End::More(done)));
            }
            frame.after = Some(entry.name);
            done.clone_from(&here);
            if entry.kind == NameKind::Directory && pattern.goes_on(next) {
                if entry.foreign {
                    let end = if piece.is_empty() {
                        End::Foreign(done)
                    } else {
                        End::More(done)
                    };
                    return Ok((piece, end));
                }
                ahead.clear();
                stack.push(Frame {
                    len: here.len(),
                    places: next,
                    after: None,
                });
            }
            if work >= WORK {
                return Ok((piece, End::More(done)));
            }
        }
        Ok((piece, End::Complete))
    }

    /// The directories that lead to where the walk goes on, and the relative path of the last.
    fn resume(&self, start: Places) -> (String, Vec<Frame>) {
        let (mut here, mut places) = (String::new(), start);
        let mut stack = Vec::from([Frame {
            len: 0,
            places,
            after: None,
        }]);
        let within = self.after.ends_with('/');
        let mut parts = self.after.split('/').filter(|p| !p.is_empty()).peekable();
        while let Some(part) = parts.next() {
            if let Some(frame) = stack.last_mut() {
                frame.after = Some(part.into());
            }
            places = self.pattern.step(places, part);
            if !self.pattern.goes_on(places) || (within && parts.peek().is_none()) {
                break;
            }
            if !here.is_empty() {
                here.push('/');
            }
            here.push_str(part);
            stack.push(Frame {
                len: here.len(),
                places,
                after: None,
            });
        }
        (here, stack)
    }

    /// The next name of the directory where the walk is.
    fn next(
        &self,
        names: &mut impl Directories,
        frame: &Frame,
        here: &str,
        ahead: &mut VecDeque<Entry>,
        work: &mut usize,
    ) -> Result<Option<Entry>, Refusal> {
        if let Some(entry) = ahead.pop_front() {
            return Ok(Some(entry));
        }
        if !self.pattern.goes_on(frame.places) {
            return Ok(None);
        }
        let at = path::join(self.directory, here);
        let first = frame.len == 0 && frame.after.is_none();
        *work += 1 + at.len() / WORK_BYTES;
        let found = match self.pattern.only(frame.places) {
            Some(name) if frame.after.as_deref().is_some_and(|after| after >= name) => {
                return Ok(None);
            }
            Some(name) => names
                .entry(&at, name)
                .map(|entry| entry.into_iter().collect()),
            None => {
                // What matches a last part needs no look below.
                let deep = self.pattern.is_deeper(frame.places);
                let most = if deep { AHEAD_DEEP } else { AHEAD };
                names.list(&at, frame.after.as_deref(), most)
            }
        };
        match found {
            Ok(found) => ahead.extend(found),
            Err(reason) if first => return Err(reason),
            Err(_) => {}
        }
        Ok(ahead.pop_front())
    }
}

/// The order of places where a walk can go on: as [`pattern::order`], and with a `/` at the end
/// behind all that begins so.
#[must_use]
pub fn order(a: &str, b: &str) -> Ordering {
    let parts = |path| {
        let (path, past) = match str::strip_suffix(path, "/") {
            Some(path) => (path, Some((true, ""))),
            None => (path, None),
        };
        path.split('/').map(|part| (false, part)).chain(past)
    };
    parts(a).cmp(parts(b))
}

/// The answer to a Find by a server all of whose directories are its own: how many results, the
/// results, their text, and where to go on.
///
/// # Errors
/// If the request is not one, or there is no directory in which to look.
pub fn answer(
    names: &mut impl Directories,
    spec: &Text,
    at: &Text,
    after: &Text,
) -> Result<(u32, Vector<FindResponse>, Text, Text), Refusal> {
    let text = |text: &Text| text.get_within(path::LONGEST).ok_or(Refusal::TooLong);
    let (directory, pattern) = pattern::split(&text(spec)?)?;
    let walk = Walk {
        directory: &directory,
        pattern: &Pattern::new(&pattern)?,
        at: &text(at)?,
        after: &text(after)?,
    };
    let (piece, end) = walk.piece(names)?;
    let after = match end {
        End::Complete => String::new(),
        End::More(after) | End::Foreign(after) => after,
    };
    let blocks = piece
        .into_blocks()
        .and_then(|b| Ok((b, Text::new(&after)?)));
    let ((count, results, text), after) = blocks.map_err(|_| Refusal::NoResources)?;
    Ok((count, results, text, after))
}

/// The specification's refusal for a text that is none.
impl From<pattern::Wrong> for Refusal {
    fn from(wrong: pattern::Wrong) -> Refusal {
        match wrong {
            pattern::Wrong::NoPath => Refusal::BadPath,
            pattern::Wrong::TooLong => Refusal::TooLong,
        }
    }
}

#[cfg(test)]
#[path = "walk/tests.rs"]
mod tests;
