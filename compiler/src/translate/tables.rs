//! Tables and references.
//!
//! An element is a `u64`: the address of a function's record, or the host's representation of an
//! external reference; 0 is null. The index into a table of fixed length is checked against a
//! constant.

use super::{Translator, context_offset};
use crate::error::{Error, Result};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use sing_abi::trap::Trap;
use sing_abi::{ctx, entry};
use sing_image::meta::TableType;
use wasmparser as wp;

impl Translator<'_, '_> {
    pub(super) fn table_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match *op {
            O::TableGet { table } => {
                let index = self.pop()?;
                let value = self.table_element(table, index)?;
                self.push(value);
            }
            O::TableSet { table } => {
                let (index, value) = self.pop2()?;
                let address = self.element_address(table, index)?;
                self.b
                    .ins()
                    .store(Self::plain(self.regions.elements), value, address, 0);
            }
            O::TableSize { table } => {
                let len = self.table_len(table)?;
                let len = match self.table(table)?.index64 {
                    true => self.b.ins().uextend(types::I64, len),
                    false => len,
                };
                self.push(len);
            }
            O::TableGrow { table } => {
                let (init, delta) = self.pop2()?;
                let delta = self.small(delta);
                let number = self.i32(table);
                self.kernel_call(entry::TABLE_GROW, &[number, init, delta])?;
                if self.table(table)?.index64 {
                    let old = self.pop()?;
                    let old = self.b.ins().sextend(types::I64, old);
                    self.push(old);
                }
            }
            O::TableFill { table } => {
                let (start, value, len) = self.pop3()?;
                let (start, len) = (self.small(start), self.small(len));
                let table = self.i32(table);
                self.kernel_call(entry::TABLE_FILL, &[table, start, value, len])?;
            }
            O::TableCopy {
                dst_table,
                src_table,
            } => {
                let mut arguments = vec![self.i32(dst_table), self.i32(src_table)];
                for value in self.pop_many(3)? {
                    arguments.push(self.small(value));
                }
                self.kernel_call(entry::TABLE_COPY, &arguments)?;
            }
            O::TableInit { elem_index, table } => {
                let mut arguments = vec![self.i32(table), self.i32(elem_index)];
                for value in self.pop_many(3)? {
                    arguments.push(self.small(value));
                }
                self.kernel_call(entry::TABLE_INIT, &arguments)?;
            }
            O::ElemDrop { elem_index } => {
                let segment = self.i32(elem_index);
                self.kernel_call(entry::ELEM_DROP, &[segment])?;
            }
            O::RefNull { .. } => {
                let null = self.b.ins().iconst(types::I64, 0);
                self.push(null);
            }
            O::RefIsNull => {
                let reference = self.pop()?;
                let is = self.is_null(reference);
                self.push(is);
            }
            O::RefAsNonNull => {
                let reference = self.pop()?;
                let null = self.b.ins().icmp_imm_u(IntCC::Equal, reference, 0);
                self.trap_if(null, Trap::NullReference);
                self.push(reference);
            }
            O::RefFunc { function_index } => {
                let func = self.i32(self.env.referent(function_index));
                self.kernel_call(entry::REF_FUNC, &[func])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn table(&self, table: u32) -> Result<TableType> {
        let found = self.env.module.tables.get(table as usize).copied();
        found.ok_or_else(|| Error::internal(format!("there is no table {table}")))
    }

    /// An index or a number of elements of 64 bits as one of 32: what does not fit becomes one that
    /// no table has.
    fn small(&mut self, value: Value) -> Value {
        if self.b.func.dfg.value_type(value) == types::I32 {
            return value;
        }
        let most = self.b.ins().iconst(types::I64, i64::from(u32::MAX));
        let value = self.b.ins().umin(value, most);
        self.b.ins().ireduce(types::I32, value)
    }

    /// Loads an element, after a test.
    pub(super) fn table_element(&mut self, table: u32, index: Value) -> Result<Value> {
        let address = self.element_address(table, index)?;
        Ok(self
            .b
            .ins()
            .load(types::I64, Self::plain(self.regions.elements), address, 0))
    }

    fn fixed_len(&self, table: u32) -> Option<u32> {
        let fixed = self
            .env
            .fixed_tables
            .get(table as usize)
            .copied()
            .unwrap_or(false);
        let table = self.env.module.tables.get(table as usize)?;
        fixed.then_some(table.limits.min as u32)
    }

    fn table_record(&mut self, table: u32) -> Result<Value> {
        if table as usize >= self.env.module.tables.len() {
            return Err(Error::internal(format!("there is no table {table}")));
        }
        let at = context_offset(self.env.layout.tables, table, 8)?;
        Ok(self.context_constant(types::I64, at))
    }

    fn table_len(&mut self, table: u32) -> Result<Value> {
        if let Some(len) = self.fixed_len(table) {
            return Ok(self.i32(len));
        }
        let record = self.table_record(table)?;
        let flags = Self::plain(self.regions.records);
        Ok(self
            .b
            .ins()
            .load(types::I32, flags, record, ctx::TABLE_DEF_LEN))
    }

    /// The address of an element, after a bounds check.
    fn element_address(&mut self, table: u32, index: Value) -> Result<Value> {
        let mut len = self.table_len(table)?;
        let wide = self.b.func.dfg.value_type(index) == types::I64;
        if wide {
            len = self.b.ins().uextend(types::I64, len);
        }
        let outside = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        self.test(outside, Trap::TableOutOfBounds);
        let record = self.table_record(table)?;
        let flags = if self.fixed_len(table).is_some() {
            MemFlagsData::trusted().with_readonly().with_can_move()
        } else {
            Self::plain(self.regions.records)
        };
        let base = self
            .b
            .ins()
            .load(types::I64, flags, record, ctx::TABLE_DEF_BASE);
        let index = match wide {
            true => index,
            false => self.b.ins().uextend(types::I64, index),
        };
        let offset = self.b.ins().ishl_imm_u(index, 3);
        Ok(self.b.ins().iadd(base, offset))
    }
}
