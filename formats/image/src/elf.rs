//! The container of an installed image: an ELF file, so that objdump, gdb and perf read it.
//!
//! Sections: `.text` (position-independent code), [`DATA`] (bytes), [`META`], [`MANIFEST`],
//! [`CONTRACTS`] (postcard), perhaps [`LINES`], and a symbol table with a symbol for each function
//! that has code. The compiler writes it; this module reads it.

use crate::Error;
use crate::contract::{self, ContractTable, Hash};
use crate::limits::{self, Counts};
use crate::manifest::Manifest;
use crate::meta::{Meta, check_layout};
use alloc::format;
use alloc::vec::Vec;
use object::LittleEndian;
use object::elf::{FileHeader64, SectionHeader64};
use object::read::elf::{FileHeader, SectionHeader};

/// Section with the [`Meta`].
pub const META: &str = ".sing.meta";
/// Section with the [`Manifest`].
pub const MANIFEST: &str = ".sing.manifest";
/// Section with the contract tables, in the order of the code's contract numbers.
pub const CONTRACTS: &str = ".sing.contracts";

/// Section with the places in the program's text that the code comes from ([`crate::lines`]). An
/// image may lack it.
pub const LINES: &str = ".sing.lines";

/// Section with the bytes of data segments.
pub const DATA: &str = ".sing.data";

/// An installed image, read.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// The code.
    pub code: &'a [u8],
    /// The bytes of data segments.
    pub data: &'a [u8],
    /// The tables for the run-time.
    pub meta: Meta,
    /// The program's manifest.
    pub manifest: Manifest,
    /// The contracts that the program names.
    pub contracts: Vec<ContractTable>,
    /// Identities of the contracts, in the same order.
    pub identities: Vec<Hash>,
    /// The lines, for a [`Table`](crate::lines::Table); empty if the image has none.
    pub lines: &'a [u8],
}

/// The parts of an image's file, found but not yet read.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'a> {
    /// The code.
    pub code: &'a [u8],
    /// The bytes of data segments.
    pub data: &'a [u8],
    /// The [`Meta`], for a [`meta::Reader`](crate::meta::Reader).
    pub meta: &'a [u8],
    /// The lines, for a [`Table`](crate::lines::Table); empty if the image has none.
    pub lines: &'a [u8],
    manifest: &'a [u8],
    contracts: &'a [u8],
}

impl<'a> Sections<'a> {
    /// Finds the sections of an image.
    ///
    /// # Errors
    /// Says which part is missing, broken or too large.
    pub fn find(file: &'a [u8]) -> Result<Sections<'a>, Error> {
        let not_elf = |e| Error::new(format!("image: not an ELF file for x86-64 ({e})"));
        let elf = FileHeader64::<LittleEndian>::parse(file).map_err(not_elf)?;
        let endian = elf.endian().map_err(not_elf)?;
        let headers = elf.section_headers(endian, file).map_err(not_elf)?;
        let names = elf.shstrndx(endian, file).map_err(not_elf)?;
        let names = headers.get(names as usize);
        let names = names.and_then(|h| h.data(endian, file).ok()).unwrap_or(&[]);
        // A name is compared, not looked for: in a file of any bytes it may have no end, and there
        // may be very many.
        let is_named = |h: &&SectionHeader64<LittleEndian>, name: &str| {
            let rest = names.get(h.sh_name(endian) as usize..);
            let behind = rest.and_then(|rest| rest.strip_prefix(name.as_bytes()));
            behind.is_some_and(|behind| behind.first() == Some(&0))
        };
        let perhaps = |name: &str| -> Result<Option<&'a [u8]>, Error> {
            let header = headers.iter().find(|h| is_named(h, name));
            let data = header.map(|h| h.data(endian, file)).transpose();
            data.map_err(|e| Error::new(format!("image: section {name} is broken ({e})")))
        };
        let section = |name: &str| -> Result<&'a [u8], Error> {
            let none = || {
                Error::new(format!(
                    "image: an ELF file that `sing compile` has not made: it has no section {name}"
                ))
            };
            perhaps(name)?.ok_or_else(none)
        };
        let sections = Sections {
            code: section(".text")?,
            data: section(DATA)?,
            meta: section(META)?,
            manifest: section(MANIFEST)?,
            contracts: section(CONTRACTS)?,
            lines: perhaps(LINES)?.unwrap_or(&[]),
        };
        limits::CODE_BYTES.check(sections.code.len() as u64)?;
        limits::DATA_BYTES.check(sections.data.len() as u64)?;
        limits::MANIFEST_BYTES.check(sections.manifest.len() as u64)?;
        limits::CONTRACT_BYTES.check(sections.contracts.len() as u64)?;
        limits::LINE_BYTES.check(sections.lines.len() as u64)?;
        Ok(sections)
    }

    /// Returns the manifest's bytes, in its encoding: that of answers, too.
    #[must_use]
    pub fn manifest_bytes(&self) -> &'a [u8] {
        self.manifest
    }

    /// Returns the most bytes of memory that reading the manifest takes.
    #[must_use]
    pub fn manifest_room(&self) -> u64 {
        self.manifest.len() as u64 * contract::ROOM
    }

    /// Reads the manifest.
    ///
    /// # Errors
    /// If the manifest is broken, or the image of another version.
    pub fn manifest(&self) -> Result<Manifest, Error> {
        check_layout(self.meta)?;
        let broken = |_| Error::new(format!("image: section {MANIFEST} does not decode"));
        postcard::from_bytes(self.manifest).map_err(broken)
    }

    /// Begins to read the contracts that the program names.
    #[must_use]
    pub fn contracts(&self) -> contract::Reader<'a> {
        contract::Reader::new(self.contracts)
    }

    /// Reads the manifest, and the contracts with their identities, all at once.
    ///
    /// # Errors
    /// Says which part is broken.
    pub fn declarations(&self) -> Result<(Manifest, Vec<ContractTable>, Vec<Hash>), Error> {
        let manifest = self.manifest()?;
        let mut reader = self.contracts();
        while !reader.step()? {}
        let (contracts, identities) = reader.finish();
        Ok((manifest, contracts, identities))
    }
}

impl<'a> Image<'a> {
    /// Reads an image, all at once.
    ///
    /// # Errors
    /// Says which part is missing, broken or too large.
    pub fn decode(file: &'a [u8]) -> Result<Image<'a>, Error> {
        let sections = Sections::find(file)?;
        let meta = Meta::decode(sections.meta)?;
        let (manifest, contracts, identities) = sections.declarations()?;
        let (code, data, lines) = (sections.code, sections.data, sections.lines);
        Counts::of_image(&meta, &manifest, code.len(), data.len()).check()?;
        meta.check_funcs(code.len() as u64)?;
        Ok(Image {
            code,
            data,
            meta,
            manifest,
            contracts,
            identities,
            lines,
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use alloc::vec;
    use std::time::{Duration, Instant};

    /// A file with so many sections, all of whose names begin in a text that does not end.
    fn of_sections(count: usize, text: usize) -> Vec<u8> {
        let (header, entry) = (64, 64);
        let mut file = vec![0; header];
        file[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]);
        file[16..20].copy_from_slice(&[1, 0, 62, 0]);
        file[20] = 1;
        file[40] = header as u8;
        file[52] = header as u8;
        file[58] = entry as u8;
        // So many that their number stands in the first one, and the names are the second one's.
        let mut first = vec![0; entry];
        first[32..40].copy_from_slice(&(count as u64).to_le_bytes());
        let mut names = vec![0; entry];
        names[4] = 3;
        names[24..32].copy_from_slice(&((header + count * entry) as u64).to_le_bytes());
        names[32..40].copy_from_slice(&(text as u64).to_le_bytes());
        file[62] = 1;
        file.extend(first);
        file.extend(names);
        file.resize(header + count * entry, 0);
        file.resize(header + count * entry + text, b'x');
        file
    }

    #[test]
    fn very_many_sections_with_names_that_do_not_end() {
        let file = of_sections(100_000, 8 << 20);
        let started = Instant::now();
        let said = Sections::find(&file).unwrap_err().message;
        assert!(said.ends_with("no section .text"), "{said}");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}
