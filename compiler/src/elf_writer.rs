//! The installed image as an ELF file, which `sing_image::elf`, objdump, gdb and perf can read.

use crate::Compiled;
use crate::error::{Error, ErrorKind, Result};
use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use sing_image::elf;

/// Alignment of the code and of each of our own sections in the file, in bytes.
const ALIGNMENT: u64 = 64;

/// Writes the file.
pub(crate) fn write(compiled: &Compiled) -> Result<Vec<u8>> {
    let encode = |what: &str, bytes: std::result::Result<Vec<u8>, postcard::Error>| {
        bytes.map_err(|e| Error::internal(format!("{what} cannot be encoded: {e}")))
    };
    let manifest = encode("the manifest", postcard::to_allocvec(&compiled.manifest))?;
    let contracts = encode("the contracts", postcard::to_allocvec(&compiled.contracts))?;
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let text = object.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
    object.append_section_data(text, &compiled.code, ALIGNMENT);
    let meta = compiled.meta.encode();
    for (name, bytes) in [
        (elf::DATA, &compiled.data),
        (elf::META, &meta),
        (elf::MANIFEST, &manifest),
        (elf::CONTRACTS, &contracts),
        (elf::LINES, &compiled.lines),
    ] {
        if name == elf::LINES && bytes.is_empty() {
            continue;
        }
        let section = object.add_section(Vec::new(), name.into(), SectionKind::Other);
        object.append_section_data(section, bytes, ALIGNMENT);
    }
    let mut symbol = |name: &str, offset: u32, size: u32, scope| {
        object.add_symbol(Symbol {
            name: name.into(),
            value: u64::from(offset),
            size: u64::from(size),
            kind: SymbolKind::Text,
            scope,
            weak: false,
            section: SymbolSection::Section(text),
            flags: SymbolFlags::None,
        });
    };
    for func in compiled.meta.funcs.iter().filter(|func| func.size > 0) {
        symbol(&func.name, func.offset, func.size, SymbolScope::Compilation);
    }
    for (func, offset) in &compiled.meta.trampolines {
        symbol(
            &format!("trampoline of function {func}"),
            *offset,
            0,
            SymbolScope::Compilation,
        );
    }
    object
        .write()
        .map_err(|e| Error::new(ErrorKind::TooLarge, format!("the image: {e}")))
}
