//! Variables at fixed addresses of a memory, as the debug information names them.

use super::sections::Sections;
use super::units::{self, Entry, Unit};
use super::{Left, MOST_PIECES, MOST_TEXT, Read, WORK_BEYOND, WORK_PER_BYTE, Work};
use crate::module::Module;
use crate::names;
use gimli::{AttributeValue, Expression, Operation, UnitOffset};

/// Types that are followed from a variable to the one that says how large it is, and entries to the
/// one that has its name.
const HOPS: usize = 8;

/// Bytes of a text that take as long as an attribute.
const TEXT_PER_WORK: usize = 64;

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// None for a text in the code, for example.
    pub(crate) name: Option<String>,
    pub(crate) at: u64,
    /// 0 if that is not known.
    pub(crate) bytes: u64,
}

/// The variables of a module at fixed addresses, in the order of its units.
///
/// # Errors
/// Why they are left out.
pub(crate) fn all(module: &Module<'_>) -> Read<Vec<Variable>> {
    let mut found = Vec::new();
    let Some(sections) = Sections::of(module)? else {
        return Ok(found);
    };
    let mut work = Work(sections.bytes as u64 * WORK_PER_BYTE + WORK_BEYOND);
    let mut text = 0;
    for unit in &units::all(&sections, &mut work)?.list {
        let mut reader = Reader {
            sections: &sections,
            unit,
            work: &mut work,
            text: &mut text,
        };
        reader.read(&mut found)?;
    }
    Ok(found)
}

/// Reads a unit's entries.
struct Reader<'r, 'a> {
    sections: &'r Sections<'a>,
    unit: &'r Unit<'a>,
    work: &'r mut Work,
    /// Bytes of names until now.
    text: &'r mut usize,
}

impl<'a> Reader<'_, 'a> {
    fn read(&mut self, found: &mut Vec<Variable>) -> Read<()> {
        let unit = self.unit;
        let mut raw = unit.header.entries_raw(&unit.abbreviations, None)?;
        while !raw.is_empty() {
            let at = raw.next_offset().0;
            let Some(shape) = raw.read_abbreviation()? else {
                continue;
            };
            self.work.spend(1 + shape.attributes().len())?;
            raw.skip_attributes(shape.attributes())?;
            if shape.tag() != gimli::DW_TAG_variable {
                continue;
            }
            if let Some(entry) = unit.entry(at, self.work)?
                && let Some(at) = self.place(&entry)
            {
                let name = self.name(&entry)?;
                let bytes = self.bytes_of(&entry)?;
                self.keep(found, Variable { name, at, bytes })?;
            }
        }
        Ok(())
    }

    /// Keeps a variable, of which there may be so many and with so long names together.
    fn keep(&mut self, found: &mut Vec<Variable>, variable: Variable) -> Read<()> {
        *self.text += variable.name.as_ref().map_or(0, String::len);
        if *self.text > MOST_TEXT {
            return Err(Left::TooLarge("bytes of names"));
        }
        if found.len() == MOST_PIECES {
            return Err(Left::TooLarge("variables"));
        }
        found.push(variable);
        Ok(())
    }

    /// The address that is all of where an entry says its variable lies.
    fn place(&self, entry: &Entry<'a>) -> Option<u64> {
        let place = entry.attr_value(gimli::DW_AT_location)?;
        // Until version 3, it is a block of bytes like others.
        let Expression(bytes) = place.exprloc_value()?;
        let mut operations = Expression(bytes).operations(self.unit.header.encoding());
        let at = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.unit.indexed(self.sections, index.0)?,
            _ => return None,
        };
        matches!(operations.next(), Ok(None)).then_some(at)
    }

    /// The name of an entry, or of the one that it completes.
    fn name(&mut self, entry: &Entry<'a>) -> Read<Option<String>> {
        let mut entry = entry.clone();
        for _ in 0..HOPS {
            // In Rust, it says in which module the variable is.
            let linked = self.text(&entry, gimli::DW_AT_linkage_name)?;
            let linked = linked.filter(|name| rustc_demangle::try_demangle(name).is_ok());
            let name = match linked {
                Some(name) => Some(name),
                None => self.text(&entry, gimli::DW_AT_name)?,
            };
            if let Some(name) = name {
                return Ok(names::readable(&name));
            }
            match self.behind(&entry, gimli::DW_AT_specification)? {
                Some((_, next)) => entry = next,
                None => break,
            }
        }
        Ok(None)
    }

    /// A text of an entry. Many entries may have one text, so that to look at it is work, too.
    fn text(&mut self, entry: &Entry<'a>, name: gimli::DwAt) -> Read<Option<String>> {
        let Some(value) = entry.attr_value(name) else {
            return Ok(None);
        };
        let text = self.sections.text(&value, self.unit.texts);
        self.work.spend(1 + text.len() / TEXT_PER_WORK)?;
        Ok(Some(text))
    }

    /// The bytes of a variable; 0 if that is not known.
    fn bytes_of(&mut self, entry: &Entry<'a>) -> Read<u64> {
        let mut entry = entry.clone();
        let mut count = 1_u64;
        for _ in 0..HOPS {
            let size = entry.attr_value(gimli::DW_AT_byte_size);
            if let Some(size) = size.and_then(|size| size.udata_value()) {
                return Ok(size.saturating_mul(count));
            }
            let ty = match self.behind(&entry, gimli::DW_AT_type)? {
                Some(ty) => Some(ty),
                // The type is at the declaration.
                None => self.behind(&entry, gimli::DW_AT_specification)?,
            };
            let Some((at, ty)) = ty else { break };
            count = count.saturating_mul(self.items(at)?);
            entry = ty;
        }
        Ok(0)
    }

    /// The items of an array type; 1 for any other.
    fn items(&mut self, at: UnitOffset) -> Read<u64> {
        let unit = self.unit;
        let mut raw = unit.header.entries_raw(&unit.abbreviations, Some(at))?;
        let shape = raw.read_abbreviation()?;
        let Some(shape) = shape.filter(|shape| shape.tag() == gimli::DW_TAG_array_type) else {
            return Ok(1);
        };
        raw.skip_attributes(shape.attributes())?;
        let mut items = 1_u64;
        while shape.has_children() && !raw.is_empty() {
            let at = raw.next_offset().0;
            // The end of the children.
            let Some(child) = raw.read_abbreviation()? else {
                break;
            };
            self.work.spend(1 + child.attributes().len())?;
            raw.skip_attributes(child.attributes())?;
            if child.tag() != gimli::DW_TAG_subrange_type || child.has_children() {
                continue;
            }
            let Some(entry) = unit.entry(at, self.work)? else {
                continue;
            };
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            let bound = || number(gimli::DW_AT_upper_bound).map(|last| last.saturating_add(1));
            let length = number(gimli::DW_AT_count).or_else(bound);
            items = items.saturating_mul(length.unwrap_or(0));
        }
        Ok(items)
    }

    /// The entry of the same unit to which an attribute refers, with its place.
    fn behind(
        &mut self,
        entry: &Entry<'a>,
        name: gimli::DwAt,
    ) -> Read<Option<(UnitOffset, Entry<'a>)>> {
        let Some(AttributeValue::UnitRef(at)) = entry.attr_value(name) else {
            return Ok(None);
        };
        let entry = match self.unit.entry(at.0, self.work) {
            Err(Left::Broken(_)) => None,
            entry => entry?,
        };
        Ok(entry.map(|entry| (at, entry)))
    }
}
