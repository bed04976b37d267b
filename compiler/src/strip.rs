//! Modules and images without what only people read.

use crate::error::{Error, ErrorKind, Result};
use crate::{Compiled, Stats};
use sing_image::elf::Image;
use wasmparser as wp;

/// Takes the debug information out of a module; `names`: the names of functions, too.
///
/// # Errors
/// If the file cannot be read to its end as a module.
pub fn module(wasm: &[u8], names: bool) -> Result<Vec<u8>> {
    let is_taken = |name: &str| {
        name.starts_with(".debug_")
            || matches!(name, "external_debug_info" | "sourceMappingURL")
            || names && name == "name"
    };
    let mut left = Vec::with_capacity(wasm.len());
    let mut taken = 0;
    for payload in wp::Parser::new(0).parse_all(wasm) {
        let wp::Payload::CustomSection(custom) = payload? else {
            continue;
        };
        if is_taken(custom.name()) {
            // Its head, one byte and its size, stands before the range that the parser gives.
            let range = custom.range();
            let (start, end) = (range.start as usize, range.end as usize);
            let size = (end - start) as u32;
            let head = head_before(&wasm[..start], size)?;
            left.extend_from_slice(&wasm[taken..head]);
            taken = end;
        }
    }
    left.extend_from_slice(&wasm[taken..]);
    Ok(left)
}

/// Where the head of a custom section of this size starts, which ends these bytes. Its number may
/// take more bytes than it needs.
fn head_before(bytes: &[u8], size: u32) -> Result<usize> {
    let is_head = |head: &[u8]| {
        let mut reader = wp::BinaryReader::new(head, 0);
        let kind = reader.read_u8();
        matches!((kind, reader.read_var_u32()), (Ok(0), Ok(read)) if read == size && reader.eof())
    };
    let starts = (2..=6).filter_map(|len| bytes.len().checked_sub(len));
    let mut heads = starts.filter(|&start| is_head(&bytes[start..]));
    heads
        .next()
        .ok_or_else(|| Error::internal("a section without its head"))
}

/// Takes the lines out of an image; `names`: the names of functions, too.
///
/// # Errors
/// If the file is no image, or broken.
pub fn image(file: &[u8], names: bool) -> Result<Vec<u8>> {
    let image = Image::decode(file).map_err(|e| Error::new(ErrorKind::Invalid, e.message))?;
    let mut meta = image.meta;
    if names {
        let first = meta.imported_funcs();
        for (func, index) in meta.funcs.iter_mut().zip(first..) {
            func.name = format!("function {index}").into();
        }
    }
    let left = Compiled {
        code: image.code.to_vec(),
        data: image.data.to_vec(),
        meta,
        manifest: image.manifest,
        contracts: image.contracts,
        lines: Vec::new(),
        notes: Vec::new(),
        stats: Stats::default(),
    };
    left.to_elf()
}
