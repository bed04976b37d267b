//! Paths at which a machine's directories are asked to be: the mount tags of its devices.

use crate::LONGEST_TAG;
use core::fmt;

/// The reason for which a text is no such path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// It does not begin with `/`.
    NotAbsolute,
    /// It has more than [`LONGEST_TAG`] bytes.
    TooLong,
    /// It is `/`, or has an empty part, `.`, `..`, or a `/` at its end.
    Parts,
    /// It has control characters, commas, or bytes that are no text.
    Characters,
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadPath::NotAbsolute => f.write_str("it is not absolute; write /mnt"),
            BadPath::TooLong => write!(
                f,
                "it has more than {LONGEST_TAG} bytes, which a device can tell; write a shorter one"
            ),
            BadPath::Parts => f.write_str(
                "it is / itself, or has an empty part, `.` or `..`, or a `/` at its end; write /mnt",
            ),
            BadPath::Characters => {
                f.write_str("it has a comma, a control character, or bytes that are no UTF-8")
            }
        }
    }
}

impl core::error::Error for BadPath {}

/// The path that a mount tag is.
///
/// # Errors
/// Why it is none.
pub fn mount_path(tag: &[u8]) -> Result<&str, BadPath> {
    if tag.len() > LONGEST_TAG {
        return Err(BadPath::TooLong);
    }
    let text = core::str::from_utf8(tag).map_err(|_| BadPath::Characters)?;
    // A comma ends a value in QEMU's options.
    if text.contains(|c: char| c.is_control() || c == ',') {
        return Err(BadPath::Characters);
    }
    let parts = text.strip_prefix('/').ok_or(BadPath::NotAbsolute)?;
    if parts.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(BadPath::Parts);
    }
    Ok(text)
}

/// The reason for which a text does not say which directory is to be where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadMount {
    /// There is no path, or no directory before it.
    NoPath,
    /// The path is none.
    Path(BadPath),
}

impl fmt::Display for BadMount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadMount::NoPath => {
                f.write_str("it does not say where; write HOST::PATH, as in --dir .::/mnt")
            }
            BadMount::Path(bad) => write!(f, "the path in the system is none: {bad}"),
        }
    }
}

impl core::error::Error for BadMount {}

/// Which directory of the host is to be where in the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mount<'a> {
    /// The directory's name on the host.
    pub host: &'a [u8],
    /// The path in the system.
    pub at: &'a str,
    /// Whether nothing below it can be changed.
    pub read_only: bool,
}

impl<'a> Mount<'a> {
    /// Reads `HOST::PATH` or `HOST::PATH,rw`, as command lines have it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn named(text: &'a [u8]) -> Result<Mount<'a>, BadMount> {
        let (text, read_only) = match text.strip_suffix(b",rw") {
            Some(rest) => (rest, false),
            None => (text.strip_suffix(b",ro").unwrap_or(text), true),
        };
        // The last one: the host may have such names.
        let middle = text.windows(2).rposition(|two| two == b"::");
        let middle = middle.filter(|at| *at > 0).ok_or(BadMount::NoPath)?;
        Ok(Mount {
            host: &text[..middle],
            at: mount_path(&text[middle + 2..]).map_err(BadMount::Path)?,
            read_only,
        })
    }
}

/// Whether one of two paths is the other, or lies below it.
#[must_use]
pub fn overlap(one: &str, other: &str) -> bool {
    is_within(one, other) || is_within(other, one)
}

/// Whether a path is another one, or lies below it.
#[must_use]
pub fn is_within(path: &str, above: &str) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || above == "/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn a_tag_is_a_normalized_path() {
        for path in [
            "/mnt",
            "/mnt/a b",
            "/ä",
            "/mnt/...",
            &format!("/{}", "x".repeat(30)),
        ] {
            assert_eq!(mount_path(path.as_bytes()), Ok(path));
        }
        for (tag, reason) in [
            (&b""[..], BadPath::NotAbsolute),
            (b"mnt", BadPath::NotAbsolute),
            (b"/", BadPath::Parts),
            (b"/mnt/", BadPath::Parts),
            (b"/mnt//a", BadPath::Parts),
            (b"/mnt/../boot", BadPath::Parts),
            (b"/./mnt", BadPath::Parts),
            (b"/mnt\n", BadPath::Characters),
            (b"/a,b", BadPath::Characters),
            (b"/\xff", BadPath::Characters),
            (&[b'/'; 32], BadPath::TooLong),
        ] {
            assert_eq!(mount_path(tag), Err(reason), "{tag:?}");
        }
    }

    #[test]
    fn paths_overlap_by_whole_parts() {
        for (one, other) in [("/mnt", "/mnt"), ("/mnt", "/mnt/a"), ("/a/b/c", "/a")] {
            assert!(overlap(one, other) && overlap(other, one));
        }
        for (one, other) in [("/mnt", "/mnt2"), ("/mnt/a", "/mnt/b"), ("/a", "/b")] {
            assert!(!overlap(one, other) && !overlap(other, one));
        }
        assert!(is_within("/mnt", "/") && !is_within("/", "/mnt"));
    }
}
