//! An unfinished line: which word a person is typing, and what can be typed to finish it.
//!
//! Any text is accepted, also with mistakes in it, since the person is not done. For text without
//! mistakes, words are what [`parse`](crate::parse) makes of them.

use crate::parse::ends_word;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unicode_width::UnicodeWidthChar;

/// The word that is being typed, at the end of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// The words of the command before it.
    pub words: Vec<String>,
    /// What there is of the word, without its quotes.
    pub word: String,
    /// The quote that is open in it.
    pub quote: Option<char>,
    /// Whether it is the path behind `<` or `>`.
    pub file: bool,
    /// Whether it is in a comment, or follows a backslash: nothing can be said of it.
    pub lost: bool,
}

/// What is being typed at the end of a text.
#[must_use]
pub fn typed(text: &str) -> Typed {
    let mut now = Typed::default();
    // Whether the word has begun; an empty one in quotes has.
    let mut begun = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(quote) = now.quote {
            match c {
                c if c == quote => now.quote = None,
                '\\' if quote == '"' => match chars.next() {
                    Some(c @ ('"' | '\\' | '$')) => now.word.push(c),
                    Some(c) => now.word.extend(['\\', c]),
                    None => now.lost = true,
                },
                c => now.word.push(c),
            }
            continue;
        }
        if ends_word(&c) {
            let word = core::mem::take(&mut now.word);
            // The number of a stream is no word.
            let is_stream = c == '>' && word == "2";
            if begun && !now.file && !is_stream {
                now.words.push(word);
            }
            // Behind a sign, spaces may come before the path.
            now.file = matches!(c, '<' | '>') || now.file && !begun && c.is_whitespace();
            begun = false;
            match c {
                '>' if is_stream && chars.next_if_eq(&'&').is_some() => {
                    chars.next_if_eq(&'1');
                    now.file = false;
                }
                '|' | '&' | ';' | '\n' => {
                    now.words.clear();
                    now.file = false;
                }
                _ => {}
            }
            continue;
        }
        match c {
            '#' if !begun => {
                // A comment ends with its line.
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
                now.lost = chars.peek().is_none();
            }
            '\'' | '"' => {
                now.quote = Some(c);
                begun = true;
            }
            '\\' => match chars.next() {
                // The word goes on in the next line.
                Some('\n') => begun = true,
                Some(c) => {
                    now.word.push(c);
                    begun = true;
                }
                None => now.lost = true,
            },
            c => {
                now.word.push(c);
                begun = true;
            }
        }
    }
    now
}

impl Typed {
    /// What to insert so that `rest` becomes a part of the word.
    #[must_use]
    pub fn quoted(&self, rest: &str) -> String {
        let special = |c: char| match self.quote {
            // Such a quote ends, as nothing can stand for it inside.
            Some('\'') => false,
            Some(_) => matches!(c, '"' | '\\' | '$'),
            None => ends_word(&c) || matches!(c, '\'' | '"' | '\\' | '$' | '#' | '*' | '?' | '['),
        };
        let mut out = String::new();
        for c in rest.chars() {
            match (self.quote, c) {
                (Some('\''), '\'') => out.push_str("'\\''"),
                (_, c) => {
                    if special(c) {
                        out.push('\\');
                    }
                    out.push(c);
                }
            }
        }
        out
    }

    /// What to insert behind the word, which is whole.
    #[must_use]
    pub fn end(&self) -> String {
        let quote = self.quote.map(String::from);
        quote.unwrap_or_default() + " "
    }
}

/// What all begin with.
#[must_use]
pub fn common(all: &[String]) -> &str {
    let Some(first) = all.first() else { return "" };
    let same = |other: &String| {
        let pairs = first.char_indices().zip(other.chars());
        let differ = pairs.skip_while(|((_, a), b)| a == b).map(|((i, _), _)| i);
        differ
            .take(1)
            .next()
            .unwrap_or(first.len().min(other.len()))
    };
    let len = all.iter().map(same).min().unwrap_or(0);
    &first[..len]
}

/// The most names that are shown, the most characters in a row of them, and the most bytes of all:
/// the console takes no more.
const SHOWN: usize = 100;
const WIDEST: usize = 150;
const BYTES: usize = 15 << 10;

/// Names in columns, for a terminal of this width; `more` says that there are others. Names that
/// are wider than the terminal are cut.
#[must_use]
pub fn columns(names: &[String], width: usize, more: bool) -> String {
    let width = width.clamp(20, WIDEST);
    let cut = |name: &String| {
        let mut taken = 0;
        let mut all = name.char_indices();
        let end = all.find(|(_, c)| {
            taken += c.width().unwrap_or(0);
            taken > width - 2
        });
        match end {
            Some((at, _)) => format!("{}…", &name[..at]),
            None => name.clone(),
        }
    };
    let shown: Vec<String> = names.iter().take(SHOWN).map(cut).collect();
    let columns = |name: &String| name.chars().filter_map(char::width).sum::<usize>();
    let widest = shown.iter().map(columns).max().unwrap_or(0) + 2;
    let in_row = (width / widest).max(1);
    let rows = shown.len().div_ceil(in_row);
    let mut text = String::new();
    for row in 0..rows {
        let names = shown.iter().skip(row).step_by(rows.max(1));
        let padded = |n: &String| n.clone() + &" ".repeat(widest - columns(n));
        let line: String = names.map(padded).collect();
        if text.len() + line.len() > BYTES {
            return text + "… and more\n";
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let left = names.len() - shown.len();
    match (left, more) {
        (_, true) => text.push_str("… and more\n"),
        (0, false) => {}
        (left, false) => text.push_str(&format!("… and {left} more\n")),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use crate::variables::Variables;
    use alloc::vec;

    fn of(text: &str) -> (Vec<String>, String, bool) {
        let typed = typed(text);
        (typed.words, typed.word, typed.file)
    }

    fn words(words: &[&str], word: &str, file: bool) -> (Vec<String>, String, bool) {
        (words.iter().map(|&w| w.into()).collect(), word.into(), file)
    }

    #[test]
    fn the_word_and_those_before_it() {
        for (text, expected) in [
            ("", words(&[], "", false)),
            ("he", words(&[], "he", false)),
            ("ls -l /b", words(&["ls", "-l"], "/b", false)),
            ("ls ", words(&["ls"], "", false)),
            ("a b | c 'd e' f", words(&["c", "d e"], "f", false)),
            ("a && b; c & d", words(&[], "d", false)),
            ("a > /b", words(&["a"], "/b", true)),
            ("a >/b c", words(&["a"], "c", false)),
            ("a 2> /b", words(&["a"], "/b", true)),
            ("a 2>&1 | g", words(&[], "g", false)),
            ("a b 2>&1 c", words(&["a", "b"], "c", false)),
            ("a < ", words(&["a"], "", true)),
            ("a 'b c", words(&["a"], "b c", false)),
            ("a b\\ c", words(&["a"], "b c", false)),
            ("a '' ", words(&["a", ""], "", false)),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        assert!(typed("a # b").lost && typed("a \\").lost && !typed("a #x\nb").lost);
        assert_eq!(typed("a \"b").quote, Some('"'));
    }

    #[test]
    fn what_is_inserted_becomes_the_word() {
        let rest = "it's \"5$\" & *[?] #more\\";
        for begun in ["a x", "a 'x", "a \"x", "a ''x"] {
            let typed = typed(begun);
            let line = format!("{begun}{}{}", typed.quoted(rest), typed.end());
            let done = parse::parse(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
            let words: Vec<String> = done[0].commands[0]
                .words
                .iter()
                .map(|w| w.expand(&Variables::default()).unwrap())
                .collect();
            assert_eq!(words, vec!["a".into(), format!("x{rest}")], "{line}");
            let glob = done[0].commands[0].words[1].glob(&Variables::default());
            assert_eq!(glob, Ok(None), "{line}");
        }
    }

    #[test]
    fn words_are_those_of_the_language() {
        let parts = [
            "a", " ", "|", "&", ";", "'", "\"", "\\", "2", "#", "\n", ">", "<", "&1", "é",
        ];
        for i in 0..parts.len().pow(4) {
            let pick = |n: usize| parts[i / parts.len().pow(n as u32) % parts.len()];
            let text = format!("{}{}{}{}", pick(0), pick(1), pick(2), pick(3));
            // A further word, if that can stand there, is the last one of its command.
            let Ok(done) = parse::parse(&format!("{text} zz")) else {
                continue;
            };
            let Some(last) = done.last().and_then(|p| p.commands.last()) else {
                continue;
            };
            let expected: Vec<String> = last
                .words
                .iter()
                .map(|w| w.expand(&Variables::default()).unwrap())
                .collect();
            let typed = typed(&format!("{text} z"));
            if typed.lost {
                continue;
            }
            let mut got = typed.words.clone();
            if !typed.file {
                got.push(typed.word + "z");
            }
            assert_eq!(got, expected, "{text:?}");
        }
    }

    #[test]
    fn common_beginnings() {
        let all = |names: &[&str]| names.iter().map(|&n| n.into()).collect::<Vec<String>>();
        for (names, expected) in [
            (&[][..], ""),
            (&["ab"], "ab"),
            (&["ab", "abc"], "ab"),
            (&["abc", "ab"], "ab"),
            (&["äb", "äc", "ä"], "ä"),
            (&["ä", "ö"], ""),
        ] {
            assert_eq!(common(&all(names)), expected, "{names:?}");
        }
    }

    #[test]
    fn many_names_are_cut() {
        let names: Vec<String> = (0..150).map(|i| format!("name{i}")).collect();
        let text = columns(&names, 80, false);
        assert!(
            text.contains("name99") && !text.contains("name100"),
            "{text}"
        );
        assert!(text.ends_with("… and 50 more\n") && text.lines().all(|l| l.len() <= 80));
        assert!(columns(&names, 0, true).ends_with("… and more\n"));
        let long = columns(&["ä".repeat(4000)], 80, false);
        assert_eq!(long, format!("{}…\n", "ä".repeat(78)));
        let wide = columns(&vec!["😀".repeat(4000); 100], 150, false);
        assert!(wide.len() < 16 << 10 && wide.ends_with("… and more\n"));
        assert_eq!(columns(&[], 80, false), "");
        assert_eq!(columns(&["a".into(), "bb".into()], 80, false), "a   bb\n");
        let names = ["日本".into(), "e\u{301}".into(), "b".into()];
        assert_eq!(columns(&names, 80, false), "日本  e\u{301}     b\n");
        assert_eq!(
            columns(&["日".repeat(20)], 20, false),
            format!("{}…\n", "日".repeat(9))
        );
    }
}
