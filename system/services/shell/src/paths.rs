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

/// The most characters of a directory in the prompt.
const SHOWN: usize = 30;

/// A directory as the prompt shows it: the end of a long one.
#[must_use]
pub fn shown(directory: &str) -> String {
    match directory.char_indices().rev().nth(SHOWN - 1) {
        Some((at, _)) if at > 0 => String::from("…") + &directory[at..],
        _ => directory.to_string(),
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
    fn the_prompt_is_bounded() {
        assert_eq!(shown("/a/b"), "/a/b");
        assert_eq!(shown(&"ä".repeat(30)), "ä".repeat(30));
        assert_eq!(shown(&"ä".repeat(31)), String::from("…") + &"ä".repeat(30));
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
