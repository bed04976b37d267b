//! Verifier and compiler: from WebAssembly to installed images.
//!
//! [`verify`] decides whether a module may become a SIP: it is valid WebAssembly, imports nothing but kernel
//! entries that its manifest has the privileges for and messages that its contracts know, and brings what
//! the kernel expects of it. [`compile`] verifies and then translates: WebAssembly to Cranelift IR to
//! machine code, one function at a time, linked into one position-independent piece of code with what the
//! run-time needs beside it. [`Compiled::to_elf`] is the file that the installer stores.
//!
//! Invariants:
//! - Nothing is translated that [`verify`] has not accepted.
//! - The output depends on the input and the options alone: same module, same bytes.
//! - Every instruction that can trap stands in the trap table with its reason.
//! - No input makes the compiler panic; what it cannot handle is an [`Error`].
#![forbid(unsafe_code)]

mod elf_writer;
mod emit;
mod error;
mod initial;
mod isa;
mod layout;
mod link;
mod module;
mod names;
mod options;
#[cfg(test)]
mod tests;
mod translate;
mod verify;

pub use error::{Error, ErrorKind, Place, Result};
pub use options::{Cpu, Features, Options};
pub use sing_image::meta::{Linkage, MemoryMode};

use sing_image::contract::ContractTable;
use sing_image::manifest::Manifest;
use sing_image::meta::Meta;
use std::time::Instant;

/// A module that is fit to be compiled.
#[derive(Clone, Debug)]
pub struct Verified {
    /// What the program declares; empty where the linkage is open.
    pub manifest: Manifest,
    /// The contracts it names, in the order of the code's contract numbers.
    pub contracts: Vec<ContractTable>,
}

/// What a compilation took and gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of the functions' bodies in the module.
    pub wasm_bytes: usize,
    /// Functions compiled.
    pub functions: usize,
    /// WebAssembly instructions translated.
    pub instructions: u64,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Nanoseconds spent on verification.
    pub verify_ns: u64,
    /// Nanoseconds spent on translation to Cranelift's form.
    pub translate_ns: u64,
    /// Nanoseconds spent in Cranelift.
    pub codegen_ns: u64,
}

/// A compiled module.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The code, position-independent.
    pub code: Vec<u8>,
    /// The bytes of data segments.
    pub data: Vec<u8>,
    /// What the run-time needs of it.
    pub meta: Meta,
    /// What the program declares; empty where the linkage is open.
    pub manifest: Manifest,
    /// The contracts it names.
    pub contracts: Vec<ContractTable>,
    /// What it took.
    pub stats: Stats,
}

/// Decides whether a module is valid and, for sealed linkage, a proper SIP.
///
/// # Errors
/// The first reason why it is not, and where.
pub fn verify(wasm: &[u8], options: &Options) -> Result<Verified> {
    let verify::Checked {
        manifest,
        contracts,
        ..
    } = verify::check(wasm, options)?;
    Ok(Verified {
        manifest,
        contracts,
    })
}

/// Verifies and compiles a module.
///
/// # Errors
/// Why the module is refused.
pub fn compile(wasm: &[u8], options: &Options) -> Result<Compiled> {
    let started = Instant::now();
    let checked = verify::check(wasm, options)?;
    let verify_ns = started.elapsed().as_nanos() as u64;
    let mut compiled = emit::module(checked, options)?;
    compiled.stats.verify_ns = verify_ns;
    Ok(compiled)
}

impl Compiled {
    /// The installed image: an ELF file as `sing_image::elf` reads it.
    ///
    /// # Errors
    /// Where a part is too large for the format.
    pub fn to_elf(&self) -> Result<Vec<u8>> {
        elf_writer::write(self)
    }
}
