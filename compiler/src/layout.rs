//! The layout of the part of the context record whose size depends on the module.

use crate::error::{Error, ErrorKind, Result};
use crate::module::Module;
use crate::options::Options;
use sing_abi::ctx;
use sing_image::meta::CtxLayout;

/// Bytes of an entry in the table of imported functions: code and context.
pub(crate) const FUNC_IMPORT_SIZE: u32 = 16;
/// Offset in such an entry: the code's address.
pub(crate) const FUNC_IMPORT_CODE: u32 = 0;
/// Offset in such an entry: the context that is passed to the function.
pub(crate) const FUNC_IMPORT_CTX: u32 = 8;

/// Bytes of an entry in the table of imported tags: the context of the instance whose tag it is,
/// and its index there. The first entry holds the address of the images' list instead.
pub(crate) const TAG_IMPORT_SIZE: u32 = 16;
/// Offset in such an entry: the context.
pub(crate) const TAG_IMPORT_CTX: u32 = 0;
/// Offset in such an entry: the index, an i32.
pub(crate) const TAG_IMPORT_INDEX: u32 = 8;

/// Lays out the record of a module, with the most frequently accessed parts first.
pub(crate) fn of_module(module: &Module<'_>, options: &Options) -> Result<CtxLayout> {
    let mut end = ctx::VARS as u64;
    let mut place = |count: usize, size: u64| {
        let at = end;
        end = (end + count as u64 * size).next_multiple_of(16);
        // The sum is checked below.
        at as u32
    };
    let mut layout = CtxLayout {
        globals: place(module.globals.len(), ctx::GLOBAL_CELL as u64),
        tables: place(module.tables.len(), 8),
        memories: place(
            module.memories.len().saturating_sub(1),
            ctx::MEMORY_CELL as u64,
        ),
        ..CtxLayout::default()
    };
    if !options.sealed() {
        layout.func_imports = place(module.imported_funcs as usize, u64::from(FUNC_IMPORT_SIZE));
        layout.signatures = place(module.types.len(), 4);
        layout.tag_imports = place(1 + module.imported_tags as usize, TAG_IMPORT_SIZE.into());
    }
    let size = end.next_multiple_of(ctx::ALIGN as u64);
    if size > i32::MAX as u64 {
        return Err(Error::new(
            ErrorKind::TooLarge,
            "the module's globals, tables and types",
        ));
    }
    layout.size = size as u32;
    Ok(layout)
}
