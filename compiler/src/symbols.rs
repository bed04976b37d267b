//! An image's functions and lines in the form that debuggers read: an ELF file with the code, a
//! symbol table and DWARF. Addresses count from the start of the code; a debugger is told where it is.

use crate::error::{Error, ErrorKind, Result};
use gimli::write::{
    Address, AttributeValue, DwarfUnit, EndianVec, FileId, LineProgram, LineString, Sections,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian};
use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use sing_image::elf::Image;
use sing_image::lines::Table;
use std::collections::HashMap;

/// Where an ELF file says of what kind it is.
const KIND: std::ops::Range<usize> = 16..18;

/// Writes the file for an image.
///
/// # Errors
/// If the image is broken.
pub fn file(image: &[u8]) -> Result<Vec<u8>> {
    let image = Image::decode(image).map_err(|e| Error::new(ErrorKind::Invalid, e.message))?;
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let text = object.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
    object.append_section_data(text, image.code, 16);
    for func in image.meta.funcs.iter().filter(|func| func.size > 0) {
        object.add_symbol(Symbol {
            name: func.name.as_bytes().to_vec(),
            value: func.offset.into(),
            size: func.size.into(),
            kind: SymbolKind::Text,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(text),
            flags: SymbolFlags::None,
        });
    }
    let lines = dwarf(&image).map_err(|e| Error::internal(e.to_string()))?;
    for (name, bytes) in lines {
        let section = object.add_section(Vec::new(), name.into(), SectionKind::Debug);
        object.append_section_data(section, &bytes, 1);
    }
    let written = object.write();
    let mut file =
        written.map_err(|e| Error::new(ErrorKind::TooLarge, format!("the symbols: {e}")))?;
    // gdb moves the lines of a shared object with its code, but not those of an object file without
    // relocations.
    if let Some(kind) = file.get_mut(KIND) {
        kind.copy_from_slice(&object::elf::ET_DYN.to_le_bytes());
    }
    Ok(file)
}

/// Debug sections with the image's lines, and their names.
fn dwarf(
    image: &Image<'_>,
) -> std::result::Result<Vec<(&'static str, Vec<u8>)>, gimli::write::Error> {
    let encoding = Encoding {
        format: Format::Dwarf32,
        version: 4,
        address_size: 8,
    };
    let text = |text: &str| {
        // No text of DWARF has a zero in it.
        let bytes = text.bytes().map(|b| if b == 0 { b'?' } else { b });
        bytes.collect::<Vec<u8>>()
    };
    let name = text(&image.manifest.name);
    let mut lines = LineProgram::new(
        encoding,
        LineEncoding::default(),
        LineString::String(b".".to_vec()),
        None,
        LineString::String(name.clone()),
        None,
    );
    let folder = lines.default_directory();
    let table = Table::new(image.lines);
    let mut files: HashMap<&str, FileId> = HashMap::new();
    lines.begin_sequence(Some(Address::Constant(0)));
    for row in table.rows() {
        let place = table.places(row).next();
        let file = place.and_then(|place| place.file).filter(|f| !f.is_empty());
        let file = file.map(|file| {
            let new = || lines.add_file(LineString::String(text(file)), folder, None);
            *files.entry(file).or_insert_with(new)
        });
        let next = lines.row();
        next.address_offset = row.offset.into();
        next.line = file.map_or(0, |_| row.line.into());
        if let Some(file) = file {
            next.file = file;
        }
        lines.generate_row();
    }
    lines.end_sequence(image.code.len() as u64);
    let mut unit = DwarfUnit::new(encoding);
    unit.unit.line_program = lines;
    let root = unit.unit.root();
    let root = unit.unit.get_mut(root);
    root.set(gimli::DW_AT_name, AttributeValue::String(name));
    root.set(gimli::DW_AT_comp_dir, AttributeValue::String(b".".to_vec()));
    root.set(
        gimli::DW_AT_low_pc,
        AttributeValue::Address(Address::Constant(0)),
    );
    let size = AttributeValue::Udata(image.code.len() as u64);
    root.set(gimli::DW_AT_high_pc, size);
    let mut written = Sections::new(EndianVec::new(LittleEndian));
    unit.write(&mut written)?;
    let mut sections = Vec::new();
    written.for_each(
        |id, bytes| -> std::result::Result<(), gimli::write::Error> {
            if !bytes.slice().is_empty() {
                sections.push((id.name(), bytes.slice().to_vec()));
            }
            Ok(())
        },
    )?;
    Ok(sections)
}
