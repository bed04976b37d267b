//! A module taken apart: its sections as they stand, and what joining must know of each.

use crate::Error;
use wasmparser as wp;

/// A module's sections. Those that are only copied are kept as readers.
#[derive(Default)]
pub(crate) struct Parts<'a> {
    pub(crate) types: Vec<wp::SubType>,
    pub(crate) type_section: Option<wp::TypeSectionReader<'a>>,
    pub(crate) imports: Vec<wp::Import<'a>>,
    /// The types of all functions, imported ones first.
    pub(crate) functions: Vec<u32>,
    pub(crate) tables: Option<wp::TableSectionReader<'a>>,
    pub(crate) memories: Vec<wp::MemoryType>,
    pub(crate) globals: Option<wp::GlobalSectionReader<'a>>,
    pub(crate) tags: Option<wp::TagSectionReader<'a>>,
    pub(crate) exports: Vec<wp::Export<'a>>,
    pub(crate) start: Option<u32>,
    pub(crate) elements: Option<wp::ElementSectionReader<'a>>,
    pub(crate) data: Option<wp::DataSectionReader<'a>>,
    /// Whether a section counts the data segments, without which no code can name one.
    pub(crate) counts_data: bool,
    pub(crate) bodies: Vec<wp::FunctionBody<'a>>,
    pub(crate) customs: Vec<(&'a str, &'a [u8])>,
}

impl<'a> Parts<'a> {
    /// Takes a module apart that uses these features only.
    pub(crate) fn read(wasm: &'a [u8], features: wp::WasmFeatures) -> Result<Parts<'a>, Error> {
        wp::Validator::new_with_features(features).validate_all(wasm)?;
        Parts::take(wasm)
    }

    /// Takes a module apart that has been validated.
    pub(crate) fn take(wasm: &'a [u8]) -> Result<Parts<'a>, Error> {
        let mut parts = Parts::default();
        let mut parser = wp::Parser::new(0);
        parser.set_features(wp::WasmFeatures::all());
        for payload in parser.parse_all(wasm) {
            parts.section(payload?)?;
        }
        Ok(parts)
    }

    fn section(&mut self, payload: wp::Payload<'a>) -> Result<(), Error> {
        match payload {
            wp::Payload::TypeSection(section) => {
                for group in section.clone() {
                    self.types.extend(group?.into_types());
                }
                self.type_section = Some(section);
            }
            wp::Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    if let wp::TypeRef::Func(ty) | wp::TypeRef::FuncExact(ty) = import.ty {
                        self.functions.push(ty);
                    }
                    self.imports.push(import);
                }
            }
            wp::Payload::FunctionSection(section) => {
                for ty in section {
                    self.functions.push(ty?);
                }
            }
            wp::Payload::TableSection(section) => self.tables = Some(section),
            wp::Payload::MemorySection(section) => {
                for memory in section {
                    self.memories.push(memory?);
                }
            }
            wp::Payload::GlobalSection(section) => self.globals = Some(section),
            wp::Payload::TagSection(section) => self.tags = Some(section),
            wp::Payload::ExportSection(section) => {
                for export in section {
                    self.exports.push(export?);
                }
            }
            wp::Payload::StartSection { func, .. } => self.start = Some(func),
            wp::Payload::ElementSection(section) => self.elements = Some(section),
            wp::Payload::DataSection(section) => self.data = Some(section),
            wp::Payload::DataCountSection { .. } => self.counts_data = true,
            wp::Payload::CodeSectionEntry(body) => self.bodies.push(body),
            wp::Payload::CustomSection(custom) => {
                self.customs.push((custom.name(), custom.data()));
            }
            _ => {}
        }
        Ok(())
    }

    /// The type of a function.
    pub(crate) fn function_type(&self, function: u32) -> Option<&wp::FuncType> {
        self.type_of(*self.functions.get(function as usize)?)
    }

    /// A type of functions by its number.
    pub(crate) fn type_of(&self, ty: u32) -> Option<&wp::FuncType> {
        match &self.types.get(ty as usize)?.composite_type.inner {
            wp::CompositeInnerType::Func(ty) => Some(ty),
            _ => None,
        }
    }

    /// The function that is exported by this name.
    pub(crate) fn exported(&self, name: &str) -> Option<u32> {
        let found = self.exports.iter().find(|e| e.name == name)?;
        (found.kind == wp::ExternalKind::Func).then_some(found.index)
    }

    /// Whether it has segments that are written when it is instantiated. Its own code writes those of other
    /// kinds, and cannot run before.
    pub(crate) fn writes_segments(&self) -> bool {
        let mut data = self.data.clone().into_iter().flatten().flatten();
        let mut elements = self.elements.clone().into_iter().flatten().flatten();
        data.any(|data| matches!(data.kind, wp::DataKind::Active { .. }))
            || elements.any(|segment| matches!(segment.kind, wp::ElementKind::Active { .. }))
    }

    /// The number of functions that it defines itself.
    pub(crate) fn defined(&self) -> u32 {
        count(self.bodies.len())
    }
}

/// A number of things of a valid module, of which there are fewer than 2^32.
pub(crate) fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
