//! Joins an ordinary program with an adapter, to one module that is verified like any other.
//!
//! An ordinary program imports the functions of WASI preview 1. The adapter is a program of this
//! system that exports functions of these names, and imports the kernel's. In the merged module
//! both are side by side: the program's types, functions, tables, globals, tags and segments come
//! first, the adapter's behind them. The program's memory is memory 0, so that its accesses are as
//! cheap as ever, and the adapter's is memory 1. The adapter reaches the other memory by functions
//! of the module `program`, which are made here ([`Stub`]).
//!
//! A program may be a component (WASI 0.2) of one core module: that module is joined, and what it
//! imports by interfaces are functions of the adapter, too (`component/`).
//!
//! Invariants:
//! - What is merged was valid, and what comes of it is valid: [`merge`] validates both modules
//!   first.
//! - The merged module imports what the adapter imports of the kernel and of contracts, and nothing
//!   else: the program gets no authority but the adapter's functions.
//! - Exports, entry, start function and custom sections are the adapter's; of the program's custom
//!   sections only the functions' names stay. The section `singularity.memory` says that the
//!   kernel's calls mean the adapter's memory.
//! - No input makes it panic. Nothing here is trusted: the verifier sees the result.
#![forbid(unsafe_code)]

mod component;
mod error;
mod imports;
mod interfaces;
mod join;
mod lacks;
mod manifest;
mod names;
mod parts;
mod program;
mod renumber;
mod sections;
mod segments;
mod stubs;

pub use error::Error;
pub use imports::any_named as imports_any;
pub use stubs::Stub;
pub use wasmparser::WasmFeatures;

/// The number of the program's memory in a merged module.
pub const PROGRAM_MEMORY: u32 = 0;
/// The number of the adapter's memory in a merged module.
pub const ADAPTER_MEMORY: u32 = 1;

/// The modules under whose names programs import WASI's functions.
pub const WASI: [&str; 2] = ["wasi_snapshot_preview1", UNSTABLE];
/// The one of the version before preview 1. Where a function differs there, the adapter exports it by this
/// name, `#` and its own.
pub const UNSTABLE: &str = "wasi_unstable";

/// The module under whose name the adapter imports what it needs of the program.
pub const PROGRAM: &str = "program";

/// What differs between one merged module and another of the same two.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// What the two modules may use of WebAssembly.
    pub features: WasmFeatures,
    /// The name in the merged manifest, in place of the adapter's.
    pub name: Option<&'a str>,
    /// The budget in the merged manifest, in bytes, in place of the adapter's.
    pub memory: Option<u64>,
}

/// What a module is to this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// None of the two others: one of this system's, if any.
    Own,
    /// A program of WASI preview 1.
    Module,
    /// A component.
    Component,
}

/// What a module is, by its first bytes and its imports.
#[must_use]
pub fn kind(wasm: &[u8]) -> Kind {
    if wasmparser::Parser::is_component(wasm) {
        Kind::Component
    } else if imports::any_of_wasi(wasm) {
        Kind::Module
    } else {
        Kind::Own
    }
}

/// Joins a program and an adapter.
///
/// # Errors
/// That one of them is not valid, or has what cannot be joined; that the adapter lacks functions
/// that the program imports. All that is in the program's way is named at once.
pub fn merge(program: &[u8], adapter: &[u8], options: &Options<'_>) -> Result<Vec<u8>, Error> {
    let mut linked = Vec::new();
    let program = program::Program::read(program, options.features, &mut linked)?;
    let adapter = parts::Parts::read(adapter, options.features).map_err(Error::in_adapter)?;
    join::join(&program, &adapter, options)
}
