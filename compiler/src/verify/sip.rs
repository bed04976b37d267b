//! The rules that make a module a SIP: closed, and with what the kernel expects of it.

use super::ImportUse;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::names::{EXPORT_MAIN, EXPORT_STACK_POINTER, EXPORT_THREAD, SECTION_MANIFEST};
use sing_abi::{WASM_PAGE, entry};
use sing_image::manifest::Manifest;
use sing_image::meta::{ExportKind, GlobalType, ImportKind, SegmentMode, ValType};

/// A SIP is closed: its memory, tables and globals are its own.
pub(super) fn shape(module: &Module<'_>) -> Result<()> {
    for import in &module.imports {
        let what = match import.kind {
            ImportKind::Func(_) => continue,
            ImportKind::Memory(_) => "memory",
            ImportKind::Table(_) => "table",
            ImportKind::Global(_) => "global",
        };
        let message = format!(
            "the module imports a {what}; a SIP shares nothing, so it must define its own (link \
             without --import-{what})"
        );
        let place = Place::Import {
            module: import.module.clone(),
            name: import.name.clone(),
        };
        return Err(Error::new(ErrorKind::Import, message).at(place));
    }
    if module.memories.len() > 1 {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a SIP has one memory at the most",
        ));
    }
    if module.shared_memory {
        let message = "the memory is declared shared; a SIP's memory is its own, and its threads share \
                       it without that (link without --shared-memory)";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// What the kernel calls must be there and of the right type.
pub(super) fn exports(module: &Module<'_>, imports: &[ImportUse]) -> Result<()> {
    let fail = |name: &str, message: String| {
        Err(Error::new(ErrorKind::Export, message).at(Place::Export(name.into())))
    };
    match module.export(EXPORT_MAIN) {
        Some(kind) => func_export(module, EXPORT_MAIN, kind, &[], &[ValType::I32])?,
        None => {
            return fail(
                EXPORT_MAIN,
                "the module has no such export; a SIP starts there: a function () -> i32, whose result \
                 is the exit code (sing_sdk::main! makes one)"
                    .into(),
            );
        }
    }
    match module.export(EXPORT_THREAD) {
        Some(kind) => func_export(module, EXPORT_THREAD, kind, &[ValType::I32], &[])?,
        None => {
            let create = &entry::ENTRIES[entry::THREAD_CREATE];
            let creates =
                |i: &ImportUse| matches!(i, ImportUse::Entry(e) if e.index == create.index);
            if imports.iter().any(creates) {
                return fail(
                    EXPORT_THREAD,
                    format!(
                        "the module imports {} but has no such export; its threads start there: a \
                         function (i32) -> ()",
                        create.name
                    ),
                );
            }
        }
    }
    if let Some(kind) = module.export(EXPORT_STACK_POINTER) {
        let wanted = GlobalType {
            value: ValType::I32,
            mutable: true,
        };
        let ExportKind::Global(global) = kind else {
            return fail(
                EXPORT_STACK_POINTER,
                "must be a global: the shadow stack pointer".into(),
            );
        };
        if module.globals.get(global as usize) != Some(&wanted) {
            return fail(
                EXPORT_STACK_POINTER,
                "must be a mutable global of type i32".into(),
            );
        }
    }
    Ok(())
}

fn func_export(
    module: &Module<'_>,
    name: &str,
    kind: ExportKind,
    params: &[ValType],
    results: &[ValType],
) -> Result<()> {
    let wanted = super::imports::describe(params, results);
    let fail = |what: String| {
        let message = format!("must be a function {wanted}, but is {what}");
        Err(Error::new(ErrorKind::Export, message).at(Place::Export(name.into())))
    };
    let ExportKind::Func(func) = kind else {
        return fail("no function".into());
    };
    let ty = module.func_type(func)?;
    if ty.params != params || ty.results != results {
        return fail(format!(
            "one {}",
            super::imports::describe(&ty.params, &ty.results)
        ));
    }
    Ok(())
}

/// Active element segments must fit the tables that they go to.
pub(super) fn elements(module: &Module<'_>) -> Result<()> {
    for (index, element) in module.elements.iter().enumerate() {
        if let SegmentMode::Active { target, offset } = element.mode {
            let end = u64::from(module.constant_i32(offset)?) + element.items.len() as u64;
            let table = module.tables.get(target as usize);
            let size = table.map_or(0, |t| u64::from(t.limits.min));
            if end > size {
                let message = format!(
                    "element segment {index} ends at element {end}, outside the {size} that table {target} starts with"
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
    }
    Ok(())
}

/// What the module starts with must fit what its manifest allows.
pub(super) fn budget(module: &Module<'_>, manifest: &Manifest) -> Result<()> {
    let memory = module
        .memories
        .first()
        .map_or(0, |m| u64::from(m.min) * WASM_PAGE);
    let tables: u64 = module
        .tables
        .iter()
        .map(|t| u64::from(t.limits.min) * 8)
        .sum();
    if manifest.memory != 0 && memory + tables > manifest.memory {
        let message = format!(
            "the module starts with {memory} bytes of memory and {tables} bytes of tables; its manifest \
             allows {} (\"memory\")",
            manifest.memory
        );
        return Err(Error::new(ErrorKind::Budget, message).at(Place::Section(SECTION_MANIFEST)));
    }
    Ok(())
}
