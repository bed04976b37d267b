//! The units of the debug information: what was compiled at once.

use super::sections::{Bytes, Sections};
use super::{Left, MOST_ABBREVIATIONS, MOST_UNITS, Read, Work};
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAddrBase, DebugInfo, DebugRngListsBase,
    DebugStrOffsetsBase, DebuggingInformationEntry, Format, LittleEndian, UnitHeader,
};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most attributes of one entry.
const MOST_ATTRIBUTES: usize = 64;

pub(super) type Entry<'a> = DebuggingInformationEntry<Bytes<'a>, usize>;

pub(super) struct Unit<'a> {
    pub(super) header: UnitHeader<Bytes<'a>>,
    pub(super) abbreviations: Rc<Abbreviations>,
    /// Folder in which the compiler ran.
    pub(super) folder: String,
    /// Offset of its line program.
    pub(super) program: Option<usize>,
    /// What its lists of ranges begin with, and where its parts of shared lists are.
    pub(super) base: u64,
    pub(super) addresses: DebugAddrBase<usize>,
    pub(super) lists: DebugRngListsBase<usize>,
    pub(super) texts: DebugStrOffsetsBase<usize>,
}

/// All units, in their order.
pub(super) struct Units<'a> {
    pub(super) list: Vec<Unit<'a>>,
    /// For each line program, the end of the bytes that are only its own, and the unit that it is
    /// read for.
    pub(super) programs: BTreeMap<usize, (usize, usize)>,
}

/// Reads the units.
pub(super) fn all<'a>(sections: &Sections<'a>, work: &mut Work) -> Read<Units<'a>> {
    let mut headers = Vec::new();
    let mut rest = DebugInfo::new(sections.info, LittleEndian).units();
    while let Some(header) = rest.next()? {
        if headers.len() == MOST_UNITS {
            return Err(Left::TooLarge("units"));
        }
        if header.format() == Format::Dwarf64 {
            return Err(Left::Unknown("offsets of 64 bits"));
        }
        headers.push(header);
    }
    if sections.abbreviations.len() > MOST_ABBREVIATIONS {
        return Err(Left::TooLarge("bytes of abbreviations"));
    }
    let offsets = headers.iter().map(|h| h.debug_abbrev_offset().0);
    let tables = owned(offsets, sections.abbreviations.len());
    let mut read = BTreeMap::new();
    for (&start, &(end, _)) in &tables {
        let bytes = sections.abbreviations.get(start..end).unwrap_or(&[]);
        let table = DebugAbbrev::new(bytes, LittleEndian);
        let table = table.abbreviations(gimli::DebugAbbrevOffset(0))?;
        read.insert(start, Rc::new(table));
    }
    let mut list = Vec::with_capacity(headers.len());
    for header in headers {
        if let Some(table) = read.get(&header.debug_abbrev_offset().0) {
            list.push(Unit::new(sections, header, table.clone(), work)?);
        }
    }
    let programs = list.iter().map(|unit| unit.program.unwrap_or(usize::MAX));
    let programs = owned(programs, sections.lines.len());
    Ok(Units { list, programs })
}

/// Distinct offsets of parts of a section: the end of each, which is the next one's start, and the
/// first of those that refer to it.
fn owned(offsets: impl Iterator<Item = usize>, len: usize) -> BTreeMap<usize, (usize, usize)> {
    let mut parts = BTreeMap::new();
    for (index, offset) in offsets.enumerate() {
        parts.entry(offset).or_insert((len, index));
    }
    let starts: Vec<usize> = parts.keys().skip(1).copied().collect();
    for (part, next) in parts.values_mut().zip(starts) {
        part.0 = next.min(len);
    }
    parts
}

impl<'a> Unit<'a> {
    fn new(
        sections: &Sections<'a>,
        header: UnitHeader<Bytes<'a>>,
        abbreviations: Rc<Abbreviations>,
        work: &mut Work,
    ) -> Read<Unit<'a>> {
        // Where there is a list, it begins behind its head.
        let mut unit = Unit {
            header,
            abbreviations,
            folder: String::new(),
            program: None,
            base: 0,
            addresses: DebugAddrBase(8),
            lists: DebugRngListsBase(12),
            texts: DebugStrOffsetsBase(8),
        };
        let root = unit.header.root_offset().0;
        let Some(root) = unit.entry(root, work)? else {
            return Ok(unit);
        };
        for attribute in root.attrs() {
            match attribute.value() {
                AttributeValue::DebugAddrBase(base) => unit.addresses = base,
                AttributeValue::DebugRngListsBase(base) => unit.lists = base,
                AttributeValue::DebugStrOffsetsBase(base) => unit.texts = base,
                AttributeValue::DebugLineRef(program) => unit.program = Some(program.0),
                _ => {}
            }
        }
        if let Some(value) = root.attr_value(gimli::DW_AT_low_pc) {
            unit.base = unit.address(sections, &value).unwrap_or(0);
        }
        if let Some(value) = root.attr_value(gimli::DW_AT_comp_dir) {
            unit.folder = sections.text(&value, unit.texts);
        }
        Ok(unit)
    }

    /// The entry at an offset in the unit; none if there is none, or a very large one.
    pub(super) fn entry(&self, offset: usize, work: &mut Work) -> Read<Option<Entry<'a>>> {
        let mut entry = Entry::null();
        let offset = gimli::UnitOffset(offset);
        let mut raw = self.header.entries_raw(&self.abbreviations, Some(offset))?;
        let Some(shape) = raw.read_abbreviation()? else {
            return Ok(None);
        };
        let attributes = shape.attributes();
        work.spend(1 + attributes.len())?;
        if attributes.len() > MOST_ATTRIBUTES {
            return Ok(None);
        }
        raw.read_attributes(attributes, &mut entry.attrs)?;
        Ok(Some(entry))
    }

    /// The address that an attribute is.
    pub(super) fn address(
        &self,
        sections: &Sections<'a>,
        value: &AttributeValue<Bytes<'a>>,
    ) -> Option<u64> {
        match *value {
            AttributeValue::Addr(address) => Some(address),
            AttributeValue::DebugAddrIndex(index) => self.indexed(sections, index.0),
            _ => None,
        }
    }

    /// The address at this place of the unit's list.
    pub(super) fn indexed(&self, sections: &Sections<'a>, index: usize) -> Option<u64> {
        // No list has as many as overflow would take.
        let index = u32::try_from(index).ok()?;
        let index = gimli::DebugAddrIndex(index as usize);
        let size = self.header.address_size();
        sections
            .addresses
            .get_address(size, self.addresses, index)
            .ok()
    }
}
