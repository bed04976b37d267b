//! Wildcards in words: `*`, `?`, `[…]` and `**` stand for the names that match, as in the path
//! specifications of `Find`. What is quoted, and what stands for a variable, is text.
//!
//! Invariant: a wildcard never makes a word that begins like an option; such a name gets `./`
//! before it.

use crate::paths;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::pattern;

/// A word with wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// The directory in which names are looked for, as it was typed: empty, or with a `/` at its end.
    directory: String,
    /// The rest, as a path specification.
    pattern: String,
}

impl Glob {
    /// The wildcards of a text, of which each character says whether it is plain, that is, not
    /// quoted; `None` if there are none.
    #[must_use]
    pub fn of(chars: &[(char, bool)]) -> Option<Glob> {
        let is_wild = |(c, plain): &(char, bool)| *plain && matches!(c, '*' | '?' | '[');
        let first = chars.iter().position(is_wild)?;
        let begin = chars[..first].iter().rposition(|(c, _)| *c == '/');
        let begin = begin.map_or(0, |at| at + 1);
        let mut pattern = String::new();
        let mut rest = &chars[begin..];
        while let [(c, plain), behind @ ..] = rest {
            rest = behind;
            match c {
                '*' | '?' if *plain => pattern.push(*c),
                '[' if *plain && let Some((text, len)) = set(behind) => {
                    pattern.push_str(&text);
                    rest = &behind[len..];
                }
                c => pattern.push_str(&pattern::literal(c.encode_utf8(&mut [0; 4]))),
            }
        }
        let directory = chars[..begin].iter().map(|(c, _)| *c).collect();
        pattern::is_pattern(&pattern).then_some(Glob { directory, pattern })
    }

    /// The path specification, for who is in this directory.
    #[must_use]
    pub fn specification(&self, present: &str) -> String {
        let typed = pattern::literal(&self.directory) + &self.pattern;
        paths::whole(&pattern::literal(present), &typed)
    }

    /// The word that a path found by the specification makes: from where the typed one begins.
    #[must_use]
    pub fn word(&self, present: &str, found: &str) -> String {
        if self.directory.starts_with('/') {
            return found.into();
        }
        let base = match paths::directory(present, &self.directory) {
            root if root == paths::ROOT => root,
            other => other + "/",
        };
        match found.strip_prefix(&base) {
            Some(rest) if self.directory.is_empty() && rest.starts_with('-') => {
                "./".to_owned() + rest
            }
            Some(rest) => self.directory.clone() + rest,
            None => found.into(),
        }
    }
}

/// A range that has no character.
const NONE: &str = "1-0";

/// What a set means whose text is behind its `[`, as a specification says it, and the length of that
/// text with its `]`; `None` if there is no set.
///
/// In a specification nothing is quoted, so that a `-`, `!` or `^` that is one of the set's own
/// characters says so by its place: a `-` is the last, and the others are not the first.
fn set(behind: &[(char, bool)]) -> Option<(String, usize)> {
    let not = usize::from(matches!(behind.first(), Some(('!' | '^', true))));
    // The first character is one of the set, whatever it is.
    let mut rest = behind.iter().enumerate().skip(not + 1);
    let (end, _) = rest.find(|(_, (c, plain))| *c == '/' || *c == ']' && *plain)?;
    let inner = &behind[not..end];
    // A quoted `]` would end the set in a specification, and a `/` the name.
    let plain = inner.iter().skip(1).all(|(c, _)| *c != ']') && inner[0].0 != '/';
    if behind[end].0 != ']' || !plain {
        return None;
    }
    let (mut ranges, mut dash) = (Vec::new(), false);
    let mut rest = inner;
    while let [(first, _), after @ ..] = rest {
        let (first, last) = match after {
            [('-', true), (last, _), after @ ..] => {
                rest = after;
                (*first, *last)
            }
            _ => {
                rest = after;
                (*first, *first)
            }
        };
        if first == '-' {
            dash |= last >= '-';
            // The character behind it.
            ranges.extend((last != '-').then_some(('.', last)));
        } else {
            ranges.push((first, last));
        }
    }
    ranges.sort_by_key(|(first, _)| match first {
        ']' => 0,
        '!' | '^' if not == 0 => 2,
        _ => 1,
    });
    let mut text = String::from(if not == 0 { "[" } else { "[!" });
    match ranges[..] {
        [(first @ ('!' | '^'), last)] if not == 0 && first == last && !dash => {
            return Some((first.into(), end + 1));
        }
        [('!' | '^', _), ..] if not == 0 => text.push_str(NONE),
        _ => {}
    }
    for (first, last) in ranges {
        text.push(first);
        if last != first {
            text.extend(['-', last]);
        }
    }
    text.extend(dash.then_some('-'));
    text.push(']');
    Some((text, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use crate::variables::Variables;
    use alloc::string::ToString;

    /// The specification that a word means in `/here`.
    fn of(word: &str) -> Option<String> {
        let mut variables = Variables::default();
        variables.set("star".into(), "*".into()).unwrap();
        variables.set("x".into(), "!a".into()).unwrap();
        let parsed = parse::parse(&(String::from("x ") + word)).unwrap();
        let glob = parsed[0].commands[0].words[1].glob(&variables).unwrap();
        glob.map(|glob| glob.specification("/he[re"))
    }

    #[test]
    fn words_with_wildcards_are_specifications() {
        for (word, expected) in [
            ("a", None),
            ("*", Some("/he[[]re/*")),
            ("a?c", Some("/he[[]re/a?c")),
            ("/b/*.txt", Some("/b/*.txt")),
            ("/b/**/c", Some("/b/**/c")),
            ("../*", Some("/*")),
            ("[a-c]x", Some("/he[[]re/[a-c]x")),
            ("[!a]", Some("/he[[]re/[!a]")),
            ("[]a]", Some("/he[[]re/[]a]")),
            // Quoted, they are text.
            ("'*'", None),
            ("\\*", None),
            ("\"?\"", None),
            ("'['a]", None),
            ("[a']'", None),
            ("$star", None),
            ("'*'*", Some("/he[[]re/[*]*")),
            ("$star*", Some("/he[[]re/[*]*")),
            ("'a*'/*", Some("/he[[]re/a[*]/*")),
            ("[' ?']", Some("/he[[]re/[ ?]")),
            // Quoted signs within a set are characters of it.
            ("[a\\-z]", Some("/he[[]re/[az-]")),
            ("[a\\-z]*", Some("/he[[]re/[az-]*")),
            ("['a-c'x-z]", Some("/he[[]re/[acx-z-]")),
            ("['a'-'c']", Some("/he[[]re/[a-c]")),
            ("[a-]", Some("/he[[]re/[a-]")),
            ("[!'-'a]", Some("/he[[]re/[!a-]")),
            ("[+--]", Some("/he[[]re/[+--]")),
            ("[--0]", Some("/he[[]re/[.-0-]")),
            ("[a\\--0]", Some("/he[[]re/[a.-0-]")),
            ("[']'\\-a]", Some("/he[[]re/[]a-]")),
            ("['!'a]", Some("/he[[]re/[a!]")),
            ("[\\!a-c]", Some("/he[[]re/[a-c!]")),
            ("['^'a]", Some("/he[[]re/[a^]")),
            ("[!'!']", Some("/he[[]re/[!!]")),
            ("[$x]", Some("/he[[]re/[a!]")),
            ("[$x]*", Some("/he[[]re/[a!]*")),
            ("[!$x]", Some("/he[[]re/[!!a]")),
            ("['!']*", Some("/he[[]re/!*")),
            ("['!']", None),
            ("['!^']", Some("/he[[]re/[1-0!^]")),
            ("['!'-a]", Some("/he[[]re/[1-0!-a]")),
            ("['!-']", Some("/he[[]re/[1-0!-]")),
            // No sets.
            ("[", None),
            ("[a", None),
            ("[]", None),
            ("[a/b]", None),
            ("[/]", None),
            // The value of a variable is none, either.
            ("a=*", None),
        ] {
            assert_eq!(of(word).as_deref(), expected, "{word}");
        }
    }

    #[test]
    fn a_quoted_sign_matches_itself() {
        for (word, matching, others) in [
            ("[a\\-z]", "a-z", "bm!"),
            ("['!'a]", "!a", "bz"),
            ("['^'a]x", "^a", "bz"),
            ("[$x]*", "!a", "bz"),
            ("['!^']", "!^", "01a-"),
            ("['!'-'#']", "!\"#", "01a-"),
            ("['!-']", "!-", "01a,"),
            ("[a\\--0]", "a-.0", "bz,1"),
            ("[!a\\-z]", "bm!", "a-z"),
            ("[']'\\-a]", "]-a", "^_"),
        ] {
            let spec = of(word).unwrap();
            let (_, typed) = spec.rsplit_once('/').unwrap();
            let pattern = pattern::Pattern::new(typed).unwrap();
            let meets =
                |c: &char| pattern.meets(&alloc::format!("{c}x")) || pattern.meets(&c.to_string());
            assert!(matching.chars().all(|c| meets(&c)), "{word}: {typed}");
            assert!(!others.chars().any(|c| meets(&c)), "{word}: {typed}");
        }
    }

    #[test]
    fn what_is_found_is_said_as_it_was_typed() {
        let glob = |text: &str| {
            let chars: alloc::vec::Vec<_> = text.chars().map(|c| (c, true)).collect();
            Glob::of(&chars).unwrap()
        };
        for (typed, present, found, word) in [
            ("*", "/", "/a", "a"),
            ("*", "/b", "/b/a", "a"),
            ("*", "/b", "/b/-rf", "./-rf"),
            ("./*", "/b", "/b/-rf", "./-rf"),
            ("c/*", "/b", "/b/c/a", "c/a"),
            ("../*", "/b/c", "/b/a", "../a"),
            ("/d/*", "/b", "/d/a", "/d/a"),
            ("//*", "/b", "/d", "/d"),
        ] {
            assert_eq!(glob(typed).word(present, found), word, "{typed}");
        }
    }
}
