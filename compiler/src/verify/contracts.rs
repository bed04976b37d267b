//! The contracts of a module: source text in a custom section, compiled by the contract language's
//! own compiler.

use super::limits;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::names::{CONTRACT_PREFIX, SECTION_CONTRACTS, SECTION_MANIFEST};
use sing_image::contract::ContractTable;
use sing_image::limits::CONTRACTS;
use sing_image::manifest::Manifest;
use std::collections::{HashMap, HashSet};

// Their index must fit into an operation's bits. The contract language refuses more.
const _: () = assert!(CONTRACTS.most <= 1 << 12);

/// Reads the contracts.
///
/// Compilers put a piece of text into the section for each place that refers to a contract, and
/// linkers join the pieces. Equal pieces count once.
pub(super) fn of_module(module: &Module<'_>) -> Result<Vec<ContractTable>> {
    let fail = |message: String| {
        Error::new(ErrorKind::Contract, message).at(Place::Section(SECTION_CONTRACTS))
    };
    let mut source = String::new();
    let mut seen = HashSet::new();
    for section in module
        .customs
        .iter()
        .filter(|c| c.name == SECTION_CONTRACTS)
    {
        let text = std::str::from_utf8(section.bytes)
            .map_err(|e| fail(format!("the contracts are not UTF-8 text: {e}")))?;
        for piece in text.split('\0').filter(|piece| seen.insert(*piece)) {
            source.push_str(piece);
            source.push('\n');
        }
    }
    limits::contract_text(&source)?;
    if source.trim().is_empty() {
        return Ok(Vec::new());
    }
    let tables = sing_contract::compile(&source).map_err(|diagnostics| {
        let all: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        fail(all.join("\n"))
    })?;
    for table in &tables {
        table.check().map_err(|e| fail(e.message))?;
    }
    Ok(tables)
}

/// Contracts with their indices, by name.
pub(super) fn by_name(contracts: &[ContractTable]) -> HashMap<&str, (&ContractTable, u32)> {
    let places = contracts.iter().zip(0..);
    places.map(|(c, i)| (c.name.as_str(), (c, i))).collect()
}

/// Keeps only the contracts that the program can use: those that it imports from, those of its
/// start-up endpoints, and all that these refer to, which are part of their identities. A library
/// may have many more.
pub(super) fn prune(
    contracts: Vec<ContractTable>,
    module: &Module<'_>,
    manifest: &Manifest,
) -> Vec<ContractTable> {
    let imported = module
        .imports
        .iter()
        .filter_map(|i| i.module.strip_prefix(CONTRACT_PREFIX));
    let given = manifest.endpoints.iter().map(|e| e.contract.as_str());
    let known = by_name(&contracts);
    let mut met: HashSet<&str> = HashSet::new();
    let mut next: Vec<&str> = Vec::new();
    for name in imported.chain(given) {
        next.extend(met.insert(name).then_some(name));
        while let Some(name) = next.pop() {
            let table = known.get(name).map(|&(table, _)| table);
            let references = table.into_iter().flat_map(ContractTable::references);
            next.extend(references.filter(|&name| met.insert(name)));
        }
    }
    let met: Vec<bool> = contracts
        .iter()
        .map(|c| met.contains(c.name.as_str()))
        .collect();
    contracts
        .into_iter()
        .zip(met)
        .filter_map(|(table, met)| met.then_some(table))
        .collect()
}

/// Checks that the contracts of the manifest's start-up endpoints exist, with their sides and
/// states.
pub(super) fn startup_endpoints(manifest: &Manifest, contracts: &[ContractTable]) -> Result<()> {
    let fail = |message| {
        Err(Error::new(ErrorKind::Manifest, message).at(Place::Section(SECTION_MANIFEST)))
    };
    let known = by_name(contracts);
    for endpoint in &manifest.endpoints {
        let Some(&(table, _)) = known.get(endpoint.contract.as_str()) else {
            return fail(format!(
                "start-up endpoint {:?} is of contract {:?}, whose text is not in section \
                 {SECTION_CONTRACTS}; add it there (sing_sdk::contract! does)",
                endpoint.name, endpoint.contract
            ));
        };
        if let Some(narrowing) = &table.narrows
            && narrowing.side != endpoint.side
        {
            return fail(format!(
                "start-up endpoint {:?} is to be {}, but permission {:?} has only {}",
                endpoint.name,
                endpoint.side.name(),
                endpoint.contract,
                narrowing.side.name()
            ));
        }
        if let Some(state) = &endpoint.state
            && table.state(state).is_none()
        {
            return fail(format!(
                "start-up endpoint {:?} is to be in state {state:?}, which contract {:?} has not",
                endpoint.name, endpoint.contract
            ));
        }
    }
    Ok(())
}

/// Checks that the module can speak what its manifest says that it serves and uses: it imports an
/// operation of the exporting or the importing side.
pub(super) fn served_and_used(module: &Module<'_>, manifest: &Manifest) -> Result<()> {
    let speaks = |contract: &str, side: &str| {
        module.imports.iter().any(|import| {
            let of = import.module.strip_prefix(CONTRACT_PREFIX);
            of == Some(contract) && import.name.starts_with(side)
        })
    };
    let fail = |message| {
        Err(Error::new(ErrorKind::Manifest, message).at(Place::Section(SECTION_MANIFEST)))
    };
    for served in &manifest.serves {
        let (name, contract) = (&served.name, &served.contract);
        if !speaks(contract, "exp.") {
            return fail(format!(
                "the program says that it serves {name:?} by {contract:?}, and imports nothing of \
                 that contract's exporting side; serve it, or take it out of `serves`"
            ));
        }
    }
    for used in &manifest.uses {
        let (path, contract) = (&used.path, &used.contract);
        if !speaks(contract, "imp.") {
            return fail(format!(
                "the program says that it uses {path:?} by {contract:?}, and imports nothing of that \
                 contract's importing side; use it, or take it out of `uses`"
            ));
        }
    }
    Ok(())
}
