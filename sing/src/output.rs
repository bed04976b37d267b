//! Printing to a reader that may have gone (`sing inspect FILE | head` ends quietly), and writing
//! files.

use sing_files::standard;
use sing_image::shown::{Shown, is_escaped};
use std::path::{self, Path, PathBuf};

/// The name of a file, for people: whoever named it might have named it for their terminals.
pub fn name_of(path: &Path) -> Shown<path::Display<'_>> {
    Shown(path.display())
}

/// Prints a line, without control characters: a part of most comes from files whose authors nobody
/// knows, and a terminal would obey them.
pub fn line(text: impl AsRef<str>) {
    print(&readable(text.as_ref(), |_| false));
}

/// Prints several lines.
pub fn lines(text: impl AsRef<str>) {
    print(&readable(text.as_ref(), |rest| rest.starts_with('\n')));
}

/// Prints JSON. Its strings may have any character by its number, and those have it that a terminal would obey: the
/// text is the same to whoever reads it as JSON.
pub fn json(text: impl AsRef<str>) {
    print(&by_number(text.as_ref()));
}

/// JSON with the numbers of characters that a terminal would obey, which are in strings only.
fn by_number(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    for c in text.chars() {
        if !is_escaped(c) || c == '\n' {
            said.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            said += &format!("\\u{unit:04x}");
        }
    }
    said
}

/// Prints a report that may be in colour.
pub fn report(text: impl AsRef<str>) {
    print(&readable(text.as_ref(), in_report));
}

/// Prints a message, perhaps of several lines, to standard error. Foreign names in it have been
/// shown ([`name_of`], [`Shown`]): a line that such a name begins would be taken for this command's.
pub fn complain(text: impl AsRef<str>) {
    let text = readable(text.as_ref(), |rest| rest.starts_with('\n'));
    standard::complain(text + "\n");
}

/// Prints a report that may be in colour to standard error.
pub fn complain_in_colour(text: impl AsRef<str>) {
    standard::complain(readable(text.as_ref(), in_report) + "\n");
}

fn print(text: &str) {
    standard::print(format!("{text}\n"));
}

/// A text with its control characters replaced, but for those at which what follows is `kept`.
fn readable(text: &str, kept: impl Fn(&str) -> bool) -> String {
    text.char_indices()
        .map(|(at, c)| {
            if is_escaped(c) && c != '\t' && !kept(&text[at..]) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// Whether this begins with the end of a line, or a change of colour.
fn in_report(text: &str) -> bool {
    let colour = || {
        let codes = text.strip_prefix("\u{1b}[")?;
        Some(codes.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'))
    };
    text.starts_with('\n') || colour().is_some_and(|end| end.starts_with('m'))
}

/// Refuses to write to a place that is one of these files, by whatever name: the input would be
/// lost.
pub fn is_no_input<'a>(
    out: &Path,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), String> {
    let mut inputs = inputs.into_iter();
    match inputs.find(|input| sing_files::are_one(out, input)) {
        None => Ok(()),
        Some(input) if input == out => {
            Err(format!("the output is also an input: {}", name_of(out)))
        }
        Some(input) => Err(format!(
            "the output is also an input: {} is {}",
            name_of(out),
            name_of(input)
        )),
    }
}

/// Writes a file, unless it has these contents already: then builds that depend on it stay up to
/// date.
pub fn file(path: &Path, text: &str) -> Result<(), String> {
    if sing_contract::read_text(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    write(path, text.as_bytes())
}

/// Writes a file whole, with the permissions of the one that is there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    sing_files::write(path, bytes).map_err(|e| format!("{}: cannot be written: {e}", name_of(path)))
}
