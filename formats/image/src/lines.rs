//! Lines: which place in a program's text an instruction comes from, for people who read crash
//! reports and disassemblies.
//!
//! The section is optional, and nothing depends on what it says: [`Table`] reads it where it lies,
//! with every number tested at its use, and a wrong table gives wrong words or none. A look takes
//! time bounded by the constants here, whatever the bytes are: it halves the list of blocks, reads
//! the rows of one, and follows at most [`DEPTH`] calls that were inlined.
//!
//! The section consists of numbers of 32 bits, little endian: [`VERSION`] and the numbers of blocks,
//! of groups of calls, of texts, of bytes of rows and of bytes of calls; then the blocks, the groups
//! and the ends of the texts; then the rows, the calls, and the texts one behind the other. A block
//! is the first of its rows in full and the place of the others among the rows' bytes. Of these, each
//! is the difference from the one before it, in numbers of variable length (LEB128): four times that
//! of the offsets, plus 1 if another file follows and 2 if another call follows; the difference of the
//! lines, with its sign; then these. A group is the place of its [`GROUP`] calls among the calls'
//! bytes, each of which is four such numbers: name, file, line, and by how much the number of the
//! outer call is lower, 0 if there is none.

mod write;

pub use write::Lines;

/// The format's version, the section's first number.
pub const VERSION: u32 = 1;
/// The most rows of a block.
pub const BLOCK: usize = 32;
/// The calls of a group.
pub const GROUP: usize = 16;
/// The most calls, inlined one into another, of one place.
pub const DEPTH: usize = 16;
/// The most bytes of a text that is shown.
const TEXT: usize = 1024;

/// Bytes of the numbers at the section's start, of a block, of a group, and of a text's end.
const HEAD: usize = 24;
const BLOCK_BYTES: usize = 20;
const GROUP_BYTES: usize = 4;
const END_BYTES: usize = 4;

/// From an offset in the code on: the place in the program's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Offset in the code.
    pub offset: u32,
    /// The file: the number of its text, plus 1. 0 if no place is known.
    pub file: u32,
    /// The line; 0 if it is not known.
    pub line: u32,
    /// The call of which this is the inlined code: its number, plus 1. 0 if it is of none.
    pub call: u32,
}

/// A call whose code was inlined at its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Call {
    /// The called function: the number of its name, plus 1. 0 if it has none.
    pub name: u32,
    /// The file that the call stands in, as in [`Row`].
    pub file: u32,
    /// The line.
    pub line: u32,
    /// The call of which the caller is the inlined code: its number, which is lower, plus 1.
    pub outer: u32,
}

/// A place in a program's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The inlined function; `None` if it is the function that has the code itself, or has no name.
    pub function: Option<&'a str>,
    /// The file, where known.
    pub file: Option<&'a str>,
    /// The line; 0 if it is not known.
    pub line: u32,
}

/// The section, as it lies in an image. The default is an empty one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Table<'a> {
    blocks: &'a [u8],
    groups: &'a [u8],
    ends: &'a [u8],
    rows: &'a [u8],
    calls: &'a [u8],
    texts: &'a [u8],
}

impl<'a> Table<'a> {
    /// Finds the parts of the section; an empty table if it is of another version, or too short.
    #[must_use]
    pub fn new(section: &'a [u8]) -> Table<'a> {
        Table::find(section).unwrap_or_default()
    }

    fn find(section: &'a [u8]) -> Option<Table<'a>> {
        if number(section, 0)? != VERSION {
            return None;
        }
        let mut rest = section.get(HEAD..)?;
        let mut part = |place: usize, size: usize| {
            let bytes = (number(section, place)? as usize).checked_mul(size)?;
            let (part, behind) = rest.split_at_checked(bytes)?;
            rest = behind;
            Some(part)
        };
        Some(Table {
            blocks: part(1, BLOCK_BYTES)?,
            groups: part(2, GROUP_BYTES)?,
            ends: part(3, END_BYTES)?,
            rows: part(4, 1)?,
            calls: part(5, 1)?,
            texts: rest,
        })
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The places of the instruction at this offset in the code, from the innermost inlined
    /// function to the one that has the code. None, if nothing is known.
    pub fn at(&self, offset: u32) -> impl Iterator<Item = Place<'a>> + use<'a> {
        let row = self.row_at(offset).filter(|row| row.file != 0);
        self.places(row.unwrap_or_default())
    }

    /// The row that an offset in the code belongs to.
    fn row_at(&self, offset: u32) -> Option<Row> {
        let count = self.blocks.len() / BLOCK_BYTES;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.block(middle)?.0.offset <= offset {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let rows = self.rows_of(low.checked_sub(1)?)?;
        rows.take_while(|row| row.offset <= offset).last()
    }

    /// The first row of a block, and the place of the others.
    fn block(&self, index: usize) -> Option<(Row, usize)> {
        let block = self.blocks.get(index.checked_mul(BLOCK_BYTES)?..)?;
        let row = Row {
            offset: number(block, 0)?,
            file: number(block, 1)?,
            line: number(block, 2)?,
            call: number(block, 3)?,
        };
        Some((row, number(block, 4)? as usize))
    }

    fn rows_of(&self, index: usize) -> Option<Rows<'a>> {
        let (first, from) = self.block(index)?;
        let to = self.block(index + 1).map_or(self.rows.len(), |next| next.1);
        Some(Rows {
            next: Some(first),
            rest: self.rows.get(from..to).unwrap_or(&[]),
            left: BLOCK,
        })
    }

    /// All rows, in the order of their offsets.
    pub fn rows(&self) -> impl Iterator<Item = Row> + use<'a> {
        let table = *self;
        let blocks = 0..self.blocks.len() / BLOCK_BYTES;
        blocks.filter_map(move |i| table.rows_of(i)).flatten()
    }

    /// The places of a row, from the innermost; none if it has no file.
    pub fn places(&self, row: Row) -> impl Iterator<Item = Place<'a>> + use<'a> {
        let table = *self;
        let mut next = (row.file != 0).then_some((row.file, row.line, row.call));
        let step = move || {
            let (file, line, number) = next?;
            let call = table.call(number);
            // Calls that come to an end are numbered downward.
            let outer = call.filter(|call| call.outer < number);
            next = outer.map(|call| (call.file, call.line, call.outer));
            Some(Place {
                function: call.and_then(|call| table.text(call.name)),
                file: table.text(file),
                line,
            })
        };
        core::iter::from_fn(step).take(DEPTH)
    }

    fn call(&self, number: u32) -> Option<Call> {
        let index = number.checked_sub(1)? as usize;
        let start = self::number(self.groups, index / GROUP)?;
        let mut rest = self.calls.get(start as usize..)?;
        let mut next = || u32::try_from(variable(&mut rest)?).ok();
        for _ in 0..4 * (index % GROUP) {
            next()?;
        }
        let (name, file, line, below) = (next()?, next()?, next()?, next()?);
        let outer = match below {
            0 => 0,
            below => number.checked_sub(below)?,
        };
        Some(Call {
            name,
            file,
            line,
            outer,
        })
    }

    fn text(&self, text: u32) -> Option<&'a str> {
        let index = text.checked_sub(1)? as usize;
        let start = match index.checked_sub(1) {
            Some(before) => number(self.ends, before)?,
            None => 0,
        };
        let end = number(self.ends, index)?;
        let text = self.texts.get(start as usize..end as usize)?;
        core::str::from_utf8(text.get(..TEXT).unwrap_or(text)).ok()
    }
}

/// The number at this place in a list of numbers.
fn number(bytes: &[u8], place: usize) -> Option<u32> {
    let bytes = bytes.get(place.checked_mul(4)?..)?;
    bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The rows of a block.
struct Rows<'a> {
    next: Option<Row>,
    rest: &'a [u8],
    left: usize,
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        self.left = self.left.checked_sub(1)?;
        let row = self.next.take()?;
        self.next = self.read(row);
        Some(row)
    }
}

impl Rows<'_> {
    fn read(&mut self, row: Row) -> Option<Row> {
        let head = variable(&mut self.rest)?;
        let line = variable(&mut self.rest)?;
        // The sign is the lowest bit.
        let line = (line >> 1) as i64 ^ -((line & 1) as i64);
        let offset = u32::try_from(head >> 2).ok()?;
        let mut row = Row {
            offset: row.offset.checked_add(offset)?,
            line: u32::try_from(i64::from(row.line).checked_add(line)?).ok()?,
            ..row
        };
        if head & 1 != 0 {
            row.file = u32::try_from(variable(&mut self.rest)?).ok()?;
        }
        if head & 2 != 0 {
            row.call = u32::try_from(variable(&mut self.rest)?).ok()?;
        }
        Some(row)
    }
}

/// Reads a number of variable length.
fn variable(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..42).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
