//! How large a SIP may be: the limits of its image ([`sing_image::limits`]), which the kernel applies again.
//!
//! The compiler tests the size of the code, which it alone knows, as it becomes known, against the same limits.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::names::SECTION_MANIFEST;
use sing_image::contract::ContractTable;
use sing_image::limits::Counts;
use sing_image::manifest::Manifest;

/// Compares what a module has with the limits. Before anything loops over it.
pub(super) fn module(module: &Module<'_>) -> Result<()> {
    checked(&Counts {
        types: module.types.len() as u64,
        imports: module.imports.len() as u64,
        // An import that is used as a value gets a function of its own.
        functions: module.func_types.len() as u64,
        tables: module.tables.len() as u64,
        table_elements: module.tables.iter().map(|t| u64::from(t.limits.min)).sum(),
        globals: module.globals.len() as u64,
        exports: module.exports.len() as u64,
        element_segments: module.elements.len() as u64,
        element_items: module.elements.iter().map(|e| e.items.len() as u64).sum(),
        data_segments: module.data.len() as u64,
        data_bytes: module.data.iter().map(|d| d.bytes.len() as u64).sum(),
        memory_pages: module.memories.first().map_or(0, |m| u64::from(m.min)),
        ..Counts::default()
    })
}

/// Compares what a manifest declares with the limits.
pub(super) fn declared(manifest: &Manifest) -> Result<()> {
    let counts = Counts {
        manifest_bytes: encoded(manifest),
        ..Counts::default()
    };
    checked(&counts.with_manifest(manifest)).map_err(|e| e.at(Place::Section(SECTION_MANIFEST)))
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

fn checked(counts: &Counts) -> Result<()> {
    counts
        .check()
        .map_err(|e| Error::new(ErrorKind::TooLarge, format!("the module has {}", e.message)))
}

/// Bytes of a value in an image.
fn encoded<T: serde::Serialize + ?Sized>(value: &T) -> u64 {
    postcard::to_allocvec(value).map_or(u64::MAX, |bytes| bytes.len() as u64)
}
