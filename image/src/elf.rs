//! The container of an installed image: an ELF file, so that objdump, gdb and perf read it.
//!
//! Sections: `.text` (position-independent code), [`META`], [`MANIFEST`], [`CONTRACTS`] (postcard), and a
//! symbol table with a symbol for each function. The compiler writes it; this module reads it.

use crate::Error;
use crate::contract::{self, ContractTable, Hash};
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

/// An installed image, read.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// The code.
    pub code: &'a [u8],
    /// What the run-time needs of it.
    pub meta: Meta,
    /// What the program declares.
    pub manifest: Manifest,
    /// The contracts it names.
    pub contracts: Vec<ContractTable>,
    /// Which contracts these are, in the same order.
    pub identities: Vec<Hash>,
}

impl<'a> Image<'a> {
    /// Reads an image.
    ///
    /// # Errors
    /// Says which part is missing or broken.
    pub fn decode(file: &'a [u8]) -> Result<Image<'a>, Error> {
        let elf: ElfFile64<'a> = ElfFile64::parse(file)
            .map_err(|e| Error::new(format!("image: not an ELF file for x86-64 ({e})")))?;
        let section = |name: &str| -> Result<&'a [u8], Error> {
            elf.section_by_name(name)
                .ok_or_else(|| Error::new(format!("image: no section {name}")))?
                .data()
                .map_err(|e| Error::new(format!("image: section {name} is broken ({e})")))
        };
        let broken = |name: &str| Error::new(format!("image: section {name} does not decode"));
        let code = section(".text")?;
        let meta = Meta::decode(section(META)?)?;
        let manifest: Manifest =
            postcard::from_bytes(section(MANIFEST)?).map_err(|_| broken(MANIFEST))?;
        let contracts: Vec<ContractTable> =
            postcard::from_bytes(section(CONTRACTS)?).map_err(|_| broken(CONTRACTS))?;
        let identities = contract::check(&contracts)?;
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
            meta,
            manifest,
            contracts,
            identities,
        })
    }
}
