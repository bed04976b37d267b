//! Input files: modules and images, recognised by their first bytes.

use sing_compiler::{Compiled, Options};
use std::path::Path;

/// The kind of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Module,
    Image,
}

/// The most bytes of a file: a system image with all its contents.
pub const MOST_BYTES: u64 = 1 << 30;

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let read = sing_contract::read_bounded(path, MOST_BYTES);
    read.map_err(|e| format!("{}: cannot be read: {e}", path.display()))
}

/// The kind of a file.
pub fn kind(bytes: &[u8]) -> Result<Kind, String> {
    if bytes.starts_with(b"\0asm") {
        Ok(Kind::Module)
    } else if bytes.starts_with(b"\x7fELF") {
        Ok(Kind::Image)
    } else {
        Err("neither a WebAssembly module nor an image (an ELF file)".into())
    }
}

/// The image in a file's bytes; a module is compiled.
pub fn image(path: &Path, bytes: Vec<u8>, options: &Options) -> Result<Vec<u8>, String> {
    let name = path.display();
    match kind(&bytes).map_err(|e| format!("{name}: {e}"))? {
        Kind::Image => Ok(bytes),
        Kind::Module => elf(&compile(path, &bytes, options)?, path),
    }
}

/// Compiles a module.
pub fn compile(path: &Path, bytes: &[u8], options: &Options) -> Result<Compiled, String> {
    let compiled = sing_compiler::compile(bytes, options);
    compiled.map_err(|e| format!("{}: refused: {e}", path.display()))
}

/// A compiled module's image.
pub fn elf(compiled: &Compiled, path: &Path) -> Result<Vec<u8>, String> {
    compiled
        .to_elf()
        .map_err(|e| format!("{}: {e}", path.display()))
}
