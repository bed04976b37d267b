//! Paths: absolute ones of the name space, and those from an open directory on, parts divided by
//! `/`.

use crate::contracts::FileFault;
use crate::rt::Text;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// The longest path that services take.
pub const LONGEST: usize = 4096;

/// Whether a walk follows a symbolic link that is the last part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// It does: the path stands for what the link leads to.
    Followed,
    /// Only if a `/` behind it says that a directory is meant.
    Itself,
    /// Never, as the path stands for a name that is made, removed or given to something else. It is the walker's
    /// caller who refuses what is no directory and has a `/` behind it.
    Name,
}

impl LastLink {
    /// For requests that say whether they follow a link.
    #[must_use]
    pub fn following(follow: bool) -> LastLink {
        match follow {
            true => LastLink::Followed,
            false => LastLink::Itself,
        }
    }

    /// Whether a link is followed. `directory`: the path says that a directory is meant.
    #[must_use]
    pub fn is_followed(self, directory: bool) -> bool {
        match self {
            LastLink::Followed => true,
            LastLink::Itself => directory,
            LastLink::Name => false,
        }
    }
}

/// The path without empty parts and without a `/` at its end; `/` is the root. `None` if it is not
/// absolute, is too long, or has a part `.` or `..` (what they mean is the asking program's
/// business).
#[must_use]
pub fn normalize(path: &str) -> Option<String> {
    if !path.starts_with('/') || path.len() > LONGEST {
        return None;
    }
    let mut out = String::with_capacity(path.len());
    for part in path.split('/').filter(|p| !p.is_empty()) {
        if part == "." || part == ".." || part.contains(char::is_control) {
            return None;
        }
        out.push('/');
        out.push_str(part);
    }
    if out.is_empty() {
        out.push('/');
    }
    Some(out)
}

/// Whether a text is a path from some directory on: parts divided by `/`, as in a normalized path,
/// or nothing; a `/` may be at its end.
#[must_use]
pub fn is_relative(path: &str) -> bool {
    let parts = path.strip_suffix('/').unwrap_or(path);
    path.len() <= LONGEST
        && (path.is_empty()
            || parts
                .split('/')
                .all(|part| !matches!(part, "" | "." | "..") && !part.contains(char::is_control)))
}

/// The path that a program means by `path` when it is in the directory `from`: `..` goes up.
#[must_use]
pub fn join(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { from };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let mut out = String::new();
    for part in parts {
        out.push('/');
        out.push_str(part);
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

/// The rest of a normalized `path` below a normalized `prefix`, itself a normalized path.
#[must_use]
pub fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    if prefix == "/" {
        return Some(path);
    }
    match path.strip_prefix(prefix)? {
        "" => Some("/"),
        rest if rest.starts_with('/') => Some(rest),
        _ => None,
    }
}

/// A path from an open directory on, as it came in a message to the directory's server. Control
/// characters are in no path of the name space, so that no name may have one: the directory could
/// not be listed there.
///
/// # Errors
/// [`FileFault::BadName`] if it is too long, or no such text.
pub fn from_directory(path: &Text) -> Result<String, FileFault> {
    let path = path.get_within(LONGEST).ok_or(FileFault::BadName)?;
    if path.contains(char::is_control) {
        return Err(FileFault::BadName);
    }
    Ok(path)
}

/// Puts the parts of a path, or of a link's target, before the `rest` of the way that a server goes
/// along: the last element of `rest` is the next part. `..` stays a part, `.` and empty parts are
/// none. Returns whether the path says that it leads to a directory: it ends with `/` or `/.`, or is
/// `.`. (One that ends with `..` leads to a directory because only directories are gone up from.)
pub fn prepend(rest: &mut Vec<String>, path: &str) -> bool {
    let before = rest.len();
    let parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    rest.extend(parts.map(String::from));
    rest[before..].reverse();
    path.ends_with('/') || path.ends_with("/.") || path == "."
}

/// The names directly below a normalized directory, in order, directories with a `/` behind; `None`
/// if no path lies below it.
pub fn list<'a>(paths: impl Iterator<Item = &'a str>, directory: &str) -> Option<Vec<String>> {
    let mut names: BTreeMap<&str, bool> = BTreeMap::new();
    for rest in paths.filter_map(|p| below(p, directory)) {
        let (name, deeper) = match rest[1..].split_once('/') {
            Some((name, _)) => (name, true),
            None => (&rest[1..], false),
        };
        if !name.is_empty() {
            *names.entry(name).or_default() |= deeper;
        }
    }
    let show = |(name, deeper): (&str, bool)| {
        let mut name = String::from(name);
        if deeper {
            name.push('/');
        }
        name
    };
    (!names.is_empty()).then(|| names.into_iter().map(show).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalized() {
        assert_eq!(normalize("/").as_deref(), Some("/"));
        assert_eq!(normalize("//a///b/").as_deref(), Some("/a/b"));
        for bad in ["", "a", "/a/../b", "/.", "/a\nb"] {
            assert_eq!(normalize(bad), None, "{bad}");
        }
        assert_eq!(normalize(&"/a".repeat(LONGEST)), None);
    }

    #[test]
    fn relative() {
        for good in ["", "a", "a/b", "a/b/"] {
            assert!(is_relative(good), "{good}");
        }
        for bad in ["/", "/a", "a//b", "a//", "..", "a/../b", "a/\n"] {
            assert!(!is_relative(bad), "{bad}");
        }
        assert!(!is_relative(&"a".repeat(LONGEST + 1)));
    }

    #[test]
    fn joined() {
        assert_eq!(join("/boot", "notes.txt"), "/boot/notes.txt");
        assert_eq!(join("/boot/a", "../b/./c"), "/boot/b/c");
        assert_eq!(join("/boot", "/x/../y"), "/y");
        assert_eq!(join("/", "../.."), "/");
    }

    #[test]
    fn below_a_prefix() {
        assert_eq!(below("/boot/a", "/boot"), Some("/a"));
        assert_eq!(below("/boot", "/boot"), Some("/"));
        assert_eq!(below("/bootleg", "/boot"), None);
        assert_eq!(below("/a", "/"), Some("/a"));
    }

    #[test]
    fn put_before_the_rest_of_a_way() {
        let mut rest: Vec<String> = ["z", "y"].map(String::from).into();
        assert!(!prepend(&mut rest, "a/./b//../c"));
        assert_eq!(rest, ["z", "y", "c", "..", "b", "a"]);
        for (path, directory) in [
            ("", false),
            (".", true),
            ("a", false),
            ("a/", true),
            ("a/.", true),
            ("a.", false),
            ("..", false),
        ] {
            assert_eq!(prepend(&mut rest, path), directory, "{path}");
        }
    }

    #[test]
    fn listed() {
        let paths = ["/a/x", "/a/y/z", "/b", "/a/y/w"];
        let list = |d| list(paths.iter().copied(), d);
        assert_eq!(list("/").unwrap(), ["a/", "b"]);
        assert_eq!(list("/a").unwrap(), ["x", "y/"]);
        assert_eq!(list("/b"), None);
        assert_eq!(list("/c"), None);
    }
}
