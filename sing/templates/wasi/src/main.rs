//! Counts lines and words, of files or of standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::process::ExitCode;

/// Lines and words of a text.
fn count(text: impl BufRead) -> io::Result<(usize, usize)> {
    let (mut lines, mut words) = (0, 0);
    for line in text.lines() {
        lines += 1;
        words += line?.split_whitespace().count();
    }
    Ok((lines, words))
}

fn main() -> ExitCode {
    let mut files = std::env::args().skip(1).peekable();
    if files.peek().is_none() {
        return shown("standard input", count(io::stdin().lock()));
    }
    let mut code = ExitCode::SUCCESS;
    for file in files {
        let counted = File::open(&file).and_then(|text| count(BufReader::new(text)));
        if shown(&file, counted) != ExitCode::SUCCESS {
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn shown(name: &str, counted: io::Result<(usize, usize)>) -> ExitCode {
    match counted {
        Ok((lines, words)) => {
            println!("{name}: {lines} lines, {words} words");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("{name}: {e}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn lines_and_words_are_counted() {
        assert_eq!(count(&b""[..]).unwrap(), (0, 0));
        assert_eq!(count(&b"one two\nthree"[..]).unwrap(), (2, 3));
    }
}
