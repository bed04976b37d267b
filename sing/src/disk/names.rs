//! Names of an image's files, as people read and type them: a listing shows a character that a terminal would obey as
//! an escape, and the backslash that begins one doubled; a path on the command line means by the same escapes the same
//! characters. So whatever a listing shows can be given back, even if its author did not mean it to be.

use sing_image::shown::is_escaped;
use std::fmt::{self, Write as _};

/// A name or a path: its `Display` is what [`parse`] reads.
#[derive(Clone, Copy)]
pub struct Name<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c == '\\' || is_escaped(c) {
                true => write!(f, "{}", c.escape_default())?,
                false => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The path that somebody typed.
///
/// # Errors
/// The escape that is none.
pub fn parse(text: &str) -> Result<String, String> {
    let mut path = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, behind)) = rest.split_once('\\') {
        path.push_str(plain);
        let (c, behind) = escape(behind).ok_or_else(|| {
            format!(
                "{}: a backslash begins an escape, which is \\\\ (a backslash), \\n, \\r, \\t, \\u{{HEX}} or a quote",
                Name(text)
            )
        })?;
        path.push(c);
        rest = behind;
    }
    Ok(path + rest)
}

/// The character for what stands behind a backslash, and what follows.
fn escape(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    let c = match chars.next()? {
        '\\' => '\\',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        // As a check shows names in quotes.
        '"' => '"',
        '\'' => '\'',
        'u' => {
            let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
            let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let number = u32::from_str_radix(digits, 16)
                .ok()
                .filter(|_| hexadecimal)?;
            return Some((char::from_u32(number)?, rest));
        }
        _ => return None,
    };
    Some((c, chars.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_given_back() {
        for name in [
            "plain name.txt",
            "a\nb",
            "\u{1b}[2J",
            "a\\nb",
            "\\",
            "\\\\u{1b}",
            "tab\tand\r",
            "gpj\u{202e}.exe",
            "cafe\u{301} 'it' \"is\"",
            "\u{0}\u{7f}\u{9b}",
            "",
        ] {
            let shown = Name(name).to_string();
            assert!(!shown.contains(is_escaped), "{shown:?}");
            assert_eq!(parse(&shown).as_deref(), Ok(name), "{shown:?}");
        }
        assert_eq!(Name("a\nb\\").to_string(), "a\\nb\\\\");
    }

    /// A check of an image shows names so.
    #[test]
    fn names_in_quotes_are_read_back() {
        let name = "a\"b'c\\d\n\u{1b}";
        let shown = format!("{name:?}");
        assert_eq!(parse(&shown[1..shown.len() - 1]).as_deref(), Ok(name));
    }

    #[test]
    fn what_is_no_escape_is_refused() {
        for text in [
            "\\",
            "a\\x",
            "\\u",
            "\\u{",
            "\\u{}",
            "\\u{+1}",
            "\\u{d800}",
            "\\u{110000}",
            "\\u{1ffffffff}",
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains("\\u{HEX}"), "{error}");
        }
    }
}
