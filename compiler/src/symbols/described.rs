//! The unit of debug information of an image: its lines, its functions, and the calls that were
//! inlined in them.
//!
//! What an image says of its lines is not validated, so nothing here depends on it: rows that
//! contradict each other give wrong words in a debugger, and no panic.

use gimli::write::{
    Address, AttributeValue, FileId, LineProgram, LineString, Range, RangeList, Unit, UnitEntryId,
};
use gimli::{
    DW_AT_abstract_origin, DW_AT_call_file, DW_AT_call_line, DW_AT_comp_dir, DW_AT_external,
    DW_AT_high_pc, DW_AT_inline, DW_AT_language, DW_AT_low_pc, DW_AT_name, DW_AT_producer,
    DW_AT_ranges, DW_TAG_inlined_subroutine, DW_TAG_subprogram, LineEncoding,
};
use sing_image::elf::Image;
use sing_image::lines::{Place, Row, Table};
use sing_image::meta::Func;
use std::collections::HashMap;

/// The name of a function that has none.
const NAMELESS: &str = "?";
/// The folder that files are relative to.
const HERE: &[u8] = b".";

/// A unit that is being described.
pub(super) struct Described<'a> {
    unit: &'a mut Unit,
    image: &'a Image<'a>,
    table: Table<'a>,
    /// The table's rows, in the order of their addresses.
    rows: Vec<Row>,
    lines: LineProgram,
    files: HashMap<&'a str, FileId>,
    /// The entries of functions that were inlined somewhere, by their names.
    inlined: HashMap<&'a str, UnitEntryId>,
}

/// A call that was inlined, within the function or call around it: the name of the called function,
/// and where the call stands.
type Key<'a> = (&'a str, Option<FileId>, u32);

/// A function's code, or a call's that was inlined: the calls within, in the order of their code.
#[derive(Default)]
struct Body<'a> {
    /// The places of the code, in the order of their addresses.
    pieces: Vec<std::ops::Range<u32>>,
    calls: Vec<(Key<'a>, Body<'a>)>,
    by_key: HashMap<Key<'a>, usize>,
}

impl<'a> Body<'a> {
    fn add(&mut self, piece: std::ops::Range<u32>) {
        match self.pieces.last_mut() {
            Some(last) if last.end == piece.start => last.end = piece.end,
            _ => self.pieces.push(piece),
        }
    }

    fn call(&mut self, key: Key<'a>) -> &mut Body<'a> {
        let next = self.calls.len();
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            self.calls.push((key, Body::default()));
        }
        &mut self.calls[index].1
    }
}

/// Text as DWARF has it, which ends with a zero.
fn text(text: &str) -> Vec<u8> {
    text.bytes()
        .map(|b| if b == 0 { b'?' } else { b })
        .collect()
}

/// The language whose names and expressions a debugger expects, by the end of a file's name.
fn language(file: &str) -> Option<gimli::DwLang> {
    match file.rsplit_once('.')?.1 {
        "rs" => Some(gimli::DW_LANG_Rust),
        "c" => Some(gimli::DW_LANG_C99),
        "cc" | "cpp" | "cxx" => Some(gimli::DW_LANG_C_plus_plus_14),
        "go" => Some(gimli::DW_LANG_Go),
        _ => None,
    }
}

impl<'a> Described<'a> {
    pub(super) fn new(unit: &'a mut Unit, image: &'a Image<'a>) -> Self {
        let name = text(&image.manifest.name);
        let lines = LineProgram::new(
            unit.encoding(),
            LineEncoding::default(),
            LineString::String(HERE.to_vec()),
            None,
            LineString::String(name),
            None,
        );
        let table = Table::new(image.lines);
        let mut rows: Vec<Row> = table.rows().collect();
        rows.retain(|row| (row.offset as usize) < image.code.len());
        rows.sort_by_key(|row| row.offset);
        Described {
            unit,
            image,
            table,
            rows,
            lines,
            files: HashMap::new(),
            inlined: HashMap::new(),
        }
    }

    /// Writes everything into the unit.
    pub(super) fn write(mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.line_program(&rows);
        self.root();
        let mut rest = &rows[..];
        for func in self.image.meta.funcs.iter().filter(|func| func.size > 0) {
            let end = func.offset.saturating_add(func.size);
            // The row that the function begins in may have begun before it.
            let before = rest.partition_point(|row| row.offset <= func.offset);
            rest = &rest[before.saturating_sub(1)..];
            let own = rest.partition_point(|row| row.offset < end);
            self.function(func, &rest[..own], end);
        }
        self.unit.line_program = self.lines;
    }

    fn file(&mut self, place: &Place<'a>) -> Option<FileId> {
        let file = place.file.filter(|file| !file.is_empty())?;
        let (lines, files) = (&mut self.lines, &mut self.files);
        let folder = lines.default_directory();
        let new = || lines.add_file(LineString::String(text(file)), folder, None);
        Some(*files.entry(file).or_insert_with(new))
    }

    fn line_program(&mut self, rows: &[Row]) {
        self.lines.begin_sequence(Some(Address::Constant(0)));
        for row in rows {
            let place = self.table.places(*row).next();
            let file = place.and_then(|place| self.file(&place));
            let next = self.lines.row();
            next.address_offset = row.offset.into();
            next.line = file.map_or(0, |_| row.line.into());
            if let Some(file) = file {
                next.file = file;
            }
            self.lines.generate_row();
        }
        self.lines.end_sequence(self.image.code.len() as u64);
    }

    fn root(&mut self) {
        let languages = self.files.keys().filter_map(|file| language(file));
        // Of several, the one that comes first in the standard: the choice is the same each time.
        let language = languages.min_by_key(|language| language.0);
        let name = text(&self.image.manifest.name);
        let size = self.image.code.len() as u64;
        let root = self.unit.root();
        let root = self.unit.get_mut(root);
        root.set(DW_AT_name, AttributeValue::String(name));
        root.set(DW_AT_producer, AttributeValue::String(b"sing".to_vec()));
        root.set(DW_AT_comp_dir, AttributeValue::String(HERE.to_vec()));
        if let Some(language) = language {
            root.set(DW_AT_language, AttributeValue::Language(language));
        }
        root.set(DW_AT_low_pc, AttributeValue::Address(Address::Constant(0)));
        root.set(DW_AT_high_pc, AttributeValue::Udata(size));
    }

    /// Adds a function with its calls. The rows begin with the one that its first instruction is in.
    fn function(&mut self, func: &'a Func, rows: &[Row], end: u32) {
        let mut body = Body::default();
        body.add(func.offset..end);
        for (i, row) in rows.iter().enumerate() {
            let from = row.offset.max(func.offset);
            let to = rows.get(i + 1).map_or(end, |next| next.offset.min(end));
            if from >= to {
                continue;
            }
            let places: Vec<Place<'a>> = self.table.places(*row).collect();
            // Each place but the last is in a function that was called at the next one.
            let mut at = &mut body;
            for pair in places.windows(2).rev() {
                let key = (
                    pair[0].function.unwrap_or(NAMELESS),
                    self.file(&pair[1]),
                    pair[1].line,
                );
                at = at.call(key);
                at.add(from..to);
            }
        }
        let root = self.unit.root();
        let entry = self.unit.add(root, DW_TAG_subprogram);
        let of = self.unit.get_mut(entry);
        of.set(DW_AT_name, AttributeValue::String(text(&func.name)));
        of.set(DW_AT_external, AttributeValue::Flag(true));
        self.code(entry, &body.pieces);
        self.calls(entry, &body);
    }

    /// Says where an entry's code is.
    fn code(&mut self, entry: UnitEntryId, pieces: &[std::ops::Range<u32>]) {
        if let [piece] = pieces {
            let start = Address::Constant(piece.start.into());
            let size = u64::from(piece.end - piece.start);
            let entry = self.unit.get_mut(entry);
            entry.set(DW_AT_low_pc, AttributeValue::Address(start));
            entry.set(DW_AT_high_pc, AttributeValue::Udata(size));
            return;
        }
        let ranges = pieces.iter().map(|piece| Range::StartEnd {
            begin: Address::Constant(piece.start.into()),
            end: Address::Constant(piece.end.into()),
        });
        let ranges = self.unit.ranges.add(RangeList(ranges.collect()));
        let entry = self.unit.get_mut(entry);
        entry.set(DW_AT_ranges, AttributeValue::RangeListRef(ranges));
    }

    /// Adds the calls within a function or call. They are as deep as
    /// [`DEPTH`](sing_image::lines::DEPTH) says at most.
    fn calls(&mut self, parent: UnitEntryId, body: &Body<'a>) {
        for ((name, file, line), call) in &body.calls {
            let origin = self.origin(name);
            let entry = self.unit.add(parent, DW_TAG_inlined_subroutine);
            let of = self.unit.get_mut(entry);
            of.set(DW_AT_abstract_origin, AttributeValue::UnitRef(origin));
            if file.is_some() {
                of.set(DW_AT_call_file, AttributeValue::FileIndex(*file));
                of.set(DW_AT_call_line, AttributeValue::Udata((*line).into()));
            }
            self.code(entry, &call.pieces);
            self.calls(entry, call);
        }
    }

    /// The entry of a function that was inlined.
    fn origin(&mut self, name: &'a str) -> UnitEntryId {
        if let Some(&entry) = self.inlined.get(name) {
            return entry;
        }
        let root = self.unit.root();
        let entry = self.unit.add(root, DW_TAG_subprogram);
        let of = self.unit.get_mut(entry);
        of.set(DW_AT_name, AttributeValue::String(text(name)));
        let inlined = AttributeValue::Inline(gimli::DW_INL_inlined);
        of.set(DW_AT_inline, inlined);
        self.inlined.insert(name, entry);
        entry
    }
}
