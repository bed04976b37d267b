//! The debug information (DWARF) that compilers leave in a module: from instructions of the module
//! to lines of the program's text.
//!
//! Nothing validates these sections, and anybody can write them. Invariants:
//! - No module is refused for them: what is broken, too large or of another form is left out with a
//!   note ([`Left`]), and the code is the same with and without.
//! - The time goes with the sections' bytes: every abbreviation table and line program is read once,
//!   in the bytes up to the next one, and all other work is counted ([`WORK_PER_BYTE`]).
//! - What becomes of it is text for people, of bounded length and without control characters.

mod calls;
mod paths;
mod programs;
mod sections;
mod table;
mod units;
mod variables;

pub(crate) use table::Maker;
pub(crate) use variables::{Variable, all as variables};

use crate::module::Module;
use sections::Sections;
use sing_image::lines::Call;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// The most bytes of all debug sections.
const MOST_BYTES: usize = 256 << 20;
/// The most bytes of one line program's header, and of all tables of abbreviations: each takes up
/// to a hundred times as much memory.
const MOST_HEADER: usize = 1 << 20;
const MOST_ABBREVIATIONS: usize = 4 << 20;
/// The most units, rows, and pieces of inlined calls.
const MOST_UNITS: usize = 1 << 16;
const MOST_ROWS: usize = 8 << 20;
const MOST_PIECES: usize = 2 << 20;
/// The most attributes, entries of lists and so on that are looked at: for each byte of the sections,
/// and beyond. What compilers write has fewer than one for each.
const WORK_PER_BYTE: u64 = 4;
const WORK_BEYOND: u64 = 1 << 20;
/// The most bytes of names of files and functions.
const MOST_TEXT: usize = 32 << 20;

/// Why there are no lines, though there is debug information.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// It is too large.
    TooLarge(&'static str),
    /// It cannot be read.
    Broken(gimli::Error),
    /// It is written in a form that is not read.
    Unknown(&'static str),
}

impl From<gimli::Error> for Left {
    fn from(e: gimli::Error) -> Left {
        Left::Broken(e)
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its debug information is left out: ")?;
        match self {
            Left::TooLarge(what) => write!(f, "too many {what}"),
            Left::Broken(e) => write!(f, "it is broken ({e})"),
            Left::Unknown(what) => write!(f, "{what} are not read"),
        }
    }
}

type Read<T> = Result<T, Left>;

/// From an address on: the file (the number of its name, plus 1; 0 behind the end) and the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spot {
    address: u32,
    file: u32,
    line: u32,
}

/// What the debug information says of a module's code. Addresses count from the start of the code
/// section, as in all debug information of WebAssembly.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Addresses that can be those of code.
    code: Range<u32>,
    texts: Texts,
    /// Lines, by addresses.
    spots: Vec<Spot>,
    calls: Vec<Call>,
    /// From an address on, the innermost call, plus 1, of which it is inlined code; by addresses.
    innermost: Vec<(u32, u32)>,
}

impl Source {
    /// Reads the debug information of a module; `None` if it has none.
    ///
    /// # Errors
    /// Why it is left out.
    pub(crate) fn read(module: &Module<'_>) -> Read<Option<Source>> {
        let (Some(first), Some(last)) = (module.bodies.first(), module.bodies.last()) else {
            return Ok(None);
        };
        let sections = Sections::of(module)?;
        let Some(sections) = sections.filter(|sections| !sections.lines.is_empty()) else {
            return Ok(None);
        };
        let address = |at: u64| u32::try_from(at.saturating_sub(module.code_start));
        let code = (address(first.range().start), address(last.range().end));
        let (Ok(start), Ok(end)) = code else {
            return Ok(None);
        };
        let mut source = Source {
            code: start..end,
            ..Source::default()
        };
        let mut work = Work(sections.bytes as u64 * WORK_PER_BYTE + WORK_BEYOND);
        let units = units::all(&sections, &mut work)?;
        let (mut pieces, mut names) = (Vec::new(), HashMap::new());
        for index in 0..units.list.len() {
            let files = programs::read(&mut source, &sections, &units, index, &mut work)?;
            let Some(files) = files else {
                continue;
            };
            let mut calls = calls::Reader {
                source: &mut source,
                sections: &sections,
                units: &units,
                files,
                pieces: &mut pieces,
                names: &mut names,
                work: &mut work,
            };
            calls.read(index)?;
        }
        // The end of one function may be the start of another, whose line counts.
        source
            .spots
            .sort_by_key(|spot| (spot.address, spot.file != 0));
        source.innermost = calls::innermost(&pieces);
        Ok((!source.spots.is_empty()).then_some(source))
    }

    /// What is known of the instruction at an address: file, line and call.
    fn at(&self, address: u32) -> (u32, u32, u32) {
        let behind = self.spots.partition_point(|spot| spot.address <= address);
        let spot = behind.checked_sub(1).map(|i| self.spots[i]);
        let spot = spot.filter(|spot| spot.file != 0).unwrap_or_default();
        let behind = self.innermost.partition_point(|(from, _)| *from <= address);
        let call = behind.checked_sub(1).map_or(0, |i| self.innermost[i].1);
        (spot.file, spot.line, if spot.file == 0 { 0 } else { call })
    }
}

/// Texts, each once.
#[derive(Debug, Default)]
struct Texts {
    list: Vec<String>,
    numbers: HashMap<String, u32>,
    bytes: usize,
}

impl Texts {
    /// The number of a text, plus 1.
    fn number(&mut self, text: String) -> Read<u32> {
        if let Some(&number) = self.numbers.get(&text) {
            return Ok(number);
        }
        self.bytes += text.len();
        if self.bytes > MOST_TEXT {
            return Err(Left::TooLarge("bytes of names"));
        }
        self.list.push(text.clone());
        let number = self.list.len() as u32;
        self.numbers.insert(text, number);
        Ok(number)
    }
}

/// Work that may still be done.
struct Work(u64);

impl Work {
    fn spend(&mut self, work: usize) -> Read<()> {
        let left = self.0.checked_sub(work as u64);
        self.0 = left.ok_or(Left::TooLarge("entries"))?;
        Ok(())
    }
}
