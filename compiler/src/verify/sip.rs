//! The rules that make a module a SIP: it is closed, and exports what the kernel calls.

use super::ImportUse;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::names::{
    EXPORT_MAIN, EXPORT_STACK_POINTER, EXPORT_THREAD, SECTION_MANIFEST, SECTION_MEMORY,
};
use sing_abi::{PAGE, entry};
use sing_image::manifest::{LEAST_RECORDS, Manifest};
use sing_image::meta::{ExportKind, GlobalType, ImportKind, SegmentMode, ValType};
use wasmparser::BinaryReader;

/// Checks that the module is closed: its memory, tables and globals are its own.
pub(super) fn shape(module: &Module<'_>) -> Result<()> {
    for import in &module.imports {
        let what = match import.kind {
            ImportKind::Func(_) => continue,
            ImportKind::Memory(_) => "memory",
            ImportKind::Table(_) => "table",
            ImportKind::Global(_) => "global",
            ImportKind::Tag(_) => "tag",
        };
        let way = match import.kind {
            ImportKind::Tag(_) => "exceptions do not leave a process".into(),
            _ => format!("link without --import-{what}"),
        };
        let message = format!(
            "the module imports a {what}; a SIP shares nothing, so it must define its own ({way})"
        );
        let place = Place::Import {
            module: import.module.clone(),
            name: import.name.clone(),
        };
        return Err(Error::new(ErrorKind::Import, message).at(place));
    }
    if let Some(table) = module.tables.iter().position(|t| t.element.is_exception()) {
        let message = format!(
            "table {table} holds references to exceptions, which belong to one thread, and a SIP's \
             threads share its tables (keep them in locals or globals)"
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if module.shared_memory {
        let message = "the memory is declared shared; a SIP's memory is its own, and its threads share \
                       it without that (link without --shared-memory)";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// The memory that addresses in kernel calls and messages refer to: what the module's section says,
/// or else the first.
pub(super) fn kernel_memory(module: &Module<'_>) -> Result<u32> {
    let fail =
        |kind, message: String| Err(Error::new(kind, message).at(Place::Section(SECTION_MEMORY)));
    let mut sections = module.customs.iter().filter(|c| c.name == SECTION_MEMORY);
    let Some(section) = sections.next() else {
        return Ok(0);
    };
    if sections.next().is_some() {
        let message =
            "the module says more than once which memory kernel calls refer to; leave one";
        return fail(ErrorKind::Invalid, message.into());
    }
    let mut reader = BinaryReader::new(section.bytes, 0);
    let memory = match reader.read_var_u32() {
        Ok(memory) if reader.eof() => memory,
        _ => {
            let message = "must hold one number: that of the memory that kernel calls refer to";
            return fail(ErrorKind::Invalid, message.into());
        }
    };
    if memory as usize >= module.memories.len() {
        let message = format!(
            "kernel calls are to refer to memory {memory}, and the module has {}: name one that it \
             defines, or leave the section out for the first",
            module.memories.len()
        );
        return fail(ErrorKind::Unsupported, message);
    }
    Ok(memory)
}

/// Checks that the functions that the kernel calls are exported, with the right types.
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
                 is the exit code (#[sing_sdk::main] makes one)"
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

/// Checks that active element segments fit into their tables.
pub(super) fn elements(module: &Module<'_>) -> Result<()> {
    for (index, element) in module.elements.iter().enumerate() {
        if let SegmentMode::Active { target, offset } = element.mode {
            let end = module.constant(offset)?;
            let end = end.saturating_add(element.items.len() as u64);
            let table = module.tables.get(target as usize);
            let size = table.map_or(0, |t| t.limits.min);
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

/// Checks that a process of the module can start within the manifest's budget, or the default one:
/// what the kernel certainly charges for it then fits.
pub(super) fn budget(module: &Module<'_>, manifest: &Manifest) -> Result<()> {
    let memory = module
        .memories
        .iter()
        .map(|m| m.min_bytes().next_multiple_of(PAGE))
        .fold(0, u64::saturating_add);
    // The limits of a module have been checked: these are small.
    let tables: u64 = module.tables.iter().map(|t| t.limits.min * 8).sum();
    let stack = manifest.stack_bytes();
    let (budget, rest) = (manifest.budget(), tables + stack + LEAST_RECORDS);
    let needed = memory.saturating_add(rest);
    if needed > budget {
        let from = match manifest.memory {
            0 => "its manifest states no budget, and the default one is",
            _ => "its manifest allows",
        };
        let message = format!(
            "the module starts with {memory} bytes of memory, {tables} bytes of tables, a stack of \
             {stack} bytes and the kernel's records of {LEAST_RECORDS} bytes or more, together \
             {needed}; {from} {budget}: raise \"memory\" in the manifest, or start with less"
        );
        return Err(Error::new(ErrorKind::Budget, message).at(Place::Section(SECTION_MANIFEST)));
    }
    Ok(())
}
