//! An image's functions and lines in the form that debuggers read: an ELF file with the code, a
//! symbol table and DWARF. Addresses count from the start of the code; a debugger is told where it is.

mod described;
mod frames;

use crate::error::{Error, ErrorKind, Result};
use described::Described;
use gimli::write::{DwarfUnit, EndianVec, Sections};
use gimli::{Encoding, Format, LittleEndian};
use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use sing_image::elf::Image;

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

/// Debug sections with the image's functions, lines and frames, and their names.
fn dwarf(
    image: &Image<'_>,
) -> std::result::Result<Vec<(&'static str, Vec<u8>)>, gimli::write::Error> {
    let encoding = Encoding {
        format: Format::Dwarf32,
        version: 4,
        address_size: 8,
    };
    let mut unit = DwarfUnit::new(encoding);
    Described::new(&mut unit.unit, image).write();
    let mut written = Sections::new(EndianVec::new(LittleEndian));
    unit.write(&mut written)?;
    frames::table(image, encoding).write_debug_frame(&mut written.debug_frame)?;
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
