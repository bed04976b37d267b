//! Lines from debug information: right where it is, without harm where it is broken or hostile.

use super::{compile, compile_with, processor_time, sip};
use crate::debug::Source;
use crate::module::Module;
use crate::{Options, strip};
use gimli::write::{
    Address, AttributeValue, DwarfUnit, EndianVec, LineProgram, LineString, Range, RangeList,
    Sections,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian, Register};
use sing_image::elf::Image;
use sing_image::lines::Table;
use std::time::Duration;

/// A program whose function `$f` traps in the middle of its code.
pub(super) fn program() -> Vec<u8> {
    sip("(func $f (param i32) (result i32)
           local.get 0 i32.const 3 i32.add
           local.get 0 i32.div_u i32.const 5 i32.mul)
         (func $g (param i32) (result i32) local.get 0 call $f i32.const 1 i32.add)
         (func (export \"sip_main\") (result i32) i32.const 1 call $g)")
}

/// The addresses of a function's body, and of its instruction that traps.
fn places(wasm: &[u8], function: usize) -> (u64, u64, u64) {
    let module = Module::parse(wasm).unwrap();
    let body = &module.bodies[function];
    let mut ops = body.get_operators_reader().unwrap();
    let trap = loop {
        let at = ops.original_position();
        if let wasmparser::Operator::I32DivU = ops.read().unwrap() {
            break at;
        }
    };
    let address = |at: u64| at - module.code_start;
    let range = body.range();
    (address(range.start), address(range.end), address(trap))
}

/// Debug sections for the program: `$f` is in line 10 of `main.c`, and its trap in line 3 of
/// `inline.h`, inlined as `inner` into `outer` in line 12, and that in line 11.
pub(super) fn sections(wasm: &[u8], version: u16) -> Vec<(String, Vec<u8>)> {
    sections_of(wasm, version, 0)
}

/// The same for a program in which another function is `$f`.
fn sections_of(wasm: &[u8], version: u16, function: usize) -> Vec<(String, Vec<u8>)> {
    let (start, end, trap) = places(wasm, function);
    let encoding = Encoding {
        format: Format::Dwarf32,
        version,
        address_size: 4,
    };
    let text = |text: &str| LineString::String(text.into());
    let mut lines = LineProgram::new(
        encoding,
        LineEncoding::default(),
        text("/home/somebody/project"),
        None,
        text("main.c"),
        None,
    );
    let folder = lines.default_directory();
    let include = lines.add_directory(text("include"));
    let main = lines.add_file(text("main.c"), folder, None);
    let inline = lines.add_file(text("inline.h"), include, None);
    // What the linker removed.
    for removed in [0, u64::from(u32::MAX)] {
        lines.begin_sequence(Some(Address::Constant(removed)));
        (lines.row().file, lines.row().line) = (main, 99);
        lines.generate_row();
        lines.end_sequence(end);
    }
    lines.begin_sequence(Some(Address::Constant(start)));
    for (at, file, line) in [(start, main, 10), (trap, inline, 3), (trap + 1, main, 14)] {
        let row = lines.row();
        (row.address_offset, row.file, row.line) = (at - start, file, line);
        lines.generate_row();
    }
    lines.end_sequence(end - start);
    let mut unit = DwarfUnit::new(encoding);
    unit.unit.line_program = lines;
    let text = |text: &str| AttributeValue::String(text.into());
    let root = unit.unit.root();
    let low = AttributeValue::Address(Address::Constant(0));
    unit.unit.get_mut(root).set(gimli::DW_AT_low_pc, low);
    let folder = text("/home/somebody/project");
    unit.unit.get_mut(root).set(gimli::DW_AT_comp_dir, folder);
    let mut origins = Vec::new();
    for name in ["outer", "inner"] {
        let origin = unit.unit.add(root, gimli::DW_TAG_subprogram);
        unit.unit.get_mut(origin).set(gimli::DW_AT_name, text(name));
        origins.push(origin);
    }
    let function = unit.unit.add(root, gimli::DW_TAG_subprogram);
    let block = unit.unit.add(function, gimli::DW_TAG_lexical_block);
    let mut parent = block;
    for (origin, line) in origins.into_iter().zip([11, 12]) {
        let call = unit.unit.add(parent, gimli::DW_TAG_inlined_subroutine);
        let entry = unit.unit.get_mut(call);
        entry.set(
            gimli::DW_AT_abstract_origin,
            AttributeValue::UnitRef(origin),
        );
        entry.set(
            gimli::DW_AT_call_file,
            AttributeValue::FileIndex(Some(main)),
        );
        entry.set(gimli::DW_AT_call_line, AttributeValue::Udata(line));
        match line {
            11 => {
                let at = |at| AttributeValue::Address(Address::Constant(at));
                entry.set(gimli::DW_AT_low_pc, at(trap));
                entry.set(gimli::DW_AT_high_pc, AttributeValue::Udata(1));
            }
            _ => {
                let list = RangeList(vec![Range::OffsetPair {
                    begin: trap,
                    end: trap + 1,
                }]);
                let list = unit.unit.ranges.add(list);
                let list = AttributeValue::RangeListRef(list);
                unit.unit.get_mut(call).set(gimli::DW_AT_ranges, list);
            }
        }
        parent = call;
    }
    written(unit)
}

/// The sections of a unit.
pub(super) fn written(mut unit: DwarfUnit) -> Vec<(String, Vec<u8>)> {
    let mut written = Sections::new(EndianVec::new(LittleEndian));
    unit.write(&mut written).unwrap();
    let mut sections = Vec::new();
    let each = written.for_each(|id, bytes| -> Result<(), Register> {
        if !bytes.slice().is_empty() {
            sections.push((id.name().to_owned(), bytes.slice().to_vec()));
        }
        Ok(())
    });
    each.unwrap();
    sections
}

/// The module with these custom sections behind its own.
pub(super) fn with(wasm: &[u8], sections: &[(String, Vec<u8>)]) -> Vec<u8> {
    let number = |n: usize| -> [u8; 5] {
        let part = |i: usize| (n >> (7 * i)) as u8 & 0x7f | if i < 4 { 0x80 } else { 0 };
        std::array::from_fn(part)
    };
    let mut module = wasm.to_vec();
    for (name, bytes) in sections {
        module.push(0);
        module.extend(number(5 + name.len() + bytes.len()));
        module.extend(number(name.len()));
        module.extend(name.as_bytes());
        module.extend(bytes);
    }
    module
}

/// The places of the trap of a function: names, files and lines.
fn places_of_trap(code: &crate::Compiled, function: usize) -> Vec<(String, String, u32)> {
    let f = &code.meta.funcs[function];
    let mut traps = code.meta.traps.iter().filter(|(at, trap)| {
        let is = sing_abi::trap::Trap::from_code(*trap);
        (f.offset..f.offset + f.size).contains(at)
            && is == Some(sing_abi::trap::Trap::DivisionByZero)
    });
    let places = Table::new(&code.lines).at(traps.next().unwrap().0);
    let words = |text: Option<&str>| text.unwrap_or("-").to_owned();
    places
        .map(|p| (words(p.function), words(p.file), p.line))
        .collect()
}

/// What [`sections`] say of the trap.
fn expected() -> [(String, String, u32); 3] {
    let expected = [
        ("inner", "include/inline.h", 3),
        ("outer", "main.c", 12),
        ("-", "main.c", 11),
    ];
    expected.map(|(name, file, line)| (name.into(), file.into(), line))
}

#[test]
fn a_function_with_the_text_of_another_has_its_own_name_and_lines() {
    let body = "local.get 0 i32.const 3 i32.add local.get 0 i32.div_u i32.const 5 i32.mul";
    let wasm = sip(&format!(
        "(func $e (param i32) (result i32) {body})
         (func $g (param i32) (result i32) local.get 0 i32.const 77 i32.add)
         (func $f (param i32) (result i32) {body})
         (func (export \"sip_main\") (result i32)
           i32.const 1 call $e call $g call $f)"
    ));
    for (told, other) in [(0, 2), (2, 0)] {
        let compiled = compile(&with(&wasm, &sections_of(&wasm, 4, told)));
        let code = |function: usize| {
            let f = &compiled.meta.funcs[function];
            &compiled.code[f.offset as usize..(f.offset + f.size) as usize]
        };
        assert!(!code(0).is_empty() && code(0) == code(2));
        assert_eq!(places_of_trap(&compiled, told), expected());
        assert_eq!(places_of_trap(&compiled, other), []);
        let names = [0, 2].map(|function: usize| &compiled.meta.funcs[function].name);
        assert_eq!(names, ["e", "f"]);
    }
}

#[test]
fn lines_and_inlined_calls_of_all_versions_are_kept() {
    let wasm = program();
    let plain = compile(&wasm);
    assert!(plain.lines.is_empty() && plain.notes.is_empty());
    for version in 2..=5 {
        let module = with(&wasm, &sections(&wasm, version));
        let compiled = compile(&module);
        assert_eq!(compiled.notes, [""; 0], "version {version}");
        assert_eq!(
            (&compiled.code, &compiled.meta),
            (&plain.code, &plain.meta),
            "the code is the same with and without"
        );
        let found = places_of_trap(&compiled, 0);
        assert_eq!(found, expected(), "version {version}");
        let table = Table::new(&compiled.lines);
        let start = table.at(compiled.meta.funcs[0].offset).next().unwrap();
        assert_eq!((start.file, start.line), (Some("main.c"), 10));
        // The next function has none.
        assert_eq!(table.at(compiled.meta.funcs[1].offset).count(), 0);
        assert_eq!(compile(&module).lines, compiled.lines);

        let none = Options {
            lines: false,
            ..Options::default()
        };
        assert!(compile_with(&module, &none).lines.is_empty());
    }
}

#[test]
fn strip_takes_out_what_only_people_read() {
    let wasm = program();
    let module = with(&wasm, &sections(&wasm, 4));
    assert_eq!(strip::module(&module, false).unwrap(), wasm);
    assert_eq!(strip::module(&wasm, false).unwrap(), wasm);
    let nameless = strip::module(&module, true).unwrap();
    assert!(nameless.len() < wasm.len());
    assert_eq!(compile(&nameless).meta.funcs[0].name, "function 0");

    let with_lines = compile(&module).to_elf().unwrap();
    let without = compile(&wasm).to_elf().unwrap();
    assert!(Image::decode(&with_lines).unwrap().lines.len() > 100);
    assert_eq!(strip::image(&with_lines, false).unwrap(), without);
    let nameless = strip::image(&with_lines, true).unwrap();
    let nameless = Image::decode(&nameless).unwrap();
    assert_eq!(nameless.meta.funcs[0].name, "function 0");
    assert!(strip::image(b"no image", false).is_err());
    assert!(strip::module(b"no module", false).is_err());
}

#[test]
fn damaged_debug_information_harms_nothing() {
    let wasm = program();
    let plain = Module::parse(&wasm).unwrap().bodies.len();
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) as usize % below
    };
    let (mut read, mut left, mut none) = (0, 0, 0);
    for version in 2..=5 {
        let good = sections(&wasm, version);
        for _ in 0..4000 {
            let mut damaged = good.clone();
            for _ in 0..=next(3) {
                let section = next(damaged.len());
                let bytes = &mut damaged[section].1;
                match next(8) {
                    0 => bytes.truncate(next(bytes.len() + 1)),
                    1 => bytes.clear(),
                    _ if bytes.is_empty() => {}
                    _ => {
                        let at = next(bytes.len());
                        bytes[at] = [0, 0xff, 0x80, 0x7f, next(256) as u8][next(5)];
                    }
                }
            }
            let module = with(&wasm, &damaged);
            let module = Module::parse(&module).unwrap();
            assert_eq!(module.bodies.len(), plain);
            match Source::read(&module) {
                Ok(Some(_)) => read += 1,
                Ok(None) => none += 1,
                Err(why) => {
                    assert!(
                        why.to_string()
                            .starts_with("its debug information is left out")
                    );
                    left += 1;
                }
            }
        }
        // The whole way, for a few.
        let mut cut = good.clone();
        cut[0].1.truncate(3);
        assert_eq!(compile(&with(&wasm, &cut)).code, compile(&wasm).code);
    }
    assert!(
        read > 1000 && left > 1000 && none > 10,
        "{read} {left} {none}"
    );
}

/// What reads a module's debug information says, and that it does not take long.
fn said_soon(wasm: &[u8], sections: &[(&str, Vec<u8>)]) -> String {
    let sections: Vec<_> = sections
        .iter()
        .map(|(name, bytes)| ((*name).to_owned(), bytes.clone()))
        .collect();
    let module = with(wasm, &sections);
    let module = Module::parse(&module).unwrap();
    let (said, took) = processor_time(|| match Source::read(&module) {
        Ok(found) => format!("{}", found.is_some()),
        Err(why) => why.to_string(),
    });
    assert!(took < Duration::from_secs(10), "{took:?}");
    said
}

/// A unit of version 4 with these bytes behind its head.
fn unit(entries: &[u8]) -> Vec<u8> {
    let mut unit = ((entries.len() + 7) as u32).to_le_bytes().to_vec();
    unit.extend([4, 0, 0, 0, 0, 0, 4]);
    unit.extend(entries);
    unit
}

/// Abbreviations: 1 is a unit with a line program at 0 that is the root of all; 2 an inlined call
/// with its ranges at 0; 3 an entry of as many attributes, of which none takes a byte.
fn abbreviations(attributes: usize) -> Vec<u8> {
    let mut table = vec![1, 0x11, 1, 0x10, 0x17, 0, 0];
    table.extend([2, 0x1d, 0, 0x55, 0x17, 0, 0]);
    table.extend([3, 0x34, 0]);
    // DW_FORM_flag_present
    (0..attributes).for_each(|_| table.extend([0x3f, 0x19]));
    table.extend([0, 0, 0]);
    table
}

/// A line program of version 4 or 5 without rows; of 5 with this number of folders, of no bytes.
fn lines(version: u8, folders: &[u8]) -> Vec<u8> {
    let mut head = vec![1, 1, 1, 0, 1, 1];
    match version {
        5 => {
            // A path of no bytes (DW_FORM_implicit_const), which no header should have.
            head.extend([1, 1, 0x19]);
            head.extend(folders);
        }
        _ => head.extend([0, 0]),
    }
    let mut program = vec![version, 0];
    if version == 5 {
        program.extend([4, 0]);
    }
    program.extend((head.len() as u32).to_le_bytes());
    program.extend(head);
    let mut lines = (program.len() as u32).to_le_bytes().to_vec();
    lines.extend(program);
    lines
}

#[test]
fn hostile_debug_information_takes_no_time() {
    let wasm = program();
    let root = [1, 0, 0, 0, 0];
    // A list of 2^63 folders of no bytes.
    let said = said_soon(
        &wasm,
        &[
            (".debug_info", unit(&root)),
            (".debug_abbrev", abbreviations(0)),
            (".debug_line", lines(5, &[&[0xff; 9][..], &[1]].concat())),
        ],
    );
    assert!(said.contains("of this form are not read"), "{said}");
    // Very many calls, each with the same long list of ranges.
    let mut entries = root.to_vec();
    (0..1 << 17).for_each(|_| entries.extend([2, 0, 0, 0, 0]));
    let ranges = [0xff_u8, 0xff, 0xff, 0xff, 1, 0, 0, 0].repeat(1 << 17);
    let said = said_soon(
        &wasm,
        &[
            (".debug_info", unit(&entries)),
            (".debug_abbrev", abbreviations(0)),
            (".debug_line", lines(4, &[])),
            (".debug_ranges", ranges),
        ],
    );
    assert_eq!(said, "its debug information is left out: too many entries");
    // Very many entries of very many attributes of no bytes.
    let mut entries = root.to_vec();
    entries.resize(2 << 20, 3);
    let said = said_soon(
        &wasm,
        &[
            (".debug_info", unit(&entries)),
            (".debug_abbrev", abbreviations(1 << 20)),
            (".debug_line", lines(4, &[])),
        ],
    );
    assert_eq!(said, "its debug information is left out: too many entries");
    // Very many units with the same abbreviations and the same program.
    let said = said_soon(
        &wasm,
        &[
            (".debug_info", unit(&root).repeat(60_000)),
            (".debug_abbrev", abbreviations(1 << 20)),
            (".debug_line", lines(4, &[])),
        ],
    );
    assert_eq!(said, "false");
    let said = said_soon(
        &wasm,
        &[
            (".debug_info", unit(&root).repeat(70_000)),
            (".debug_abbrev", abbreviations(0)),
            (".debug_line", lines(4, &[])),
        ],
    );
    assert!(said.ends_with("too many units"), "{said}");
}
