//! Verification: whether a module is valid, and whether it is a proper SIP.
//!
//! First the module is validated as WebAssembly ([`validate`]), by `wasmparser`. Then, where the linkage is
//! sealed, come the rules that make it a SIP: what it declares ([`manifest`]), which contracts it speaks
//! ([`contracts`]), what it imports ([`imports`]), whether that was granted ([`authority`]), what it must bring
//! ([`sip`]), how large it may be ([`limits`]) and whether its threads have stacks of their own ([`threads`]).

mod authority;
mod contracts;
mod imports;
mod limits;
mod manifest;
mod sip;
mod threads;
mod validate;

pub(crate) use imports::ImportUse;

use crate::error::Result;
use crate::initial::Initial;
use crate::module::Module;
use crate::options::Options;
use sing_image::contract::ContractTable;
use sing_image::manifest::Manifest;
use std::collections::BTreeSet;

/// A module that has passed, with what was learned on the way.
pub(crate) struct Checked<'a> {
    pub(crate) module: Module<'a>,
    /// What each imported function is.
    pub(crate) imports: Vec<ImportUse>,
    pub(crate) manifest: Manifest,
    pub(crate) contracts: Vec<ContractTable>,
    /// Tables that some `table.grow` in the code names.
    pub(crate) grown_tables: BTreeSet<u32>,
    /// Its data.
    pub(crate) initial: Initial,
}

/// Verifies a module.
pub(crate) fn check<'a>(wasm: &'a [u8], options: &Options) -> Result<Checked<'a>> {
    let grown_tables = validate::module(wasm, options.features.of_wasmparser())?;
    let module = Module::parse(wasm)?;
    if !options.sealed() {
        let imports = (0..module.imported_funcs).map(ImportUse::Linked).collect();
        let (manifest, contracts) = Default::default();
        let initial = Initial::open(&module)?;
        return Ok(Checked {
            module,
            imports,
            manifest,
            contracts,
            grown_tables,
            initial,
        });
    }
    sip::shape(&module)?;
    limits::module(&module)?;
    let manifest = manifest::of_module(&module)?;
    let contracts = contracts::of_module(&module)?;
    contracts::startup_endpoints(&manifest, &contracts)?;
    let contracts = contracts::prune(contracts, &module, &manifest);
    limits::contracts(&contracts)?;
    let imports = imports::resolve(&module, &manifest, &contracts)?;
    authority::check(&module, &manifest, &contracts)?;
    sip::exports(&module, &imports)?;
    sip::budget(&module, &manifest)?;
    threads::check(&module, &manifest, &imports)?;
    sip::elements(&module)?;
    let initial = Initial::sealed(&module)?;
    Ok(Checked {
        module,
        imports,
        manifest,
        contracts,
        grown_tables,
        initial,
    })
}
