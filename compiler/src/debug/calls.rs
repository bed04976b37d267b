//! Calls that the compiler of the module inlined: entries of the debug information that name the
//! called function, the line of the call, and the addresses of its code.

use super::programs::Files;
use super::sections::{Bytes, Sections};
use super::units::{Entry, Unit, Units};
use super::{Left, MOST_PIECES, Read, Source, Work};
use crate::names;
use gimli::{AttributeValue, RangeListsOffset, RawRngListEntry};
use sing_image::lines::Call;
use std::collections::{BTreeSet, HashMap};

/// Entries that are followed from a call to the name of its function.
const HOPS: usize = 4;

/// A piece of a call's code.
pub(super) struct Piece {
    start: u32,
    end: u32,
    /// How deep in the tree its call is.
    depth: u32,
    /// The call, plus 1.
    call: u32,
}

/// Reads a unit's entries.
pub(super) struct Reader<'r, 'a> {
    pub(super) source: &'r mut Source,
    pub(super) sections: &'r Sections<'a>,
    pub(super) units: &'r Units<'a>,
    pub(super) files: Files<'a>,
    pub(super) pieces: &'r mut Vec<Piece>,
    /// Names by the place of their entries, over all units.
    pub(super) names: &'r mut HashMap<(usize, usize), u32>,
    pub(super) work: &'r mut Work,
}

impl<'a> Reader<'_, 'a> {
    pub(super) fn read(&mut self, index: usize) -> Read<()> {
        let unit = &self.units.list[index];
        let mut raw = unit.header.entries_raw(&unit.abbreviations, None)?;
        // Functions and calls that contain the next entry: their depths, and the call, plus 1.
        let mut around: Vec<(isize, u32)> = Vec::new();
        while !raw.is_empty() {
            let (at, depth) = (raw.next_offset().0, raw.next_depth());
            let Some(shape) = raw.read_abbreviation()? else {
                continue;
            };
            self.work.spend(1 + shape.attributes().len())?;
            raw.skip_attributes(shape.attributes())?;
            while around.pop_if(|(of, _)| *of >= depth).is_some() {}
            match shape.tag() {
                gimli::DW_TAG_subprogram => around.push((depth, 0)),
                gimli::DW_TAG_inlined_subroutine => {
                    let outer = around.last().map_or(0, |a| a.1);
                    let level = around.len() as u32;
                    if let Some(entry) = unit.entry(at, self.work)? {
                        let call = self.call(unit, index, &entry, outer, level)?;
                        around.push((depth, call));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes over a call; returns its number, plus 1, or that of the one around it if it has no code.
    fn call(
        &mut self,
        unit: &Unit<'a>,
        index: usize,
        entry: &Entry<'a>,
        outer: u32,
        depth: u32,
    ) -> Read<u32> {
        let call = self.source.calls.len() as u32 + 1;
        let before = self.pieces.len();
        self.pieces_of(unit, entry, |start, end| Piece {
            start,
            end,
            depth,
            call,
        })?;
        if self.pieces.len() == before {
            return Ok(outer);
        }
        let number = |name| entry.attr_value(name).and_then(|v| v.udata_value());
        let file = match entry.attr_value(gimli::DW_AT_call_file) {
            Some(AttributeValue::FileIndex(file)) => {
                let Reader {
                    files,
                    source,
                    sections,
                    work,
                    ..
                } = self;
                files.number(file, source, sections, unit, work)?
            }
            _ => 0,
        };
        let line = number(gimli::DW_AT_call_line).unwrap_or(0);
        let name = self.name(index, entry)?;
        self.source.calls.push(Call {
            name,
            file,
            line: u32::try_from(line).unwrap_or(0),
            outer,
        });
        Ok(call)
    }

    /// The name of the function that a call calls: the number of the text, plus 1.
    fn name(&mut self, index: usize, entry: &Entry<'a>) -> Read<u32> {
        let Some(origin) = self.origin(index, entry) else {
            return Ok(0);
        };
        if let Some(&name) = self.names.get(&origin) {
            return Ok(name);
        }
        let mut next = Some(origin);
        let mut name = None;
        for _ in 0..HOPS {
            let Some((index, at)) = next else { break };
            let unit = &self.units.list[index];
            let Some(entry) = unit.entry(at, self.work)? else {
                break;
            };
            let of = [
                gimli::DW_AT_linkage_name,
                gimli::DW_AT_MIPS_linkage_name,
                gimli::DW_AT_name,
            ];
            if let Some(value) = of.into_iter().find_map(|of| entry.attr_value(of)) {
                let text = self.sections.text(&value, unit.texts);
                self.work.spend(text.len())?;
                name = names::readable(&text);
                break;
            }
            next = self.origin(index, &entry);
        }
        let number = match name {
            Some(name) => self.source.texts.number(name)?,
            None => 0,
        };
        self.names.insert(origin, number);
        Ok(number)
    }

    /// The entry that an entry refers to for what it does not say itself: unit and offset there.
    fn origin(&self, index: usize, entry: &Entry<'a>) -> Option<(usize, usize)> {
        let value = entry.attr_value(gimli::DW_AT_abstract_origin);
        match value.or_else(|| entry.attr_value(gimli::DW_AT_specification))? {
            AttributeValue::UnitRef(at) => Some((index, at.0)),
            AttributeValue::DebugInfoRef(at) => {
                let start = |unit: &Unit<'_>| unit.header.debug_info_offset();
                let behind = self
                    .units
                    .list
                    .partition_point(|unit| start(unit) <= Some(at));
                let index = behind.checked_sub(1)?;
                let start = start(&self.units.list[index])?;
                Some((index, at.0.checked_sub(start.0)?))
            }
            _ => None,
        }
    }

    /// Takes over the pieces of code of a call.
    fn pieces_of(
        &mut self,
        unit: &Unit<'a>,
        entry: &Entry<'a>,
        piece: impl Fn(u32, u32) -> Piece,
    ) -> Read<()> {
        let code = self.source.code.clone();
        let add = |pieces: &mut Vec<Piece>, start: Option<u64>, end: Option<u64>| {
            let number = |at: Option<u64>| at.and_then(|at| u32::try_from(at).ok());
            // What the linker removed is at other places.
            if let (Some(start), Some(end)) = (number(start), number(end))
                && code.start <= start
                && start < end
                && end <= code.end
            {
                if pieces.len() == MOST_PIECES {
                    return Err(Left::TooLarge("pieces of inlined code"));
                }
                pieces.push(piece(start, end));
            }
            Ok(())
        };
        let address = |value: &AttributeValue<Bytes<'a>>| unit.address(self.sections, value);
        if let Some(low) = entry.attr_value(gimli::DW_AT_low_pc) {
            let low = address(&low);
            let high = entry.attr_value(gimli::DW_AT_high_pc);
            let high = high.and_then(|high| match high.udata_value() {
                Some(size) => low?.checked_add(size),
                None => address(&high),
            });
            return add(self.pieces, low, high);
        }
        let encoding = unit.header.encoding();
        let ranges = &self.sections.ranges;
        let list = match entry.attr_value(gimli::DW_AT_ranges) {
            Some(AttributeValue::RangeListsRef(at)) => RangeListsOffset(at.0),
            // No list is as long as overflow would take.
            Some(AttributeValue::DebugRngListsIndex(index)) if index.0 <= u32::MAX as usize => {
                ranges.get_offset(encoding, unit.lists, index)?
            }
            _ => return Ok(()),
        };
        let mut list = ranges.raw_ranges(list, encoding)?;
        let mut base = Some(unit.base);
        let indexed = |index: gimli::DebugAddrIndex<usize>| unit.indexed(self.sections, index.0);
        let sum = |start: Option<u64>, length: u64| start?.checked_add(length);
        while let Some(range) = list.next()? {
            self.work.spend(1)?;
            let (start, end) = match range {
                RawRngListEntry::BaseAddress { addr } => {
                    base = Some(addr);
                    continue;
                }
                RawRngListEntry::BaseAddressx { addr } => {
                    base = indexed(addr);
                    continue;
                }
                RawRngListEntry::AddressOrOffsetPair { begin, end }
                | RawRngListEntry::OffsetPair { begin, end } => (sum(base, begin), sum(base, end)),
                RawRngListEntry::StartEnd { begin, end } => (Some(begin), Some(end)),
                RawRngListEntry::StartLength { begin, length } => {
                    (Some(begin), begin.checked_add(length))
                }
                RawRngListEntry::StartxEndx { begin, end } => (indexed(begin), indexed(end)),
                RawRngListEntry::StartxLength { begin, length } => {
                    (indexed(begin), sum(indexed(begin), length))
                }
            };
            add(self.pieces, start, end)?;
        }
        Ok(())
    }
}

/// From which address on which call is the innermost one.
pub(super) fn innermost(pieces: &[Piece]) -> Vec<(u32, u32)> {
    // Those that end at an address leave before others come.
    let mut changes: Vec<(u32, bool, usize)> = Vec::with_capacity(2 * pieces.len());
    for (i, piece) in pieces.iter().enumerate() {
        changes.extend([(piece.start, true, i), (piece.end, false, i)]);
    }
    changes.sort_unstable();
    let mut active = BTreeSet::new();
    let mut innermost: Vec<(u32, u32)> = Vec::new();
    for (at, begins, i) in changes {
        let key = (pieces[i].depth, pieces[i].call, i);
        match begins {
            true => active.insert(key),
            false => active.remove(&key),
        };
        let call = active.last().map_or(0, |(_, call, _)| *call);
        match innermost.last_mut() {
            Some(last) if last.0 == at => last.1 = call,
            Some(last) if last.1 == call => {}
            _ => innermost.push((at, call)),
        }
    }
    innermost
}
