//! The first and the last lines or bytes of a text, which comes in pieces: what `head` and `tail` have
//! in common.

use crate::failure::Failure;
use crate::program;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::io::{NOBODY_READS, Writer};
use sing_sdk::names::Names;
use sing_sdk::prelude::NamespaceContract;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Lines, each with its line end; the last one of a text may have none.
    Lines(u64),
    /// Bytes.
    Bytes(u64),
}

impl Count {
    /// What the options ask for: ten lines if nothing, `None` for both at once.
    #[must_use]
    pub fn asked(lines: Option<u64>, bytes: Option<u64>) -> Option<Count> {
        match (lines, bytes) {
            (Some(_), Some(_)) => None,
            (_, Some(bytes)) => Some(Count::Bytes(bytes)),
            (lines, None) => Some(Count::Lines(lines.unwrap_or(10))),
        }
    }
}

/// Prints each of some files by `file`, with a title if there are several. The exit code.
pub fn each(
    program: &str,
    paths: &[String],
    given: Option<NamespaceContract::Imp<NamespaceContract::Start>>,
    out: &mut Writer,
    mut file: impl FnMut(&mut Names, &str, &mut Writer) -> Result<(), Failure>,
) -> i32 {
    let mut names = match program::names(program, given) {
        Ok(names) => names,
        Err(code) => return code,
    };
    let mut status = 0;
    for path in paths {
        // That nobody reads shows at the end.
        if paths.len() > 1 {
            let _ = out.write(format!("==> {path} <==\n").as_bytes());
        }
        status |= program::report(program, file(&mut names, path, out));
    }
    out.settle().map_or(NOBODY_READS, |()| status)
}

/// Takes the beginning of a text.
#[derive(Debug)]
pub struct Head(Count);

impl Head {
    /// The first so many.
    #[must_use]
    pub const fn new(count: Count) -> Head {
        Head(count)
    }

    /// Whether nothing more is wanted.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.0, Count::Lines(0) | Count::Bytes(0))
    }

    /// How many bytes of the next piece are wanted.
    pub fn take(&mut self, piece: &[u8]) -> usize {
        match &mut self.0 {
            Count::Bytes(left) => {
                let taken = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(piece.len());
                *left -= taken as u64;
                taken
            }
            Count::Lines(0) => 0,
            Count::Lines(left) => {
                for (i, _) in piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        return i + 1;
                    }
                }
                piece.len()
            }
        }
    }
}

/// Where the last `count` of a text of `size` bytes begin. The text is read from its end, in pieces of
/// at most `piece` bytes, so far as it is wanted: `read` gives the bytes of a range.
///
/// # Errors
/// Those of `read`.
pub fn begin<E>(
    size: u64,
    count: Count,
    piece: usize,
    mut read: impl FnMut(u64, usize) -> Result<Vec<u8>, E>,
) -> Result<u64, E> {
    let mut wanted = match count {
        Count::Bytes(bytes) => return Ok(size.saturating_sub(bytes)),
        Count::Lines(0) => return Ok(size),
        Count::Lines(lines) => lines,
    };
    // The line end of the last line ends it, and begins none.
    let mut end = size.saturating_sub(1);
    while end > 0 {
        let from = end.saturating_sub(piece as u64);
        let bytes = read(from, (end - from) as usize)?;
        for (i, _) in bytes.iter().enumerate().rev().filter(|(_, b)| **b == b'\n') {
            wanted -= 1;
            if wanted == 0 {
                return Ok(from + i as u64 + 1);
            }
        }
        end = from;
    }
    Ok(0)
}

/// The most bytes that are kept of a text whose end is not known.
pub const MOST: usize = 8 << 20;

/// Keeps the end of a text.
#[derive(Debug)]
pub struct Tail {
    count: Count,
    kept: VecDeque<u8>,
    /// Line ends among them.
    ends: u64,
}

impl Tail {
    /// The last so many.
    #[must_use]
    pub const fn new(count: Count) -> Tail {
        Tail {
            count,
            kept: VecDeque::new(),
            ends: 0,
        }
    }

    /// Adds the next piece. False if what is wanted is more than [`MOST`] bytes: it then begins too
    /// late.
    #[must_use]
    pub fn push(&mut self, piece: &[u8]) -> bool {
        self.kept.extend(piece);
        self.ends += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
        while self.is_too_much() {
            if self.kept.pop_front() == Some(b'\n') {
                self.ends -= 1;
            }
        }
        let whole = self.kept.len() <= MOST;
        while self.kept.len() > MOST {
            if self.kept.pop_front() == Some(b'\n') {
                self.ends -= 1;
            }
        }
        whole
    }

    /// Whether the first byte is not among what is wanted, whatever comes.
    fn is_too_much(&self) -> bool {
        match self.count {
            Count::Bytes(bytes) => self.kept.len() as u64 > bytes,
            // The last line may have no end yet.
            Count::Lines(lines) => {
                let open = u64::from(self.kept.back().is_some_and(|byte| *byte != b'\n'));
                self.ends + open > lines
            }
        }
    }

    /// What is wanted.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.kept.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 7] = ["", "\n", "a", "a\n", "a\nb", "a\nb\n", "\n\na\n\nbc\n"];

    /// The lines of a text, each with its end.
    fn lines(text: &str) -> Vec<&str> {
        text.split_inclusive('\n').collect()
    }

    #[test]
    fn the_head_is_that_of_the_whole_text() {
        for text in TEXTS {
            for n in 0..6 {
                let wanted: alloc::string::String = lines(text).into_iter().take(n).collect();
                for piece in 1..4 {
                    let mut head = Head::new(Count::Lines(n as u64));
                    let mut out = Vec::new();
                    for piece in text.as_bytes().chunks(piece) {
                        let taken = head.take(piece);
                        out.extend_from_slice(&piece[..taken]);
                    }
                    assert_eq!(out, wanted.as_bytes(), "{text:?} {n}");
                }
                let mut head = Head::new(Count::Bytes(n as u64));
                assert_eq!(head.take(text.as_bytes()), n.min(text.len()));
            }
        }
    }

    #[test]
    fn the_tail_is_that_of_the_whole_text() {
        for text in TEXTS {
            for n in 0..6 {
                let all = lines(text);
                let wanted = all[all.len().saturating_sub(n)..].concat();
                for piece in 1..4 {
                    let read = |at: u64, len: usize| -> Result<Vec<u8>, ()> {
                        assert!(len <= piece);
                        Ok(text.as_bytes()[at as usize..][..len].into())
                    };
                    let size = text.len() as u64;
                    let begins = begin(size, Count::Lines(n as u64), piece, read).unwrap();
                    assert_eq!(&text[begins as usize..], wanted, "{text:?} {n}");
                    let mut tail = Tail::new(Count::Lines(n as u64));
                    for piece in text.as_bytes().chunks(piece) {
                        assert!(tail.push(piece));
                    }
                    assert_eq!(tail.finish(), wanted.as_bytes(), "{text:?} {n}");
                }
                let mut tail = Tail::new(Count::Bytes(n as u64));
                assert!(tail.push(text.as_bytes()));
                let wanted = &text.as_bytes()[text.len().saturating_sub(n)..];
                assert_eq!(tail.finish(), wanted);
            }
        }
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut tail = Tail::new(Count::Lines(1));
        let piece = alloc::vec![b'x'; MOST / 2 + 1];
        assert!(tail.push(&piece));
        assert!(!tail.push(&piece));
        assert_eq!(tail.finish().len(), MOST);
    }
}
