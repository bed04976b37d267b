//! The names at `/` of a name space whose root is mounted: those of the name server, and those of
//! the file system that serves what the name server does not know.
//!
//! A name belongs to the name server as a whole if anything is registered at it or below it; what
//! the file system has under that name is out of sight meanwhile.
//!
//! Invariants:
//! - Names come in the order of a walk, each once, however many pieces the listing takes.
//! - A piece is bounded in work as one of a walk is, however long the names and the pattern are.
//! - What the file system says is not believed: paths that are none, out of order or below a name
//!   of the name server are left out, and so a listing always gets on.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use sing_sdk::contracts::{NameKind, Refusal};
use sing_sdk::path;
use sing_sdk::pattern::Pattern;
use sing_sdk::walk::{Directories, End, Entry, Piece, WORK, WORK_BYTES, Walk, order};

/// A name that the file system has found: its path from the root on, what it is, its detail.
pub type Theirs = (String, NameKind, String);

/// Where a listing of the root stands.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What it looks for.
    pub pattern: &'a Pattern,
    /// The names, already matched, that lead to the root of this name server.
    pub at: &'a str,
    /// Where it goes on, as in a [`Walk`].
    pub after: &'a str,
}

/// The first name of a path from the root on.
#[must_use]
pub fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

/// Who is asked for the next piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The name server alone: nothing of the file system's can match.
    Own,
    /// The file system alone.
    Theirs,
    /// The file system, and its names are put together with the name server's.
    Both,
    /// The name server, for what is below this name of its own; behind it comes [`Turn::Both`].
    Below,
}

impl Asked<'_> {
    /// Who is asked for the next piece; `is_known` says whether a first name is the name server's.
    pub fn turn(&self, is_known: impl Fn(&str) -> bool) -> Turn {
        let start = self.pattern.follow(self.pattern.start(), self.at);
        if !self.pattern.goes_on(start) {
            return Turn::Own;
        }
        // Where one name alone can match, its server is asked and no other.
        if let Some(only) = self.pattern.only(start) {
            return if is_known(only) {
                Turn::Own
            } else {
                Turn::Theirs
            };
        }
        let first = top(self.after);
        let past = self.after.len() == first.len() + 1;
        if first.is_empty() || past || !is_known(first) {
            Turn::Both
        } else {
            Turn::Below
        }
    }

    /// The next piece of what is below a name of the name server's own.
    ///
    /// # Errors
    /// Those of `own`.
    pub fn below(&self, own: impl Directories) -> Result<(Piece, End), Refusal> {
        let top = top(self.after);
        let walk = Walk {
            directory: "/",
            pattern: self.pattern,
            at: self.at,
            after: self.after,
        };
        let (piece, end) = walk.piece(&mut Within { all: own, top })?;
        // Behind it, the file system may have names.
        let end = match end {
            End::Complete => End::More(format!("{top}/")),
            end => end,
        };
        Ok((piece, end))
    }
}

/// The names of one directory of the root alone, so that a walk does not go on behind it.
#[derive(Debug)]
struct Within<'a, D> {
    all: D,
    /// The one name of the root that there is.
    top: &'a str,
}

impl<D: Directories> Directories for Within<'_, D> {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        if at != "/" {
            return self.all.list(at, after, most);
        }
        if most == 0 || after.is_some_and(|after| after >= self.top) {
            return Ok(Vec::new());
        }
        Ok(self.all.entry(at, self.top)?.into_iter().collect())
    }

    fn entry(&mut self, at: &str, name: &str) -> Result<Option<Entry>, Refusal> {
        if at == "/" && name != self.top {
            return Ok(None);
        }
        self.all.entry(at, name)
    }
}

/// The next piece: `own` are the name server's directories, `theirs` what the file system has found
/// behind `asked.after`, and `more` where it would go on, empty if there is no more.
///
/// The listing goes on below a directory of the name server's own if it ends with [`End::More`] of
/// exactly that name.
///
/// # Errors
/// Those of `own`.
pub fn piece(
    asked: Asked<'_>,
    own: &mut impl Directories,
    theirs: Vec<Theirs>,
    more: &str,
) -> Result<(Piece, End), Refusal> {
    let Asked { pattern, at, after } = asked;
    let start = pattern.follow(pattern.start(), at);
    let mut piece = Piece::default();
    if after.is_empty() && at.is_empty() && pattern.matches(start) {
        piece.push("", NameKind::Directory, "");
    }
    let mut done = String::from(after);
    // The last name of the name server that is done with.
    let mut passed = Some(top(after)).filter(|name| !name.is_empty());
    let mut next;
    let is_behind = |path: &str, done: &str| order(path, done) == Ordering::Greater;
    let more = if path::is_relative(more) && is_behind(more, after) {
        more
    } else {
        ""
    };
    let mut theirs = theirs.into_iter().peekable();
    let mut work = 0;
    loop {
        let mine = own.list("/", passed, 1)?.pop();
        let end = mine.as_ref().map(|entry| entry.name.as_str());
        // The file system's names before the next one of the name server.
        while let Some((path, kind, detail)) =
            theirs.next_if(|(path, ..)| end.is_none_or(|end| top(path) < end))
        {
            if path.is_empty() || !path::is_relative(&path) || !is_behind(&path, &done) {
                continue;
            }
            if !piece.push(&path, kind, &detail) {
                return Ok((piece, End::More(done)));
            }
            done = path;
        }
        let Some(mine) = mine else {
            break;
        };
        // The file system has more before it.
        if !more.is_empty() && top(more) < mine.name.as_str() {
            break;
        }
        let places = pattern.step(start, &mine.name);
        if pattern.matches(places) && !piece.push(&mine.name, mine.kind, &mine.detail) {
            return Ok((piece, End::More(done)));
        }
        done.clone_from(&mine.name);
        if mine.kind == NameKind::Directory && pattern.goes_on(places) {
            return Ok((piece, End::More(done)));
        }
        // What the file system has under this name is not to be seen.
        done.push('/');
        while theirs
            .next_if(|(path, ..)| top(path) == mine.name)
            .is_some()
        {}
        work += 1 + mine.name.len() * pattern.weight(start) / WORK_BYTES;
        if top(more) == mine.name || work >= WORK {
            return Ok((piece, End::More(done)));
        }
        next = mine.name;
        passed = Some(next.as_str());
    }
    let end = match more {
        "" => End::Complete,
        more if is_behind(more, &done) => End::More(more.into()),
        _ => End::More(done),
    };
    Ok((piece, end))
}

#[cfg(test)]
#[path = "union/tests.rs"]
mod tests;
