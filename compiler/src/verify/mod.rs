//! Verification: whether a module is valid, and whether it is a SIP.
//!
//! First the module is validated as WebAssembly ([`validate`]), by `wasmparser`. Then, where the
//! linkage is sealed, come the rules that make it a SIP: what it declares ([`manifest`]), which
//! contracts it speaks ([`contracts`]), what it imports ([`imports`]), whether that was granted
//! ([`authority`]), what it must bring ([`sip`]), how large it may be ([`limits`]) and whether its
//! threads have stacks of their own ([`threads`]), and whether what it declares to allocate nothing
//! does ([`regions`]). How much work its code is to the compiler
//! ([`work`]) is counted with the validation.

mod authority;
mod contracts;
mod imports;
mod limits;
mod manifest;
mod sip;
mod threads;
mod validate;
mod work;

pub(crate) use imports::ImportUse;
use validate::Used;

use crate::error::{Error, ErrorKind, Result};
use crate::graph::Graph;
use crate::initial::Initial;
use crate::module::Module;
use crate::options::{Options, Unreached};
use crate::regions;
use sing_image::contract::ContractTable;
use sing_image::manifest::Manifest;
use sing_image::meta::ExportKind;

/// A verified module, with the results of verification.
pub(crate) struct Checked<'a> {
    pub(crate) module: Module<'a>,
    /// The meaning of each imported function.
    pub(crate) imports: Vec<ImportUse>,
    pub(crate) manifest: Manifest,
    pub(crate) contracts: Vec<ContractTable>,
    /// The tables that its code grows, and whether it has tail calls.
    pub(crate) used: Used,
    /// The data of its image.
    pub(crate) initial: Initial,
    /// The memory that addresses in kernel calls refer to.
    pub(crate) kernel_memory: u32,
    /// Whether each function can be called, the imported ones first; empty if all count as such.
    pub(crate) reached: Vec<bool>,
}

impl Checked<'_> {
    /// Whether a function of the module's can be called.
    pub(crate) fn is_reached(&self, func: u32) -> bool {
        self.reached.get(func as usize).copied().unwrap_or(true)
    }
}

/// Verifies a module.
pub(crate) fn check<'a>(wasm: &'a [u8], options: &Options) -> Result<Checked<'a>> {
    let used = validate::module(wasm, options.features.of_wasmparser())?;
    let module = Module::parse(wasm)?;
    if !options.sealed() {
        if (used.tail_calls || used.exceptions) && !options.tail_calls {
            let what = match used.exceptions {
                true => "exceptions are",
                false => "tail calls are",
            };
            let message = format!(
                "{what} not supported where modules are linked that were compiled without tail calls"
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let imports = (0..module.imported_funcs).map(ImportUse::Linked).collect();
        let (manifest, contracts) = Default::default();
        let initial = Initial::open(&module)?;
        return Ok(Checked {
            module,
            imports,
            manifest,
            contracts,
            used,
            initial,
            kernel_memory: 0,
            reached: Vec::new(),
        });
    }
    sip::shape(&module)?;
    limits::module(&module, &used)?;
    let kernel_memory = sip::kernel_memory(&module)?;
    let manifest = manifest::of_module(&module)?;
    let contracts = contracts::of_module(&module)?;
    contracts::startup_endpoints(&manifest, &contracts)?;
    contracts::served_and_used(&module, &manifest)?;
    let contracts = contracts::prune(contracts, &module, &manifest);
    limits::contracts(&contracts)?;
    let imports = imports::resolve(&module, &manifest, &contracts)?;
    authority::check(&module, &manifest, &contracts)?;
    sip::exports(&module, &imports)?;
    sip::budget(&module, &manifest)?;
    threads::check(&module, &manifest, &imports)?;
    sip::elements(&module)?;
    regions::are_functions(exports_of(&module))?;
    let graph = Graph::of(wasm)?;
    regions::check(&graph, |func| module.func_name(func as u32))?;
    let (mut reached, mut named) = (Vec::new(), None);
    if options.unreached == Unreached::LeftOut {
        let from = graph.reached();
        named = Some(graph.named_data(&from));
        reached.extend(from[..graph.functions].iter().map(Option::is_some));
    }
    let initial = Initial::sealed(&module, named.as_ref())?;
    limits::data(&initial)?;
    Ok(Checked {
        module,
        imports,
        manifest,
        contracts,
        used,
        initial,
        kernel_memory,
        reached,
    })
}

/// The names of a module's exports, and whether each is a function.
fn exports_of<'m>(module: &'m Module<'_>) -> impl Iterator<Item = (&'m str, bool)> {
    let exports = module.exports.iter();
    exports.map(|e| (e.name.as_str(), matches!(e.kind, ExportKind::Func(_))))
}
