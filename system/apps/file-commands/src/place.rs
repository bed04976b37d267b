//! Paths as a person types them.
//!
//! Invariant: a [`Place`] is an absolute path without `.`, `..` or empty parts. `..` is taken away
//! together with the part before it, whatever that part is.

use crate::failure::Failure;
use alloc::format;
use alloc::string::String;
use core::fmt;
use sing_sdk::path;

/// A path of the name space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(String);

impl Place {
    /// The place that a person means.
    ///
    /// # Errors
    /// The path does not begin at the root, is too long, or has control characters.
    pub fn new(text: &str) -> Result<Place, Failure> {
        if !text.starts_with('/') {
            let name = if text.is_empty() { "''" } else { text };
            return Err(Failure::because(name, "not a path: begin it with /"));
        }
        if text.len() > path::LONGEST {
            let cut = text.char_indices().nth(40).map_or(text.len(), |(at, _)| at);
            let why = format!("a path has at most {} bytes", path::LONGEST);
            return Err(Failure::because(format!("{}…", &text[..cut]), why));
        }
        match path::normalize(&path::join("/", text)) {
            Some(path) => Ok(Place(path)),
            None => Err(Failure::because(
                text.escape_debug().collect::<String>(),
                "a path has no control characters",
            )),
        }
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0
    }

    /// The last name; `None` for the root.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        sing_sdk::fs::split(&self.0).map(|(_, name)| name)
    }

    /// The directory with this name in it; `None` for the root.
    #[must_use]
    pub fn above(&self) -> Option<Place> {
        sing_sdk::fs::split(&self.0).map(|(above, _)| Place(above.into()))
    }

    /// The path of this place from one that is above it, or is it; without a `/` at the beginning.
    #[must_use]
    pub fn from(&self, above: &Place) -> Option<&str> {
        path::below(&self.0, &above.0).map(|rest| rest.trim_start_matches('/'))
    }

    /// The place of a path relative to this one.
    #[must_use]
    pub fn below(&self, relative: &str) -> Place {
        Place(path::join(&self.0, relative))
    }

    /// The deepest place that is above both, or is one of them.
    #[must_use]
    pub fn common(&self, other: &Place) -> Place {
        let mut at = self.clone();
        while other.from(&at).is_none() {
            match at.above() {
                Some(above) => at = above,
                None => break,
            }
        }
        at
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        Place::new(text).unwrap()
    }

    #[test]
    fn paths_are_tidied() {
        assert_eq!(place("//fs/./a//b/../c/").path(), "/fs/a/c");
        assert_eq!(place("/..").path(), "/");
        assert_eq!(place("/fs/ä b").name(), Some("ä b"));
        assert_eq!(place("/").name(), None);
        assert_eq!(place("/fs").above(), Some(place("/")));
        assert_eq!(place("/").above(), None);
    }

    #[test]
    fn what_is_no_path_is_refused_with_the_reason() {
        let refused = |text: &str| Place::new(text).unwrap_err();
        assert_eq!(
            format!("{}", refused("notes")),
            "notes: not a path: begin it with /"
        );
        assert_eq!(
            format!("{}", refused("")),
            "'': not a path: begin it with /"
        );
        assert_eq!(
            format!("{}", refused("/a\nb")),
            "/a\\nb: a path has no control characters"
        );
        let long = format!("{}", refused(&"/é".repeat(3000)));
        assert!(long.ends_with("…: a path has at most 4096 bytes"), "{long}");
        assert!(long.len() < 120, "{long}");
    }

    #[test]
    fn relations_of_places() {
        let (a, b) = (place("/fs/a/x"), place("/fs/a/y/z"));
        assert_eq!(a.common(&b).path(), "/fs/a");
        assert_eq!(a.common(&a), a);
        assert_eq!(a.common(&place("/fs/a")).path(), "/fs/a");
        assert_eq!(a.common(&place("/tmp")).path(), "/");
        // Names are compared whole.
        assert_eq!(place("/fs/ab").common(&place("/fs/a")).path(), "/fs");
        assert_eq!(b.from(&place("/fs")), Some("a/y/z"));
        assert_eq!(b.from(&b), Some(""));
        assert_eq!(b.from(&place("/")), Some("fs/a/y/z"));
        assert_eq!(b.from(&a), None);
        assert_eq!(place("/fs").below("a/b").path(), "/fs/a/b");
        assert_eq!(place("/fs").below("").path(), "/fs");
    }
}
