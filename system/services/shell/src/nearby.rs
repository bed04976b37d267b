//! Names that differ from a mistyped one by one slip of the finger.

use alloc::string::String;
use alloc::vec::Vec;

/// The longest name for which others are looked for, in characters.
const LONGEST: usize = 24;
/// The characters of programs' names.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789-";

/// Every name that becomes this one by a letter too few, too many or wrong, or by two that are
/// exchanged; those with the same letters come first.
pub fn names(typed: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = typed.chars().collect();
    let len = match letters.len() {
        2..=LONGEST => letters.len(),
        // Of a single letter, everything is near.
        _ => 0,
    };
    let word = move |at: usize, skip: usize, with: Option<char>| {
        let rest = letters.iter().skip(at + skip);
        let all = letters.iter().take(at).copied().chain(with);
        all.chain(rest.copied()).collect::<String>()
    };
    let (swap, fewer, other) = (word.clone(), word.clone(), word.clone());
    let swapped = (1..len).map(move |at| {
        let mut chars: Vec<char> = swap(0, 0, None).chars().collect();
        chars.swap(at - 1, at);
        chars.into_iter().collect()
    });
    let fewer = (0..len).map(move |at| fewer(at, 1, None));
    // Another letter makes a word of three nearly any other.
    let others = if len > 3 { len } else { 0 };
    let other = (0..others).flat_map(move |at| {
        let other = other.clone();
        LETTERS.chars().map(move |c| other(at, 1, Some(c)))
    });
    let places = if len > 0 { len + 1 } else { 0 };
    let more = (0..places).flat_map(move |at| {
        let word = word.clone();
        LETTERS.chars().map(move |c| word(at, 0, Some(c)))
    });
    swapped.chain(fewer).chain(other).chain(more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn one_slip_is_found() {
        for typed in ["hlelo", "hllo", "helllo", "hexlo", "ello", "hellox"] {
            assert!(names(typed).any(|name| name == "hello"), "{typed}");
        }
        assert_eq!(names("hlelo").nth(1), Some("hello".to_string()));
        assert!(names("cut").all(|name| name != "cat"));
        for typed in ["hxlxo", "olleh", "hello-there", "", "x"] {
            assert!(names(typed).all(|name| name != "hello"), "{typed}");
        }
    }

    #[test]
    fn there_are_few() {
        assert_eq!(names("").chain(names("y")).count(), 0);
        assert_eq!(names(&"long".repeat(1000)).count(), 0);
        assert!(names(&"x".repeat(LONGEST)).count() < 2000);
    }
}
