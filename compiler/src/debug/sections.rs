//! The debug sections of a module, and the texts in them.

use super::{Left, MOST_BYTES, Read};
use crate::module::Module;
use gimli::{
    AttributeValue, DebugAddr, DebugRanges, DebugRngLists, DebugStrOffsets, DebugStrOffsetsBase,
    EndianSlice, Format, LittleEndian, RangeLists,
};

pub(super) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The longest text that is looked at, in bytes: names of functions in generic code are long.
const LONGEST: usize = 4096;

/// The sections, empty where the module has none.
pub(super) struct Sections<'a> {
    /// Bytes of all of them.
    pub(super) bytes: usize,
    pub(super) info: &'a [u8],
    pub(super) abbreviations: &'a [u8],
    pub(super) lines: &'a [u8],
    pub(super) addresses: DebugAddr<Bytes<'a>>,
    pub(super) ranges: RangeLists<Bytes<'a>>,
    texts: &'a [u8],
    line_texts: &'a [u8],
    text_offsets: DebugStrOffsets<Bytes<'a>>,
}

impl<'a> Sections<'a> {
    /// The sections of a module; `None` if it has no entries.
    pub(super) fn of(module: &Module<'a>) -> Read<Option<Sections<'a>>> {
        let find = |name: &str| -> &'a [u8] {
            let section = module.customs.iter().find(|c| c.name == name);
            section.map_or(&[], |c| c.bytes)
        };
        let names = [
            "info", "abbrev", "line", "addr", "ranges", "rnglists", "str", "line_str",
        ];
        let bytes = names.map(|name| find(&format!(".debug_{name}")));
        let sum = bytes.iter().map(|bytes| bytes.len()).sum();
        if sum > MOST_BYTES {
            return Err(Left::TooLarge("bytes"));
        }
        let [
            info,
            abbreviations,
            lines,
            addresses,
            ranges,
            lists,
            texts,
            line_texts,
        ] = bytes;
        if info.is_empty() {
            return Ok(None);
        }
        let slice = |bytes| EndianSlice::new(bytes, LittleEndian);
        Ok(Some(Sections {
            bytes: sum,
            info,
            abbreviations,
            lines,
            addresses: DebugAddr::from(slice(addresses)),
            ranges: RangeLists::new(
                DebugRanges::from(slice(ranges)),
                DebugRngLists::from(slice(lists)),
            ),
            texts,
            line_texts,
            text_offsets: DebugStrOffsets::from(slice(find(".debug_str_offsets"))),
        }))
    }

    /// The text that an attribute is, or refers to; an empty one if it is none, or of no end within
    /// [`LONGEST`].
    pub(super) fn text(
        &self,
        value: &AttributeValue<Bytes<'a>>,
        offsets: DebugStrOffsetsBase<usize>,
    ) -> String {
        let at = |section: &'a [u8], offset: usize| section.get(offset..).unwrap_or(&[]);
        let bytes = match *value {
            AttributeValue::String(text) => text.slice(),
            AttributeValue::DebugStrRef(offset) => at(self.texts, offset.0),
            AttributeValue::DebugLineStrRef(offset) => at(self.line_texts, offset.0),
            // No list has as many texts as overflow would take.
            AttributeValue::DebugStrOffsetsIndex(index) if index.0 <= u32::MAX as usize => {
                let offset = self
                    .text_offsets
                    .get_str_offset(Format::Dwarf32, offsets, index);
                offset.map_or(&[][..], |offset| at(self.texts, offset.0))
            }
            _ => &[],
        };
        let bytes = &bytes[..bytes.len().min(LONGEST)];
        let end = bytes.iter().position(|b| *b == 0);
        let is_whole = matches!(value, AttributeValue::String(_));
        let end = end.unwrap_or(if is_whole { bytes.len() } else { 0 });
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}
