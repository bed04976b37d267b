//! Globals: cells in the context record, or cells of other instances whose addresses are there.

use super::{Translator, clif_type, context_offset};
use crate::error::{Error, Result};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use sing_abi::ctx;
use sing_image::meta::{ConstExpr, GlobalType, ValType};

impl Translator<'_, '_> {
    pub(super) fn global_get(&mut self, index: u32) -> Result<()> {
        let global = self.global(index)?;
        let value = match self.constant_global(index, global) {
            Some(value) => value,
            None => {
                let (address, offset) = self.global_cell(index)?;
                let flags = Self::plain(self.regions.globals);
                self.b
                    .ins()
                    .load(clif_type(global.value), flags, address, offset)
            }
        };
        self.push(value);
        Ok(())
    }

    pub(super) fn global_set(&mut self, index: u32) -> Result<()> {
        let value = self.pop()?;
        let (address, offset) = self.global_cell(index)?;
        self.b
            .ins()
            .store(Self::plain(self.regions.globals), value, address, offset);
        Ok(())
    }

    fn global(&self, index: u32) -> Result<GlobalType> {
        let global = self.env.module.globals.get(index as usize).copied();
        global.ok_or_else(|| Error::internal(format!("there is no global {index}")))
    }

    fn global_cell(&mut self, index: u32) -> Result<(Value, i32)> {
        let at = context_offset(self.env.layout.globals, index, ctx::GLOBAL_CELL as u32)?;
        if index < self.env.module.imported_globals {
            Ok((self.context_constant(types::I64, at), 0))
        } else {
            Ok((self.context, at))
        }
    }

    /// The value of an immutable global that the module defines by a constant.
    fn constant_global(&mut self, index: u32, global: GlobalType) -> Option<Value> {
        let module = self.env.module;
        let defined = index.checked_sub(module.imported_globals)?;
        if global.mutable {
            return None;
        }
        let bits = match *module.global_values.get(defined as usize)? {
            ConstExpr::Bits(bits) => bits,
            ConstExpr::Vector(from) => {
                return Some(self.vector_constant(module.vector(from)?));
            }
            _ => return None,
        };
        match global.value {
            ValType::I32 => Some(self.i32(bits as u32)),
            ValType::I64 => Some(self.integer(types::I64, bits.cast_signed())),
            _ => None,
        }
    }
}
