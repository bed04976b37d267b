//! Numbers of a module's things in the merged one.

use crate::parts::{Parts, count};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;
use wasm_encoder as we;
use wasm_encoder::reencode::{self, Error, Reencode};
use wasmparser as wp;

/// The merged numbers of one kind of things: of those that the module imports, each by itself; its own
/// follow each other from a number on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    pub(crate) imported: Vec<u32>,
    pub(crate) own: u32,
}

impl Space {
    /// The merged number of a thing.
    pub(crate) fn number(&self, number: u32) -> u32 {
        match self.imported.get(number as usize) {
            Some(&merged) => merged,
            None => number - count(self.imported.len()) + self.own,
        }
    }
}

impl From<u32> for Space {
    fn from(own: u32) -> Space {
        Space {
            imported: Vec::new(),
            own,
        }
    }
}

/// Where a module lies in the merged one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renumber {
    /// The merged number of each function.
    pub(crate) functions: Vec<u32>,
    pub(crate) types: u32,
    pub(crate) tables: Space,
    pub(crate) memories: Space,
    pub(crate) globals: Space,
    pub(crate) tags: Space,
    pub(crate) elements: u32,
    pub(crate) data: u32,
    /// Merged globals whose value is known and never changes. A constant expression may name only globals that
    /// are imported, and no merged one is.
    pub(crate) constants: Rc<BTreeMap<u32, i32>>,
}

impl Renumber {
    /// The numbers of a module that comes behind another.
    pub(crate) fn behind(first: &Parts<'_>) -> Renumber {
        Renumber {
            types: count(first.types.len()),
            tables: first.tables.as_ref().map_or(0, |s| s.count()).into(),
            memories: crate::ADAPTER_MEMORY.into(),
            globals: first.globals.as_ref().map_or(0, |s| s.count()).into(),
            tags: first.tags.as_ref().map_or(0, |s| s.count()).into(),
            elements: first.elements.as_ref().map_or(0, |s| s.count()),
            data: first.data.as_ref().map_or(0, |s| s.count()),
            ..Renumber::default()
        }
    }

    /// A function's number in the merged module.
    pub(crate) fn function(&self, function: u32) -> Option<u32> {
        self.functions.get(function as usize).copied()
    }

    /// The value of a constant expression of 32 bits, if it is known with these merged globals.
    pub(crate) fn value(
        &self,
        expression: &wp::ConstExpr<'_>,
        constants: &BTreeMap<u32, i32>,
    ) -> Option<i32> {
        let mut operators = expression.get_operators_reader();
        let mut stack = Vec::new();
        loop {
            let value = match operators.read().ok()? {
                wp::Operator::I32Const { value } => value,
                wp::Operator::GlobalGet { global_index } => {
                    *constants.get(&self.globals.number(global_index))?
                }
                wp::Operator::I32Add => {
                    let (b, a) = (stack.pop()?, stack.pop()?);
                    i32::wrapping_add(a, b)
                }
                wp::Operator::I32Sub => {
                    let (b, a) = (stack.pop()?, stack.pop()?);
                    i32::wrapping_sub(a, b)
                }
                wp::Operator::I32Mul => {
                    let (b, a) = (stack.pop()?, stack.pop()?);
                    i32::wrapping_mul(a, b)
                }
                wp::Operator::End => return stack.pop(),
                _ => return None,
            };
            stack.push(value);
        }
    }
}

type Result<T> = std::result::Result<T, Error<Infallible>>;

// The modules are valid, with at most a million of each thing: no sum overflows.
impl Reencode for Renumber {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32> {
        self.function(function).ok_or(Error::InvalidConstExpr)
    }

    fn type_index(&mut self, ty: u32) -> Result<u32> {
        Ok(ty + self.types)
    }

    fn table_index(&mut self, table: u32) -> Result<u32> {
        Ok(self.tables.number(table))
    }

    fn memory_index(&mut self, memory: u32) -> Result<u32> {
        Ok(self.memories.number(memory))
    }

    fn global_index(&mut self, global: u32) -> Result<u32> {
        Ok(self.globals.number(global))
    }

    fn tag_index(&mut self, tag: u32) -> Result<u32> {
        Ok(self.tags.number(tag))
    }

    fn element_index(&mut self, element: u32) -> Result<u32> {
        Ok(element + self.elements)
    }

    fn data_index(&mut self, data: u32) -> Result<u32> {
        Ok(data + self.data)
    }

    fn const_expr(&mut self, expression: wp::ConstExpr<'_>) -> Result<we::ConstExpr> {
        if !self.constants.is_empty()
            && let Some(value) = self.value(&expression, &self.constants)
        {
            return Ok(we::ConstExpr::i32_const(value));
        }
        reencode::utils::const_expr(self, expression)
    }
}
