//! Variables that debug information names are found, and what is broken does no harm.

use super::lines::{with, written};
use super::{MAIN, sip};
use crate::graph::Graph;
use crate::uses::Uses;
use gimli::write::{
    Address, AttributeValue, DwarfUnit, Expression, LineProgram, LineString, UnitEntryId,
};
use gimli::{DwAt, DwTag, Encoding, Format, LineEncoding};

/// A unit with entries for types and variables.
struct Unit(DwarfUnit);

impl Unit {
    fn new(version: u16) -> Unit {
        let encoding = Encoding {
            format: Format::Dwarf32,
            version,
            address_size: 4,
        };
        let text = |text: &str| LineString::String(text.into());
        let lines = LineEncoding::default();
        let (folder, file) = (text("/home/somebody"), text("main.c"));
        let mut unit = DwarfUnit::new(encoding);
        unit.unit.line_program = LineProgram::new(encoding, lines, folder, None, file, None);
        Unit(unit)
    }

    /// Adds an entry below one, or below the root.
    fn add(
        &mut self,
        below: Option<UnitEntryId>,
        tag: DwTag,
        attributes: Vec<(DwAt, AttributeValue)>,
    ) -> UnitEntryId {
        let below = below.unwrap_or_else(|| self.0.unit.root());
        let entry = self.0.unit.add(below, tag);
        for (name, value) in attributes {
            self.0.unit.get_mut(entry).set(name, value);
        }
        entry
    }
}

fn at(address: u64) -> (DwAt, AttributeValue) {
    let mut place = Expression::new();
    place.op_addr(Address::Constant(address));
    (gimli::DW_AT_location, AttributeValue::Exprloc(place))
}

fn of(ty: UnitEntryId) -> (DwAt, AttributeValue) {
    (gimli::DW_AT_type, AttributeValue::UnitRef(ty))
}

fn name(text: &str) -> (DwAt, AttributeValue) {
    let text = AttributeValue::String(text.into());
    (gimli::DW_AT_name, text)
}

/// A table of 2 times 5 words at 16, a byte that is declared elsewhere at 60, a text without a name
/// at 61, something of unknown length at 70, and others that are not in memory or do not end.
fn sections(version: u16) -> Vec<(String, Vec<u8>)> {
    let mut unit = Unit::new(version);
    let bytes = |n: u64| (gimli::DW_AT_byte_size, AttributeValue::Udata(n));
    let word = unit.add(None, gimli::DW_TAG_base_type, vec![bytes(4)]);
    let byte = unit.add(None, gimli::DW_TAG_base_type, vec![bytes(1)]);
    let fixed = unit.add(None, gimli::DW_TAG_const_type, vec![of(word)]);
    let array = unit.add(None, gimli::DW_TAG_array_type, vec![of(fixed)]);
    for (attribute, n) in [(gimli::DW_AT_count, 2), (gimli::DW_AT_upper_bound, 4)] {
        let range = vec![(attribute, AttributeValue::Udata(n))];
        unit.add(Some(array), gimli::DW_TAG_subrange_type, range);
    }
    let text = unit.add(None, gimli::DW_TAG_array_type, vec![of(byte)]);
    let range = vec![(gimli::DW_AT_count, AttributeValue::Udata(6))];
    unit.add(Some(text), gimli::DW_TAG_subrange_type, range);
    let variable = gimli::DW_TAG_variable;
    unit.add(None, variable, vec![name("table"), of(array), at(16)]);
    let declared = unit.add(None, variable, vec![name("flag"), of(byte)]);
    let declared = (
        gimli::DW_AT_specification,
        AttributeValue::UnitRef(declared),
    );
    unit.add(None, variable, vec![declared, at(60)]);
    unit.add(None, variable, vec![of(text), at(61)]);
    unit.add(None, variable, vec![name("unknown"), at(70)]);
    let endless = unit.add(None, gimli::DW_TAG_typedef, vec![]);
    unit.0
        .unit
        .get_mut(endless)
        .set(gimli::DW_AT_type, of(endless).1);
    unit.add(None, variable, vec![name("endless"), of(endless), at(72)]);
    let mut local = Expression::new();
    local.op_fbreg(20);
    let local = (gimli::DW_AT_location, AttributeValue::Exprloc(local));
    unit.add(None, variable, vec![name("local"), of(word), local]);
    written(unit.0)
}

fn module() -> Vec<u8> {
    let bytes = ".".repeat(64);
    sip(&format!(
        "(memory 1) (data (i32.const 16) \"{bytes}\")
         (func $g (drop (i32.load (i32.const 24))) (drop (i32.load8_u (i32.const 64)))) {MAIN}"
    ))
}

fn uses(wasm: &[u8]) -> Uses {
    Uses::of(wasm, &Graph::of(wasm).unwrap()).unwrap()
}

#[test]
fn variables_are_pieces_of_data_with_names() {
    for version in 2..=5 {
        let of = uses(&with(&module(), &sections(version)));
        assert_eq!(of.note, None);
        let pieces = of.pieces.iter();
        let pieces: Vec<_> = pieces.map(|p| (p.at, p.bytes, p.name.as_deref())).collect();
        let expected = [
            (16, 40, Some("table")),
            (56, 4, None),
            (60, 1, Some("flag")),
            (61, 6, None),
            (67, 13, None),
        ];
        assert_eq!(pieces, expected, "version {version}");
        assert_eq!(of.of[0], [0, 3], "version {version}");
    }
}

#[test]
fn broken_variables_are_left_out() {
    let module = module();
    let plain = uses(&module);
    let whole = sections(5);
    for (section, _) in whole.iter().enumerate() {
        for length in 0..whole[section].1.len() {
            let mut cut = whole.clone();
            cut[section].1.truncate(length);
            let of = uses(&with(&module, &cut));
            let bytes = |of: &Uses| of.pieces.iter().map(|p| p.bytes).sum::<u64>();
            assert_eq!(bytes(&of), bytes(&plain));
        }
        for (at, bit) in (0..whole[section].1.len()).zip((0..8).cycle()) {
            let mut changed = whole.clone();
            changed[section].1[at] ^= 1 << bit;
            let of = uses(&with(&module, &changed));
            assert!(of.pieces.iter().all(|piece| piece.bytes > 0));
        }
    }
}
