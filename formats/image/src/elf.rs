//! The container of an installed image: an ELF file, so that objdump, gdb and perf read it.
//!
//! Sections: `.text` (position-independent code), [`DATA`] (bytes), [`META`], [`MANIFEST`],
//! [`CONTRACTS`] (postcard), and a symbol table with a symbol for each function. The compiler
//! writes it; this module reads it.

use crate::Error;
use crate::contract::{self, ContractTable, Hash};
use crate::limits::{self, Counts};
use crate::manifest::Manifest;
use crate::meta::Meta;
use alloc::format;
use alloc::vec::Vec;
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection};

/// Section with the [`Meta`].
pub const META: &str = ".sing.meta";
/// Section with the [`Manifest`].
pub const MANIFEST: &str = ".sing.manifest";
/// Section with the contract tables, in the order of the code's contract numbers.
pub const CONTRACTS: &str = ".sing.contracts";

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
    manifest: &'a [u8],
    contracts: &'a [u8],
}

impl<'a> Sections<'a> {
    /// Finds the sections of an image.
    ///
    /// # Errors
    /// Says which part is missing, broken or too large.
    pub fn find(file: &'a [u8]) -> Result<Sections<'a>, Error> {
        let elf: ElfFile64<'a> = ElfFile64::parse(file)
            .map_err(|e| Error::new(format!("image: not an ELF file for x86-64 ({e})")))?;
        let section = |name: &str| -> Result<&'a [u8], Error> {
            elf.section_by_name(name)
                .ok_or_else(|| Error::new(format!("image: no section {name}")))?
                .data()
                .map_err(|e| Error::new(format!("image: section {name} is broken ({e})")))
        };
        let sections = Sections {
            code: section(".text")?,
            data: section(DATA)?,
            meta: section(META)?,
            manifest: section(MANIFEST)?,
            contracts: section(CONTRACTS)?,
        };
        limits::CODE_BYTES.check(sections.code.len() as u64)?;
        limits::DATA_BYTES.check(sections.data.len() as u64)?;
        limits::MANIFEST_BYTES.check(sections.manifest.len() as u64)?;
        limits::CONTRACT_BYTES.check(sections.contracts.len() as u64)?;
        Ok(sections)
    }

    /// Returns the most bytes of memory that reading the manifest takes.
    #[must_use]
    pub fn manifest_room(&self) -> u64 {
        self.manifest.len() as u64 * contract::ROOM
    }

    /// Reads the manifest.
    ///
    /// # Errors
    /// If the manifest is broken.
    pub fn manifest(&self) -> Result<Manifest, Error> {
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
        let (code, data) = (sections.code, sections.data);
        Counts::of_image(&meta, &manifest, code.len(), data.len()).check()?;
        for f in &meta.funcs {
            if u64::from(f.offset) + u64::from(f.size) > code.len() as u64 {
                return Err(Error::new(format!(
                    "image: function {} lies outside the code",
                    f.name
                )));
            }
        }
        Ok(Image {
            code,
            data,
            meta,
            manifest,
            contracts,
            identities,
        })
    }
}
