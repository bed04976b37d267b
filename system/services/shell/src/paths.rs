//! Paths as a person writes them: from the root, or from the directory that `cd` has chosen.
//!
//! Programs get whole paths alone: nobody but the shell knows of that directory.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The root of the name space, where a session begins.
pub const ROOT: &str = "/";

/// The whole path of a word. `..` leads to the directory above in the text, whatever links say; a
/// word that is a whole path already stays as it is.
#[must_use]
pub fn whole(directory: &str, word: &str) -> String {
    // An empty path is a mistake that the program reports; `-` is a stream to some.
    if word.is_empty() || word == "-" || word.starts_with('/') {
        return word.to_string();
    }
    let mut parts: Vec<&str> = directory.split('/').filter(|p| !p.is_empty()).collect();
    for part in word.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let end = if word.ends_with('/') && !parts.is_empty() {
        "/"
    } else {
        ""
    };
    String::from(ROOT) + &parts.join("/") + end
}

/// The path of a directory that a session may be in: whole, and without `.`, `..` or a `/` at its
/// end.
#[must_use]
pub fn directory(present: &str, word: &str) -> String {
    let (from, word) = match word.starts_with('/') {
        true => (ROOT, word.trim_start_matches('/')),
        false => (present, word),
    };
    let path = match word {
        "" => from.to_string(),
        word => whole(from, word),
    };
    match path.trim_end_matches('/') {
        "" => ROOT.to_string(),
        path => path.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_whole_paths() {
        let cases = [
            ("/", "a", "/a"),
            ("/", "a/", "/a/"),
            ("/a/b", "c//d", "/a/b/c/d"),
            ("/a/b", "../c", "/a/c"),
            ("/a/b", "../../../..", "/"),
            ("/a/b", ".", "/a/b"),
            ("/a/b", "./", "/a/b/"),
            ("/a/b", "*", "/a/b/*"),
            ("/a/b", "/c/../d", "/c/../d"),
            ("/a/b", "", ""),
            ("/a/b", "-", "-"),
            ("/a/b", "...", "/a/b/..."),
        ];
        for (directory, word, path) in cases {
            assert_eq!(whole(directory, word), path, "{word} in {directory}");
        }
    }

    #[test]
    fn a_directory_has_no_end() {
        let cases = [
            ("/a", "b/", "/a/b"),
            ("/a", "..", "/"),
            ("/a", "/", "/"),
            ("/a", "//b/./c/../", "/b"),
            ("/a", "/..", "/"),
        ];
        for (present, word, path) in cases {
            assert_eq!(directory(present, word), path, "{word} in {present}");
        }
    }
}
