//! Symbols for debuggers: the same as the image says, without harm where that is wrong.

use super::lines::{program, sections, with};
use super::mutation::Numbers;
use super::{compile, sip};
use crate::{Compiled, symbols};
use gimli::read::{Dwarf, EndianSlice, UnwindSection as _};
use gimli::{BaseAddresses, CfaRule, LittleEndian, X86_64};
use object::read::{Object as _, ObjectSection as _, ObjectSymbol as _};
use sing_image::lines::Table;
use std::collections::BTreeMap;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The symbols of a program.
fn of(compiled: &Compiled) -> Vec<u8> {
    symbols::file(&compiled.to_elf().unwrap()).unwrap()
}

fn section<'a>(file: &object::File<'a>, name: &str) -> Bytes<'a> {
    let section = file.section_by_name(name);
    let bytes = section.map_or(&[][..], |section| section.data().unwrap());
    EndianSlice::new(bytes, LittleEndian)
}

fn dwarf<'a>(file: &object::File<'a>) -> Dwarf<Bytes<'a>> {
    Dwarf::load(|id| Ok::<_, gimli::Error>(section(file, id.name()))).unwrap()
}

#[test]
fn symbols_for_debuggers_say_the_same_as_the_image() {
    let wasm = program();
    let compiled = compile(&with(&wasm, &sections(&wasm, 5)));
    let symbols = of(&compiled);
    let file = object::File::parse(&*symbols).unwrap();
    assert_eq!(file.kind(), object::ObjectKind::Dynamic);
    let f = file.symbols().find(|s| s.name() == Ok("f")).unwrap();
    let func = &compiled.meta.funcs[0];
    assert_eq!(
        (f.address(), f.size()),
        (func.offset.into(), func.size.into())
    );
    let dwarf = dwarf(&file);
    let header = dwarf.units().next().unwrap().unwrap();
    let unit = dwarf.unit(header).unwrap();
    let mut rows = unit.line_program.clone().unwrap().rows();
    let table = Table::new(&compiled.lines);
    let mut expected = table.rows();
    while let Some((header, row)) = rows.next_row().unwrap() {
        if row.end_sequence() {
            assert_eq!(row.address(), compiled.code.len() as u64);
            continue;
        }
        let of_image = expected.next().unwrap();
        let line = row.line().map_or(0, |line| line.get() as u32);
        assert_eq!(
            (row.address(), line),
            (of_image.offset.into(), of_image.line)
        );
        if let Some(place) = table.places(of_image).next() {
            let name = row.file(header).unwrap().path_name();
            let name = dwarf.attr_string(&unit, name).unwrap();
            assert_eq!(Some(name.to_string().unwrap()), place.file);
        }
    }
    assert_eq!(expected.next(), None);
    assert!(symbols::file(b"no image").is_err());
}

/// A function or an inlined call: depth, name, and addresses.
type Entry = (isize, String, Vec<(u64, u64)>);

/// The functions and inlined calls of a file.
fn described(symbols: &[u8]) -> Vec<Entry> {
    let file = object::File::parse(symbols).unwrap();
    let dwarf = dwarf(&file);
    let header = dwarf.units().next().unwrap().unwrap();
    let unit = dwarf.unit(header).unwrap();
    let mut entries = unit.entries();
    let (mut found, mut names) = (Vec::new(), BTreeMap::new());
    while let Some(entry) = entries.next_dfs().unwrap() {
        let name = entry.attr_value(gimli::DW_AT_name);
        if let Some(name) = name {
            let name = dwarf.attr_string(&unit, name).unwrap();
            names.insert(entry.offset(), name.to_string().unwrap().to_owned());
        }
        let depth = entry.depth();
        let name = match entry.attr_value(gimli::DW_AT_abstract_origin) {
            Some(gimli::AttributeValue::UnitRef(origin)) => Err(origin),
            _ => Ok(entry.offset()),
        };
        let mut ranges = dwarf.die_ranges(&unit, entry).unwrap();
        let mut code = Vec::new();
        while let Some(range) = ranges.next().unwrap() {
            code.push((range.begin, range.end));
        }
        if !code.is_empty() && depth > 0 {
            found.push((depth, name, code));
        }
    }
    let named = found.into_iter().map(|(depth, name, code)| {
        let name = names[&name.unwrap_or_else(|origin| origin)].clone();
        (depth, name, code)
    });
    named.collect()
}

#[test]
fn functions_and_the_calls_inlined_in_them_are_described() {
    let wasm = program();
    let compiled = compile(&with(&wasm, &sections(&wasm, 5)));
    let found = described(&of(&compiled));
    let names: Vec<_> = found.iter().map(|(d, name, _)| (*d, &**name)).collect();
    assert_eq!(names[..4], [(1, "f"), (2, "outer"), (3, "inner"), (1, "g")]);
    for func in compiled.meta.funcs.iter().filter(|func| func.size > 0) {
        let code = (func.offset.into(), u64::from(func.offset + func.size));
        let same =
            |(_, name, at): &&(isize, String, Vec<_>)| *name == func.name && at[..] == [code];
        assert!(found.iter().any(|f| same(&f)), "{}: {found:?}", func.name);
    }
    // The trap is inner's, which is a part of outer, and that of f.
    let within = |inner: &[(u64, u64)], outer: &[(u64, u64)]| {
        let is = |(from, to): &(u64, u64)| outer.iter().any(|o| o.0 <= *from && *to <= o.1);
        inner.iter().all(is)
    };
    assert!(within(&found[2].2, &found[1].2) && within(&found[1].2, &found[0].2));
}

#[test]
fn each_function_says_how_its_frame_is_left() {
    let wasm = program();
    let compiled = compile(&wasm);
    let symbols = of(&compiled);
    let file = object::File::parse(&*symbols).unwrap();
    let mut frames = gimli::DebugFrame::from(section(&file, ".debug_frame"));
    frames.set_address_size(8);
    let bases = BaseAddresses::default();
    let mut context = gimli::UnwindContext::new();
    let mut checked = 0;
    for func in compiled.meta.funcs.iter().filter(|func| func.size > 0) {
        let mut row = |at: u32, register, offset| {
            let cie = gimli::DebugFrame::cie_from_offset;
            let address = u64::from(func.offset + at);
            let frame = frames.fde_for_address(&bases, address, cie).unwrap();
            let row = frame.unwind_info_for_address(&frames, &bases, &mut context, address);
            assert_eq!(
                row.unwrap().cfa(),
                &CfaRule::RegisterAndOffset { register, offset },
                "{} at {at}",
                func.name
            );
        };
        row(0, X86_64::RSP, 8);
        row(1, X86_64::RSP, 16);
        row(4, X86_64::RBP, 16);
        row(func.size - 1, X86_64::RBP, 16);
        checked += 1;
    }
    assert_eq!(checked, 3);
}

#[test]
fn wrong_lines_of_an_image_do_no_harm() {
    let wasm = program();
    let mut compiled = compile(&with(&wasm, &sections(&wasm, 5)));
    let lines = compiled.lines.clone();
    let mut random = Numbers(11);
    for _ in 0..500 {
        compiled.lines.clone_from(&lines);
        for _ in 0..1 + random.below(8) {
            let at = random.below(lines.len());
            compiled.lines[at] = random.below(256) as u8;
        }
        // Whatever it says, it says so in a form that reads.
        described(&of(&compiled));
    }
    // Without lines there are functions all the same.
    let plain = compile(&sip(
        "(func (export \"sip_main\") (result i32) i32.const 7)",
    ));
    let found = described(&of(&plain));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1, plain.meta.funcs[0].name);
}
