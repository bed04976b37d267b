//! Size limits of a SIP: those of its image ([`sing_image::limits`]), which the kernel checks
//! again.
//!
//! The size of the code is checked against the same limits during compilation, when it becomes
//! known.

use super::validate::Used;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::initial::Initial;
use crate::module::Module;
use sing_abi::names::{SECTION_CONTRACTS, SECTION_MANIFEST, SECTION_PARAMETERS};
use sing_image::contract::ContractTable;
use sing_image::limits::{self, Counts};
use sing_image::manifest::Manifest;

/// Compares what a module has with the limits. Before anything loops over it.
pub(super) fn module(module: &Module<'_>, used: &Used) -> Result<()> {
    // The kernel calls up to three functions, by way of others where there are tail calls or
    // exceptions.
    let entries = if used.tail_calls || used.exceptions {
        3
    } else {
        0
    };
    let elements = module.tables.iter().map(|t| t.limits.min);
    checked(&Counts {
        types: module.types.len() as u64,
        imports: module.imports.len() as u64,
        // An import that is used as a value gets a function of its own.
        functions: module.func_types.len() as u64 + entries,
        tables: module.tables.len() as u64,
        table_elements: elements.fold(0, u64::saturating_add),
        globals: module.globals.len() as u64,
        exports: module.exports.len() as u64,
        element_segments: module.elements.len() as u64,
        element_items: module.elements.iter().map(|e| e.items.len() as u64).sum(),
        data_segments: module.data.len() as u64,
        data_bytes: module.data.iter().map(|d| d.bytes.len() as u64).sum(),
        memories: module.memories.len() as u64,
        memory_pages: limits::pages(module.memories.iter()),
        ..Counts::default()
    })
}

/// Checks the counts of a manifest's declarations.
pub(super) fn declared(manifest: &Manifest) -> Result<()> {
    let counts = Counts {
        manifest_bytes: encoded(manifest),
        ..Counts::default()
    };
    checked(&counts.with_manifest(manifest)).map_err(|e| e.at(Place::Section(SECTION_MANIFEST)))
}

/// Compares the text of the parameters, before it is read.
pub(super) fn parameter_text(text: &[u8]) -> Result<()> {
    let counts = Counts {
        manifest_bytes: text.len() as u64,
        ..Counts::default()
    };
    checked(&counts).map_err(|e| e.at(Place::Section(SECTION_PARAMETERS)))
}

/// Compares the data that the image will hold with the limits: the vectors of globals lie there,
/// too, and zeros between segments that are close to each other.
pub(super) fn data(initial: &Initial) -> Result<()> {
    checked(&Counts {
        data_bytes: initial.bytes.len() as u64,
        ..Counts::default()
    })
}

/// Compares the text of the contracts, before it is read.
pub(super) fn contract_text(text: &str) -> Result<()> {
    let counts = Counts {
        contract_text: text.len() as u64,
        ..Counts::default()
    };
    checked(&counts).map_err(|e| e.at(Place::Section(SECTION_CONTRACTS)))
}

/// Compares the contracts that are left with the limits.
pub(super) fn contracts(contracts: &[ContractTable]) -> Result<()> {
    let largest = contracts.iter().map(encoded).max();
    checked(&Counts {
        contracts: contracts.len() as u64,
        contract_bytes: encoded(contracts),
        one_contract_bytes: largest.unwrap_or(0),
        ..Counts::default()
    })
}

/// Compares counts with the limits.
pub(super) fn checked(counts: &Counts) -> Result<()> {
    counts
        .check()
        .map_err(|e| Error::new(ErrorKind::TooLarge, format!("the module has {}", e.message)))
}

/// The size of a value in an image, in bytes.
fn encoded<T: serde::Serialize + ?Sized>(value: &T) -> u64 {
    postcard::to_allocvec(value).map_or(u64::MAX, |bytes| bytes.len() as u64)
}
