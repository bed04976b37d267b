//! Size limits of a SIP: those of its image ([`sing_image::limits`]), which the kernel checks
//! again.
//!
//! The size of the code is checked against the same limits during compilation, when it becomes
//! known.

use super::validate::Used;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::initial::Initial;
use crate::module::Module;
use sing_abi::names::{EXPORT_NO_ALLOC, SECTION_CONTRACTS, SECTION_MANIFEST, SECTION_PARAMETERS};
use sing_image::contract::ContractTable;
use sing_image::limits::{self, Counts};
use sing_image::manifest::Manifest;
use wasmparser as wp;

/// Compares the number of items that a part of a module begins with, or the length of a function's
/// code, with the limits. Before anything is read of them.
pub(super) fn part(payload: &wp::Payload<'_>) -> Result<()> {
    use wp::Payload as P;
    let mut counts = Counts::default();
    let (range, count, counted) = match payload {
        P::TypeSection(s) => (s.range(), s.count(), &mut counts.types),
        P::FunctionSection(s) => (s.range(), s.count(), &mut counts.functions),
        P::TableSection(s) => (s.range(), s.count(), &mut counts.tables),
        P::MemorySection(s) => (s.range(), s.count(), &mut counts.memories),
        P::TagSection(s) => (s.range(), s.count(), &mut counts.tags),
        P::GlobalSection(s) => (s.range(), s.count(), &mut counts.globals),
        P::ExportSection(s) => (s.range(), s.count(), &mut counts.exports),
        P::ElementSection(s) => (s.range(), s.count(), &mut counts.element_segments),
        P::DataSection(s) => (s.range(), s.count(), &mut counts.data_segments),
        P::DataCountSection { count, range } => (range.clone(), *count, &mut counts.data_segments),
        P::CodeSectionEntry(body) => {
            let range = body.range();
            counts.function_bytes = range.end.saturating_sub(range.start);
            return checked(&counts).map_err(|e| e.at(Place::Offset(range.start)));
        }
        _ => return Ok(()),
    };
    *counted = count.into();
    checked(&counts).map_err(|e| e.at(Place::Offset(range.start)))
}

/// Compares the locals of a function with the limit, before they are made.
pub(super) fn locals(parameters: u32, body: &wp::FunctionBody<'_>) -> Result<()> {
    let mut counts = Counts {
        function_locals: parameters.into(),
        ..Counts::default()
    };
    for group in body.get_locals_reader()? {
        let (count, _) = group?;
        counts.function_locals += u64::from(count);
    }
    checked(&counts).map_err(|e| e.at(Place::Offset(body.range().start)))
}

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
    let exports = module.exports.iter();
    let regions = exports.filter(|export| export.name.starts_with(EXPORT_NO_ALLOC));
    checked(&Counts {
        types: module.types.len() as u64,
        imports: module.imports.len() as u64,
        // An import that is used as a value gets a function of its own.
        functions: module.func_types.len() as u64 + entries,
        tables: module.tables.len() as u64,
        table_elements: elements.fold(0, u64::saturating_add),
        globals: module.globals.len() as u64,
        exports: module.exports.len() as u64,
        regions: regions.count() as u64,
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
