//! A module that is put together of others, section by section.

use crate::Error;
use crate::parts::Parts;
use crate::renumber::Renumber;
use wasm_encoder as we;
use wasm_encoder::reencode::Reencode;

/// The sections of a module to which others are added, each with its numbers.
#[derive(Default)]
pub(crate) struct Sections {
    pub types: we::TypeSection,
    pub functions: we::FunctionSection,
    pub tables: we::TableSection,
    pub memories: we::MemorySection,
    pub tags: we::TagSection,
    pub globals: we::GlobalSection,
    pub elements: we::ElementSection,
    pub data: we::DataSection,
    pub code: we::CodeSection,
}

impl Sections {
    /// Adds all that a module defines, but for its data.
    pub fn add(&mut self, module: &Parts<'_>, numbers: &mut Renumber) -> Result<(), Error> {
        if let Some(section) = module.type_section.clone() {
            numbers.parse_type_section(&mut self.types, section)?;
        }
        let imported = module.functions.len() - module.bodies.len();
        for &ty in module.functions.iter().skip(imported) {
            self.functions.function(numbers.type_index(ty)?);
        }
        if let Some(section) = module.tables.clone() {
            numbers.parse_table_section(&mut self.tables, section)?;
        }
        for memory in &module.memories {
            self.memories.memory(numbers.memory_type(*memory)?);
        }
        if let Some(section) = module.tags.clone() {
            numbers.parse_tag_section(&mut self.tags, section)?;
        }
        if let Some(section) = module.globals.clone() {
            numbers.parse_global_section(&mut self.globals, section)?;
        }
        if let Some(section) = module.elements.clone() {
            numbers.parse_element_section(&mut self.elements, section)?;
        }
        for body in &module.bodies {
            numbers.parse_function_body(&mut self.code, body.clone())?;
        }
        Ok(())
    }

    /// Adds a module's data.
    pub fn add_data(&mut self, module: &Parts<'_>, numbers: &mut Renumber) -> Result<(), Error> {
        if let Some(section) = module.data.clone() {
            numbers.parse_data_section(&mut self.data, section)?;
        }
        Ok(())
    }

    /// Declares the functions that a module exports: an export declares a function that code refers to,
    /// and the merged module does not have these exports.
    pub fn declare(&mut self, module: &Parts<'_>, numbers: &mut Renumber) -> Result<(), Error> {
        let mut exported = Vec::new();
        for export in &module.exports {
            if export.kind == wasmparser::ExternalKind::Func {
                exported.push(numbers.function_index(export.index)?);
            }
        }
        if !exported.is_empty() {
            self.elements
                .declared(we::Elements::Functions(exported.into()));
        }
        Ok(())
    }

    /// The module, with what it imports and exports and the function in which it starts.
    pub fn module(
        self,
        imports: &we::ImportSection,
        exports: &we::ExportSection,
        start: Option<u32>,
    ) -> we::Module {
        let mut module = we::Module::new();
        module.section(&self.types);
        if !imports.is_empty() {
            module.section(imports);
        }
        module.section(&self.functions);
        if !self.tables.is_empty() {
            module.section(&self.tables);
        }
        module.section(&self.memories);
        if !self.tags.is_empty() {
            module.section(&self.tags);
        }
        if !self.globals.is_empty() {
            module.section(&self.globals);
        }
        if !exports.is_empty() {
            module.section(exports);
        }
        if let Some(function_index) = start {
            module.section(&we::StartSection { function_index });
        }
        if !self.elements.is_empty() {
            module.section(&self.elements);
        }
        if !self.data.is_empty() {
            let count = self.data.len();
            module.section(&we::DataCountSection { count });
        }
        module.section(&self.code);
        if !self.data.is_empty() {
            module.section(&self.data);
        }
        module
    }
}
