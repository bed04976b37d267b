//! The target of a request: a path whose parts are names, decoded, and a query.
//!
//! Invariant: a path's parts are never empty, `.` or `..`, and have neither `/` nor NUL in them,
//! however they were written. So none leads above the directory that it is looked up in.

use crate::head::Fault;
use alloc::string::String;
use alloc::vec::Vec;

/// A target, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The names on the way.
    pub parts: Vec<String>,
    /// Whether it ends with `/`: a directory is meant.
    pub directory: bool,
    /// What stands behind `?`, as it was sent.
    pub query: String,
}

impl Target {
    /// Understands a target that begins with `/`.
    ///
    /// # Errors
    /// It is no path, or one that leads upwards.
    pub fn read(target: &str) -> Result<Target, Fault> {
        let target = target.split('#').next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let inner = path
            .strip_prefix('/')
            .ok_or(Fault::bad("the target is no path"))?;
        let mut parts = Vec::new();
        for part in inner.split('/').filter(|part| !part.is_empty()) {
            let name = decode(part)?;
            match name.as_str() {
                "." => {}
                ".." => return Err(Fault::bad("the path leads upwards")),
                bad if bad.bytes().any(|byte| matches!(byte, b'/' | 0)) => {
                    return Err(Fault::bad("a part of the path is no name"));
                }
                _ => parts.push(name),
            }
        }
        Ok(Target {
            directory: inner.is_empty() || inner.ends_with('/') || parts.is_empty(),
            parts,
            query: query.into(),
        })
    }

    /// The path, relative to the directory that it is looked up in.
    #[must_use]
    pub fn path(&self) -> String {
        self.parts.join("/")
    }

    /// Whether it is below a path that begins with `/`, or that path itself.
    #[must_use]
    pub fn is_below(&self, prefix: &str) -> bool {
        let mut parts = self.parts.iter();
        let mut names = prefix.split('/').filter(|name| !name.is_empty());
        names.all(|name| parts.next().is_some_and(|part| part == name))
    }
}

/// Decodes `%20` and the like.
fn decode(part: &str) -> Result<String, Fault> {
    let mut out = Vec::with_capacity(part.len());
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        match (digit(), digit()) {
            (Some(high), Some(low)) => out.push((high << 4 | low) as u8),
            _ => return Err(Fault::bad("a % in the path is not followed by two digits")),
        }
    }
    String::from_utf8(out).map_err(|_| Fault::bad("the path is not UTF-8"))
}

/// A path as it stands in a header.
#[must_use]
pub fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                out.push('%');
                for digit in [byte >> 4, byte & 15] {
                    let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
                    out.push(digit.to_ascii_uppercase());
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_never_leads_upwards() {
        for target in [
            "/..",
            "/../",
            "/a/../b",
            "/%2e%2e",
            "/a/%2E%2e/b",
            "/.%2e/x",
            "/%2e./x",
            "/..?q",
            "/a%2fb",
            "/a%00b",
            "/%",
            "/%4",
            "/%zz",
            "/%ff",
            "a",
            "",
            "*",
        ] {
            assert!(
                Target::read(target).is_err_and(|f| f.status == 400),
                "{target}"
            );
        }
    }

    #[test]
    fn a_path_is_read_by_its_parts() {
        let read = |target| Target::read(target).map(|t| (t.path(), t.directory, t.query));
        let is = |path: &str, directory, query: &str| Ok((path.into(), directory, query.into()));
        assert_eq!(read("/"), is("", true, ""));
        assert_eq!(read("/."), is("", true, ""));
        assert_eq!(read("//a///b"), is("a/b", false, ""));
        assert_eq!(read("/a%20b/.%2ex/"), is("a b/..x", true, ""));
        assert_eq!(read("/a?b=../c#d"), is("a", false, "b=../c"));
        assert_eq!(read("/%e2%82%ac"), is("€", false, ""));
        assert_eq!(encode("/€ a/b-1"), "/%E2%82%AC%20a/b-1");
    }

    #[test]
    fn a_prefix_is_of_whole_parts() {
        let below = |target, prefix| Target::read(target).map(|t| t.is_below(prefix));
        for (target, prefix, is) in [
            ("/hello", "/hello", true),
            ("/hello/x", "/hello", true),
            ("/%68ello", "/hello", true),
            ("/hello2", "/hello", false),
            ("/", "/hello", false),
            ("/x", "/", true),
        ] {
            assert_eq!(below(target, prefix), Ok(is), "{target} {prefix}");
        }
    }
}
