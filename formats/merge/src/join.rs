//! The merged module, section by section.
//!
//! Functions are numbered like this: what the adapter imports of the kernel, the program's own, the
//! adapter's own, the stubs. A function that the program imports has the number of the adapter's,
//! and one that the adapter imports of the program has the number of its stub.

use crate::imports::{self, AdapterImport};
use crate::names::Names;
use crate::parts::{Parts, count};
use crate::program::{Entries, Program};
use crate::renumber::Renumber;
use crate::segments;
use crate::stubs::Stub;
use crate::{ADAPTER_MEMORY, Error, Options, PROGRAM, manifest};
use sing_abi::names::{SECTION_MANIFEST, SECTION_MEMORY};
use std::borrow::Cow;
use wasm_encoder as we;
use wasm_encoder::reencode::Reencode;

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
    let entries = entries.map(|function| first.function(function));

    let mut joint = Joint {
        program,
        adapter,
        first,
        behind,
        stubs,
        joined,
        module: we::Module::new(),
    };
    joint.head()?;
    joint.things()?;
    joint.exports()?;
    joint.segments_and_code(&entries)?;
    joint.customs(first_stub, options)?;
    Ok(joint.module.finish())
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

struct Joint<'m, 'a> {
    program: &'m Parts<'a>,
    adapter: &'m Parts<'a>,
    first: Renumber,
    behind: Renumber,
    stubs: Vec<Stub>,
    /// The program's data segments, where they are not those that it has.
    joined: Option<we::DataSection>,
    module: we::Module,
}

impl<'a> Joint<'_, 'a> {
    /// Both modules, each with its numbers.
    fn both(&mut self) -> [(&Parts<'a>, &mut Renumber); 2] {
        [
            (self.program, &mut self.first),
            (self.adapter, &mut self.behind),
        ]
    }

    /// Types, imports, and the types of functions.
    fn head(&mut self) -> Result<(), Error> {
        let mut types = we::TypeSection::new();
        let mut functions = we::FunctionSection::new();
        for (module, numbers) in self.both() {
            if let Some(section) = module.type_section.clone() {
                numbers.parse_type_section(&mut types, section)?;
            }
            let imported = module.functions.len() - module.bodies.len();
            for &ty in module.functions.iter().skip(imported) {
                functions.function(numbers.type_index(ty)?);
            }
        }
        let first_of_stubs = count(self.program.types.len()) + count(self.adapter.types.len());
        for (stub, ty) in self.stubs.iter().zip(first_of_stubs..) {
            let function = types.ty();
            function.function(
                stub.params().iter().copied(),
                stub.results().iter().copied(),
            );
            functions.function(ty);
        }
        self.module.section(&types);
        let mut imports = we::ImportSection::new();
        let kept = self.adapter.imports.iter().filter(|i| i.module != PROGRAM);
        for import in kept {
            let ty = self.behind.entity_type(import.ty)?;
            imports.import(import.module, import.name, ty);
        }
        if !imports.is_empty() {
            self.module.section(&imports);
        }
        self.module.section(&functions);
        Ok(())
    }

    /// Tables, memories, tags and globals.
    fn things(&mut self) -> Result<(), Error> {
        let mut tables = we::TableSection::new();
        let mut memories = we::MemorySection::new();
        let mut tags = we::TagSection::new();
        let mut globals = we::GlobalSection::new();
        if self.program.memories.is_empty() {
            // The adapter's is memory 1 in every merged module.
            memories.memory(we::MemoryType {
                minimum: 0,
                maximum: Some(0),
                memory64: false,
                shared: false,
                page_size_log2: None,
            });
        }
        for (module, numbers) in self.both() {
            if let Some(section) = module.tables.clone() {
                numbers.parse_table_section(&mut tables, section)?;
            }
            for memory in &module.memories {
                memories.memory(numbers.memory_type(*memory)?);
            }
            if let Some(section) = module.tags.clone() {
                numbers.parse_tag_section(&mut tags, section)?;
            }
            if let Some(section) = module.globals.clone() {
                numbers.parse_global_section(&mut globals, section)?;
            }
        }
        if !tables.is_empty() {
            self.module.section(&tables);
        }
        self.module.section(&memories);
        if !tags.is_empty() {
            self.module.section(&tags);
        }
        if !globals.is_empty() {
            self.module.section(&globals);
        }
        Ok(())
    }

    /// The adapter's exports and its start function. The program's start function runs when the
    /// adapter starts the program, as before that nothing that it calls is ready.
    fn exports(&mut self) -> Result<(), Error> {
        let mut exports = we::ExportSection::new();
        for export in &self.adapter.exports {
            self.behind.parse_export(&mut exports, *export)?;
        }
        if !exports.is_empty() {
            self.module.section(&exports);
        }
        if let Some(start) = self.adapter.start {
            let function_index = self.behind.start_section(start)?;
            self.module.section(&we::StartSection { function_index });
        }
        Ok(())
    }

    fn segments_and_code(&mut self, entries: &Entries) -> Result<(), Error> {
        let mut elements = we::ElementSection::new();
        let joined = self.joined.take();
        let mut as_it_stands = joined.is_none();
        let mut data = joined.unwrap_or_default();
        let mut code = we::CodeSection::new();
        for (module, numbers) in self.both() {
            if let Some(section) = module.elements.clone() {
                numbers.parse_element_section(&mut elements, section)?;
            }
            if let Some(section) = module.data.clone()
                && as_it_stands
            {
                numbers.parse_data_section(&mut data, section)?;
            }
            as_it_stands = true;
            for body in &module.bodies {
                numbers.parse_function_body(&mut code, body.clone())?;
            }
        }
        // An export declares a function that code refers to; the program's are gone.
        let mut exported = Vec::new();
        for export in &self.program.exports {
            if export.kind == wasmparser::ExternalKind::Func {
                exported.push(self.first.function_index(export.index)?);
            }
        }
        if !exported.is_empty() {
            elements.declared(we::Elements::Functions(exported.into()));
        }
        for stub in &self.stubs {
            code.function(&stub.body(self.program, entries));
        }
        if !elements.is_empty() {
            self.module.section(&elements);
        }
        if !data.is_empty() {
            let count = data.len();
            self.module.section(&we::DataCountSection { count });
        }
        self.module.section(&code);
        if !data.is_empty() {
            self.module.section(&data);
        }
        Ok(())
    }

    fn customs(&mut self, first_stub: u32, options: &Options<'_>) -> Result<(), Error> {
        let mut names = Names::default();
        for (module, numbers) in self.both() {
            names.add_all(module, numbers);
        }
        for (stub, function) in self.stubs.iter().zip(first_stub..) {
            names.add(function, &format!("{PROGRAM}.{}", stub.name()));
        }
        for &(name, bytes) in &self.adapter.customs {
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
            self.module.section(&we::CustomSection { name, data });
        }
        let mut number = Vec::new();
        we::Encode::encode(&ADAPTER_MEMORY, &mut number);
        self.module.section(&we::CustomSection {
            name: SECTION_MEMORY.into(),
            data: number.into(),
        });
        self.module.section(&names.section());
        Ok(())
    }
}
