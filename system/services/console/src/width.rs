//! The columns that characters take on a terminal, by Unicode's Standard Annex 11: East Asian
//! characters and pictures take two, combining ones none.

use core::ops::Range;
use unicode_width::UnicodeWidthChar;

/// The columns of a character.
#[must_use]
pub fn of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The columns of characters.
#[must_use]
pub fn of_all<'a>(chars: impl IntoIterator<Item = &'a char>) -> usize {
    chars.into_iter().copied().map(of).sum()
}

/// Where the character before a place begins, with what combines with it.
#[must_use]
pub fn before(line: &[char], place: usize) -> usize {
    let before = line[..place].iter().rposition(|c| of(*c) > 0);
    before.unwrap_or(0)
}

/// Where the character at a place ends, with what combines with it.
#[must_use]
pub fn after(line: &[char], place: usize) -> usize {
    let rest = line.get(place + 1..).unwrap_or_default();
    let combining = rest.iter().take_while(|c| of(**c) == 0).count();
    (place + 1 + combining).min(line.len())
}

/// The part of a line around the cursor that so many columns have room for.
#[must_use]
pub fn window(line: &[char], cursor: usize, room: usize) -> Range<usize> {
    let mut first = cursor;
    let mut taken = 0;
    // The cursor itself stands behind the last column that is taken.
    while first > 0 && taken + of(line[first - 1]) <= room {
        first -= 1;
        taken += of(line[first]);
    }
    // What combines with a character that is not shown is not, either.
    while first > 0 && first < cursor && of(line[first]) == 0 {
        first += 1;
    }
    let mut last = cursor;
    while last < line.len() && taken + of(line[last]) <= room {
        taken += of(line[last]);
        last += 1;
    }
    first..last
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn line(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn characters_take_columns() {
        for (text, columns) in [
            ("abc", 3),
            ("日本", 4),
            ("e\u{301}", 1),
            ("😀", 2),
            ("ü€", 2),
        ] {
            assert_eq!(of_all(&line(text)), columns, "{text}");
        }
    }

    #[test]
    fn combining_characters_stay_with_theirs() {
        let text = line("ae\u{301}\u{302}b");
        assert_eq!(
            (before(&text, 4), before(&text, 5), before(&text, 1)),
            (1, 4, 0)
        );
        assert_eq!(
            (after(&text, 1), after(&text, 0), after(&text, 4)),
            (4, 1, 5)
        );
        assert_eq!(after(&text, 5), 5);
        // One without a character before it.
        let alone = line("\u{301}a");
        assert_eq!((before(&alone, 1), before(&alone, 2)), (0, 1));
    }

    #[test]
    fn a_window_has_no_more_than_fits() {
        let text = line("日本語日本語e\u{301}x");
        for room in 2..20 {
            for cursor in 0..=text.len() {
                let shown = window(&text, cursor, room);
                assert!(shown.contains(&cursor) || shown.end == cursor);
                assert!(of_all(&text[shown.clone()]) <= room, "{room} {cursor}");
                assert!(shown.is_empty() || shown.start == cursor || of(text[shown.start]) > 0);
            }
        }
        assert_eq!(window(&line("abcdef"), 6, 3), 3..6);
        assert_eq!(window(&line("abcdef"), 1, 3), 0..3);
        assert_eq!(window(&line("日本語"), 3, 3), 2..3);
    }
}
