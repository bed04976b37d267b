//! Patterns against a model: the shortest recursive definition of what they mean.

use super::*;
use alloc::format;
use alloc::vec;
use proptest::prelude::*;

/// What `text` means, by definition: exponential, and used for short ones.
fn model_name(text: &[char], name: &[char]) -> bool {
    let Some(first) = text.first() else {
        return name.is_empty();
    };
    let rest = &text[1..];
    match first {
        '*' => (0..=name.len()).any(|n| model_name(rest, &name[n..])),
        '?' => !name.is_empty() && model_name(rest, &name[1..]),
        '[' => {
            let not = rest.first() == Some(&'!');
            let from = usize::from(not);
            let close = rest.iter().skip(from + 1).position(|c| *c == ']');
            let Some(end) = close.map(|n| n + from + 1) else {
                return name.first() == Some(first) && model_name(rest, &name[1..]);
            };
            let Some(c) = name.first() else { return false };
            let (mut inside, mut at) = (false, from);
            while at < end {
                let range = at + 2 < end && rest[at + 1] == '-';
                let to = if range { at + 2 } else { at };
                inside |= (rest[at]..=rest[to]).contains(c);
                at = to + 1;
            }
            inside != not && model_name(&rest[end + 1..], &name[1..])
        }
        c => name.first() == Some(c) && model_name(rest, &name[1..]),
    }
}

fn model(parts: &[&str], names: &[&str]) -> bool {
    match parts {
        [] => names.is_empty(),
        ["**"] => !names.is_empty(),
        ["**", rest @ ..] => (0..=names.len()).any(|n| model(rest, &names[n..])),
        [part, rest @ ..] => match names {
            [name, names @ ..] => {
                let chars = |s: &str| s.chars().collect::<Vec<_>>();
                model_name(&chars(part), &chars(name)) && model(rest, names)
            }
            [] => false,
        },
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let pattern = Pattern::new(pattern).unwrap();
    pattern.matches(pattern.follow(pattern.start(), path))
}

fn parts(text: &str) -> Vec<&str> {
    text.split('/').filter(|p| !p.is_empty()).collect()
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[ab*?]{1,5}",
        1 => r"[ab\[\]\-!*]{1,7}",
        2 => Just(String::from("**")),
        1 => "[abc]{1,2}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn patterns_mean_what_the_model_says(
        pattern in prop::collection::vec(part(), 0..5),
        path in prop::collection::vec(r"[ab\[\]\-!]{1,4}", 0..5),
    ) {
        let (pattern, path) = (pattern.join("/"), path.join("/"));
        let wanted = model(&parts(&pattern), &parts(&path));
        prop_assert_eq!(matches(&pattern, &path), wanted, "{} {}", pattern, path);
    }

    #[test]
    fn a_divided_specification_means_the_same(
        fixed in prop::collection::vec("[abc]{1,2}", 0..3),
        pattern in prop::collection::vec(part(), 0..4),
    ) {
        let all = format!("/{}", fixed.iter().chain(&pattern).cloned().collect::<Vec<_>>().join("/"));
        let (directory, rest) = split(&all).unwrap();
        prop_assert_eq!(split(&under(&directory, &rest)), Ok((directory, rest)));
    }

    #[test]
    fn a_literal_is_its_path(path in r"(/[ab*?\[\]\-!]{1,4}){1,4}") {
        let (directory, rest) = split(&literal(&path)).unwrap();
        prop_assert_eq!(parts(&rest).len(), 1);
        let last = path.rsplit('/').next().unwrap();
        prop_assert!(matches(&rest, last), "{}", path);
        prop_assert_eq!(path::join(&directory, last), path);
    }
}

#[test]
fn what_the_documentation_says() {
    for (pattern, path, wanted) in [
        ("*.txt", "notes.txt", true),
        ("*.txt", "a/notes.txt", false),
        ("**/*.txt", "notes.txt", true),
        ("**/*.txt", "a/b/notes.txt", true),
        ("a/**", "a/b/c", true),
        ("a/**", "a", false),
        ("a/**/z", "a/z", true),
        ("[a-c]?", "b1", true),
        ("[!a-c]?", "b1", false),
        ("[*]", "*", true),
        ("[*]", "x", false),
        ("[", "[", true),
        ("", "", true),
        ("", "a", false),
    ] {
        assert_eq!(matches(pattern, path), wanted, "{pattern} {path}");
    }
}

#[test]
fn divided() {
    let split = |spec| split(spec).map(|(a, b)| format!("{a} {b}"));
    for (spec, wanted) in [
        ("/", "/ "),
        ("/a", "/ a"),
        ("/a/b/", "/a b"),
        ("/a/b/*", "/a/b *"),
        ("/a/*/b/**", "/a */b/**"),
        ("/**", "/ **"),
        ("/[*]/x", "/* x"),
    ] {
        assert_eq!(split(spec).unwrap(), wanted, "{spec}");
    }
    assert_eq!(split("a"), Err(Wrong::NoPath));
    assert_eq!(split("/a/../*"), Err(Wrong::NoPath));
    assert_eq!(split("/a/[.]./*"), Err(Wrong::NoPath));
    assert_eq!(super::under("/a/*", "b*"), "/a/[*]/b*");
    assert_eq!(split(&"/a".repeat(path::LONGEST)), Err(Wrong::TooLong));
}

#[test]
fn what_is_watched_is_met_from_above_and_below() {
    let meets = |pattern, path| Pattern::new(pattern).unwrap().meets(path);
    assert!(meets("a", "a") && meets("a", "a/b/c") && !meets("a/b", "a"));
    assert!(meets("*/b", "x/b/c") && !meets("*/b", "x/c/b"));
    assert!(meets("**", "x") && meets("", "anything/at/all"));
}

#[test]
fn bounds() {
    let many = vec!["*"; MOST_PARTS];
    assert!(matches(&many.join("/"), &vec!["a"; MOST_PARTS].join("/")));
    assert_eq!(Pattern::new(&"*/".repeat(64)), Err(Wrong::TooLong));
    assert_eq!(Pattern::new(&"?".repeat(256)), Err(Wrong::TooLong));
    assert!(Pattern::new(&"x".repeat(4000)).is_ok());
}

/// Patterns that take exponential time where each run tries all lengths: here they are done at
/// once, which the time limit of the test run would show otherwise.
#[test]
fn no_pattern_takes_long() {
    let name = "a".repeat(4000);
    let runs = "*a".repeat(127);
    assert!(!matches(&format!("{runs}b"), &name));
    let deep = "**/*a*/".repeat(31);
    assert!(!matches(&format!("{deep}b"), &"aaaa/".repeat(800)));
}

#[test]
fn walk_order_keeps_a_directory_together() {
    let mut paths = vec!["a-b", "a/x", "a", "a.c", "b", "a/x/y"];
    paths.sort_by(|a, b| order(a, b));
    assert_eq!(paths, ["a", "a/x", "a/x/y", "a-b", "a.c", "b"]);
}

#[test]
fn parts_with_wildcards_are_bounded_together() {
    let set = format!("[{}]", "ab".repeat(30));
    assert!(Pattern::new(&format!("**/{set}/**/{set}")).is_ok());
    let many = vec![format!("**/*{set}"); 5].join("/");
    assert_eq!(Pattern::new(&many), Err(Wrong::TooLong));
}

#[test]
fn brackets_spell_no_way_up() {
    for text in ["*/[.][.]", "*/[.]", "[.]./*"] {
        assert_eq!(Pattern::new(text), Err(Wrong::NoPath), "{text}");
    }
}
