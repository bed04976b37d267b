//! Verifier and compiler: from WebAssembly to installed images.
//!
//! [`verify`] decides whether a module may become a SIP: whether it is valid WebAssembly, imports
//! only kernel entries that its manifest has the privileges for and messages of its contracts, and
//! has the exports that the kernel needs. [`compile`] verifies and then translates, one function at
//! a time: WebAssembly to Cranelift IR to machine code, linked into one position-independent piece
//! of code, with the metadata that the run-time needs. [`Compiled::to_elf`] makes the file that the
//! installer stores.
//!
//! Invariants:
//! - Only modules that [`verify`] has accepted are translated.
//! - The output depends only on the input and the options: the same module gives the same bytes,
//!   on any number of threads.
//! - Every instruction that can trap is in the trap table, with its reason.
//! - No input makes the compiler panic; input that it cannot handle gives an [`Error`].
#![forbid(unsafe_code)]

mod debug;
mod elf_writer;
mod emit;
mod error;
mod generate;
pub mod graph;
mod initial;
mod isa;
mod kept;
mod layout;
mod link;
mod module;
mod names;
mod options;
mod parallel;
mod passes;
mod piece;
pub mod regions;
pub mod strip;
pub mod symbols;
#[cfg(test)]
mod tests;
mod translate;
pub mod uses;
mod verify;

pub use error::{Error, ErrorKind, Place, Result};
pub use kept::{Keeper, Name};
pub use options::{Cpu, Features, Options, Unreached, Work};
pub use sing_image::meta::{Checks, Linkage, MemoryMode};

use sing_image::contract::ContractTable;
use sing_image::manifest::Manifest;
use sing_image::meta::Meta;
use std::time::Instant;

/// The declarations of a module that has passed verification.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The program's manifest; empty for open linkage.
    pub manifest: Manifest,
    /// Its contracts, in the order of the contract numbers in the code.
    pub contracts: Vec<ContractTable>,
}

/// Figures of a compilation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of function bodies in the module.
    pub wasm_bytes: usize,
    /// Functions compiled.
    pub functions: usize,
    /// Functions that nothing can call, which have no code in the image.
    pub left_out: usize,
    /// Functions whose code was there before.
    pub kept: usize,
    /// WebAssembly instructions translated.
    pub instructions: u64,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Nanoseconds spent on verification.
    pub verify_ns: u64,
    /// Nanoseconds spent on debug information.
    pub debug_ns: u64,
    /// Nanoseconds spent on translation to Cranelift's IR, by all threads together.
    pub translate_ns: u64,
    /// Nanoseconds spent in Cranelift, by all threads together.
    pub codegen_ns: u64,
}

/// A compiled module.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The code, position-independent.
    pub code: Vec<u8>,
    /// The bytes of the image's data, to which [`Meta`] refers.
    pub data: Vec<u8>,
    /// The metadata that the run-time needs.
    pub meta: Meta,
    /// The program's manifest; empty for open linkage.
    pub manifest: Manifest,
    /// Its contracts, in the order of the contract numbers in the code.
    pub contracts: Vec<ContractTable>,
    /// The image's lines, from the module's debug information; empty if it has none.
    pub lines: Vec<u8>,
    /// What somebody may want to know who compiles this module.
    pub notes: Vec<String>,
    /// Figures of the compilation.
    pub stats: Stats,
}

/// Checks that a module is valid WebAssembly and, for sealed linkage, a SIP.
///
/// # Errors
/// The first reason why it is not, with its place in the module.
pub fn verify(wasm: &[u8], options: &Options) -> Result<Verified> {
    let mut checked = verify::check(wasm, options)?;
    emit::check_large(&mut checked, options)?;
    let verify::Checked {
        manifest,
        contracts,
        ..
    } = checked;
    Ok(Verified {
        manifest,
        contracts,
    })
}

/// Verifies and compiles a module, on as many threads as there are processors.
///
/// # Errors
/// Why the module is refused, with the place.
pub fn compile(wasm: &[u8], options: &Options) -> Result<Compiled> {
    compile_by(wasm, options, &Work::default())
}

/// Verifies and compiles a module. The result does not depend on how the work is done.
///
/// # Errors
/// Why the module is refused, with the place.
pub fn compile_by(wasm: &[u8], options: &Options, work: &Work<'_>) -> Result<Compiled> {
    let started = Instant::now();
    let checked = verify::check(wasm, options)?;
    let verify_ns = started.elapsed().as_nanos() as u64;
    let mut compiled = emit::module(checked, options, work)?;
    compiled.stats.verify_ns = verify_ns;
    Ok(compiled)
}

impl Compiled {
    /// The installed image: an ELF file as `sing_image::elf` reads it.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`] if a part is too large for the format.
    pub fn to_elf(&self) -> Result<Vec<u8>> {
        elf_writer::write(self)
    }
}
