//! The command line of `sing disk`.

use super::{Request, names};
use lexopt::{Arg, Parser, ValueExt as _};
use std::ffi::OsString;
use std::path::PathBuf;

/// The smallest and the largest image.
const SIZES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 44;

/// Parses the rest of a command line; `None` on a request for help.
pub fn parse(parser: &mut Parser) -> Result<Option<Request>, lexopt::Error> {
    let command = match parser.next()? {
        Some(Arg::Value(command)) => command.string()?,
        Some(Arg::Short('h') | Arg::Long("help")) => return Ok(None),
        Some(other) => return Err(other.unexpected()),
        None => return Err(usage().into()),
    };
    let mut values: Vec<OsString> = Vec::new();
    let (mut label, mut force, mut json) = (None, false, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(value) => values.push(value),
            Arg::Short('h') | Arg::Long("help") => return Ok(None),
            Arg::Long("label") if command == "create" => label = Some(parser.value()?.string()?),
            Arg::Long("force") if command == "create" => force = true,
            Arg::Long("json") if command == "ls" => json = true,
            other => return Err(other.unexpected()),
        }
    }
    let mut values = values.into_iter();
    let mut next = |what: &str| {
        let missing = || format!("disk {command}: name {what}");
        values.next().ok_or_else(|| lexopt::Error::from(missing()))
    };
    let file = PathBuf::from(next("the image")?);
    let request = match command.as_str() {
        "create" => Request::Create {
            file,
            bytes: next("its size, such as 64M")?.parse_with(size)?,
            label: label.unwrap_or_default(),
            force,
        },
        "ls" => Request::Ls {
            file,
            path: next("").map_or(Ok("/".into()), path)?,
            json,
        },
        "get" => Request::Get {
            file,
            path: path(next("the file in the image")?)?,
            out: next("where to, or - for standard output")?.into(),
        },
        "put" => Request::Put {
            file,
            source: next("the file to put there")?.into(),
            path: path(next("where to in the image")?)?,
        },
        "rm" => Request::Rm {
            file,
            path: path(next("what in the image")?)?,
        },
        "mkdir" => Request::Mkdir {
            file,
            path: path(next("what in the image")?)?,
        },
        "check" => Request::Check { file },
        "df" => Request::Df { file },
        other => return Err(format!("{other:?} is none of its commands: {}", usage()).into()),
    };
    match values.next() {
        Some(value) => Err(Arg::Value(value).unexpected()),
        None => Ok(Some(request)),
    }
}

/// A path in the image.
fn path(typed: OsString) -> Result<String, lexopt::Error> {
    Ok(names::parse(&typed.string()?)?)
}

fn usage() -> String {
    "say what to do: create, ls, get, put, rm, mkdir, check or df".into()
}

/// A size: a number of bytes, or of K, M, G or T (powers of 1024).
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &text[digits.len()..] {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        _ => return Err("a size is a number with K, M, G or T, such as 64M".into()),
    };
    let number: Option<u64> = digits.parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << power));
    match bytes {
        None => Err("a size is a number with K, M, G or T, such as 64M".into()),
        Some(bytes) if !SIZES.contains(&bytes) => {
            Err("an image has at least 1M and at most 16T".into())
        }
        Some(bytes) if !bytes.is_multiple_of(4096) => {
            Err("an image's size is a multiple of 4K".into())
        }
        Some(bytes) => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_understood() {
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("1048576"), Ok(1 << 20));
        assert_eq!(size("2g"), Ok(2 << 30));
        for (text, part) in [
            ("", "such as"),
            ("M", "such as"),
            ("-1M", "such as"),
            ("64MB", "such as"),
            ("1023K", "at least"),
            ("17T", "at most"),
            ("99999999999999T", "such as"),
            ("1048577", "multiple of 4K"),
        ] {
            let error = size(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn command_lines_are_understood() {
        let line = |text: &str| parse(&mut Parser::from_args(text.split_whitespace()));
        assert!(matches!(
            line("create a 1M --label x --force"),
            Ok(Some(Request::Create {
                bytes: 0x10_0000,
                force: true,
                ..
            }))
        ));
        assert!(matches!(line("ls a"), Ok(Some(Request::Ls { path, .. })) if path == "/"));
        assert!(matches!(
            line("ls a --json"),
            Ok(Some(Request::Ls { json: true, .. }))
        ));
        assert!(matches!(line("rm a b\\nc"), Ok(Some(Request::Rm { path, .. })) if path == "b\nc"));
        assert!(matches!(line("put a b c"), Ok(Some(Request::Put { path, .. })) if path == "c"));
        assert!(matches!(line("check --help"), Ok(None)));
        for (text, part) in [
            ("", "create, ls"),
            ("frob a", "\"frob\""),
            ("ls", "the image"),
            ("create a", "its size"),
            ("create a 1", "at least"),
            ("ls a b c", "\"c\""),
            ("ls a --force", "--force"),
            ("df a --json", "--json"),
            ("rm a b\\x", "a backslash begins an escape"),
            ("get a b", "where to"),
        ] {
            let error = line(text).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
