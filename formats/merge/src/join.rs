//! The merged module, section by section.
//!
//! Functions are numbered like this: what the adapter imports of the kernel, the program's own, the
//! adapter's own, the stubs. A function that the program imports has the number of the adapter's,
//! and one that the adapter imports of the program has the number of its stub.

use crate::imports::{self, AdapterImport};
use crate::names::Names;
use crate::parts::{Parts, count};
use crate::program::Program;
use crate::renumber::Renumber;
use crate::sections::Sections;
use crate::segments;
use crate::stubs::{GO_ON, Stub};
use crate::{ADAPTER_MEMORY, Error, Options, PROGRAM, manifest};
use sing_abi::names::{
    EXPORT_ALLOC, EXPORT_MAIN, EXPORT_NO_ALLOC, EXPORT_THREAD, SECTION_MANIFEST, SECTION_MEMORY,
};
use std::borrow::Cow;
use wasm_encoder as we;
use wasm_encoder::reencode::Reencode;
use wasmparser as wp;

/// Whether the system itself looks for an exported function: to run it, or to check the region that it begins.
fn is_for_the_system(name: &str) -> bool {
    let is_declared = [EXPORT_NO_ALLOC, EXPORT_ALLOC];
    [EXPORT_MAIN, EXPORT_THREAD].contains(&name)
        || is_declared.iter().any(|prefix| name.starts_with(prefix))
}

/// Joins two modules.
pub(crate) fn join(
    program: &Program<'_>,
    adapter: &Parts<'_>,
    options: &Options<'_>,
) -> Result<Vec<u8>, Error> {
    if adapter.memories.len() != 1 {
        let text = "must define one memory, and no more";
        return Err(Error::new(text).in_adapter());
    }
    let of_adapter = imports::of_adapter(adapter)?;
    let of_program = fitting(program, adapter, &of_adapter)?;
    let is_made =
        |stub: &Stub| *stub <= Stub::Start || of_adapter.contains(&AdapterImport::Made(*stub));
    let stubs: Vec<Stub> = Stub::ALL.into_iter().filter(is_made).collect();
    let sends = imports::sends(program);
    let (entries, program) = (&program.entries, &program.parts);

    // The numbers of functions.
    let kept = of_adapter.iter().filter(|i| **i == AdapterImport::Kept);
    let kept = count(kept.count());
    let first_of_adapter = kept + program.defined();
    let first_stub = first_of_adapter + adapter.defined();
    let of_adapter_data = adapter.data.as_ref().map_or(0, |s| s.count());
    let joined = segments::joined(program, of_adapter_data)?;
    let mut behind = Renumber::behind(program);
    if let Some(joined) = &joined {
        behind.data = joined.len();
    }
    let mut next = 0;
    for import in &of_adapter {
        behind.functions.push(match import {
            AdapterImport::Kept => {
                next += 1;
                next - 1
            }
            AdapterImport::Made(stub) => {
                let place = stubs.iter().position(|made| made == stub);
                first_stub + count(place.unwrap_or_default())
            }
        });
    }
    behind.functions.extend(first_of_adapter..first_stub);
    let mut first = Renumber::default();
    for function in of_program {
        // In range: an export of a valid module.
        first.functions.extend(behind.function(function));
    }
    first.functions.extend(kept..first_of_adapter);
    let mut entries = entries.map(|function| first.function(function));
    if sends {
        let goes_on = adapter.exported(GO_ON);
        entries.go_on = goes_on.and_then(|function| behind.function(function));
    }

    let mut sections = Sections::default();
    if program.memories.is_empty() {
        // The adapter's is memory 1 in every merged module.
        sections.memories.memory(we::MemoryType {
            minimum: 0,
            maximum: Some(0),
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
    }
    sections.add(program, &mut first)?;
    match joined {
        Some(joined) => sections.data = joined,
        None => sections.add_data(program, &mut first)?,
    }
    sections.add(adapter, &mut behind)?;
    sections.add_data(adapter, &mut behind)?;
    sections.declare(program, &mut first)?;
    let first_type = count(program.types.len()) + count(adapter.types.len());
    for (stub, ty) in stubs.iter().zip(first_type..) {
        let function = sections.types.ty();
        function.function(
            stub.params().iter().copied(),
            stub.results().iter().copied(),
        );
        sections.functions.function(ty);
        sections.code.function(&stub.body(program, &entries));
    }
    let mut imports = we::ImportSection::new();
    for import in adapter.imports.iter().filter(|i| i.module != PROGRAM) {
        let ty = behind.entity_type(import.ty)?;
        imports.import(import.module, import.name, ty);
    }
    // The adapter's exports and its start function, but for the functions that it has for programs: those that this one
    // imports are called by their numbers, and the others are left out when it is compiled, as nothing calls them. The
    // program's start function runs when the adapter starts the program, as before that nothing that it calls is ready.
    let mut exports = we::ExportSection::new();
    let stays = |export: &&wp::Export<'_>| {
        export.kind != wp::ExternalKind::Func || is_for_the_system(export.name)
    };
    for export in adapter.exports.iter().filter(stays) {
        behind.parse_export(&mut exports, *export)?;
    }
    let start = adapter.start.map(|f| behind.start_section(f));
    let mut module = sections.module(&imports, &exports, start.transpose()?);
    let mut names = Names::default();
    names.add_all(program, &first);
    names.add_all(adapter, &behind);
    for (stub, function) in stubs.iter().zip(first_stub..) {
        names.add(function, &format!("{PROGRAM}.{}", stub.name()));
    }
    customs(&mut module, adapter, options)?;
    module.section(&names.section());
    Ok(module.finish())
}

/// For each function that the program imports, the number of the adapter's function; or all that is in
/// the program's way.
fn fitting(
    program: &Program<'_>,
    adapter: &Parts<'_>,
    of_adapter: &[AdapterImport],
) -> Result<Vec<u32>, Error> {
    let mut reasons = program.reasons.clone();
    reasons.extend(memories(&program.parts));
    let mut found = Vec::new();
    match imports::of_program(program, adapter) {
        Ok(functions) => found = functions,
        Err(reason) => reasons.push(reason),
    }
    match of_adapter.contains(&AdapterImport::Made(Stub::Handle)) {
        true => reasons.extend(program.cannot_handle()),
        false => reasons.extend(program.cannot_begin()),
    }
    match reasons.is_empty() {
        true => Ok(found),
        false => Err(Error::all(&reasons)),
    }
}

/// What is wrong with a program's memories.
fn memories(program: &Parts<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    if program.memories.len() > 1 {
        reasons.push(format!(
            "has {} memories; a program of WASI has one, to which the addresses in its calls refer",
            program.memories.len()
        ));
    }
    if program.memories.iter().any(|m| m.memory64) {
        reasons.push(
            "has a memory with addresses of 64 bits, for which WASI has no calls: build it for wasm32"
                .into(),
        );
    }
    if program.memories.iter().any(|m| m.shared) {
        reasons.push(
            "has a shared memory, so it is one with threads (wasi-threads), which this system does \
             not have for ordinary programs: build it without (no -pthread, no --shared-memory)"
                .into(),
        );
    }
    reasons
}

/// The adapter's sections that say what it is to this system, and the one that says which memory it means.
fn customs(
    module: &mut we::Module,
    adapter: &Parts<'_>,
    options: &Options<'_>,
) -> Result<(), Error> {
    for &(name, bytes) in &adapter.customs {
        let data = match name {
            "name" => continue,
            SECTION_MEMORY => {
                let text = format!("has a section {SECTION_MEMORY}, which is made here");
                return Err(Error::new(text).in_adapter());
            }
            SECTION_MANIFEST => Cow::Owned(manifest::of(bytes, options)?),
            _ => Cow::Borrowed(bytes),
        };
        let name = Cow::Borrowed(name);
        module.section(&we::CustomSection { name, data });
    }
    let mut number = Vec::new();
    we::Encode::encode(&ADAPTER_MEMORY, &mut number);
    module.section(&we::CustomSection {
        name: SECTION_MEMORY.into(),
        data: number.into(),
    });
    Ok(())
}
