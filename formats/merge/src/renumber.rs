//! Numbers of a module's things in the merged one.

use crate::parts::Parts;
use std::convert::Infallible;
use wasm_encoder::reencode::{Error, Reencode};

/// Where one of the two modules lies in the merged one. Of everything but functions, its things
/// follow each other there from a number on.
#[derive(Default)]
pub(crate) struct Renumber {
    /// The merged number of each function.
    pub(crate) functions: Vec<u32>,
    pub(crate) types: u32,
    pub(crate) tables: u32,
    pub(crate) memories: u32,
    pub(crate) globals: u32,
    pub(crate) tags: u32,
    pub(crate) elements: u32,
    pub(crate) data: u32,
}

impl Renumber {
    /// The numbers of a module that comes behind another.
    pub(crate) fn behind(first: &Parts<'_>) -> Renumber {
        Renumber {
            functions: Vec::new(),
            types: crate::parts::count(first.types.len()),
            tables: first.tables.as_ref().map_or(0, |s| s.count()),
            memories: crate::ADAPTER_MEMORY,
            globals: first.globals.as_ref().map_or(0, |s| s.count()),
            tags: first.tags.as_ref().map_or(0, |s| s.count()),
            elements: first.elements.as_ref().map_or(0, |s| s.count()),
            data: first.data.as_ref().map_or(0, |s| s.count()),
        }
    }

    /// A function's number in the merged module.
    pub(crate) fn function(&self, function: u32) -> Option<u32> {
        self.functions.get(function as usize).copied()
    }
}

type Result<T> = std::result::Result<T, Error<Infallible>>;

// Both modules are valid, with at most a million of each thing: no sum overflows.
impl Reencode for Renumber {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32> {
        self.function(function).ok_or(Error::InvalidConstExpr)
    }

    fn type_index(&mut self, ty: u32) -> Result<u32> {
        Ok(ty + self.types)
    }

    fn table_index(&mut self, table: u32) -> Result<u32> {
        Ok(table + self.tables)
    }

    fn memory_index(&mut self, memory: u32) -> Result<u32> {
        Ok(memory + self.memories)
    }

    fn global_index(&mut self, global: u32) -> Result<u32> {
        Ok(global + self.globals)
    }

    fn tag_index(&mut self, tag: u32) -> Result<u32> {
        Ok(tag + self.tags)
    }

    fn element_index(&mut self, element: u32) -> Result<u32> {
        Ok(element + self.elements)
    }

    fn data_index(&mut self, data: u32) -> Result<u32> {
        Ok(data + self.data)
    }
}
