//! Loads and stores of the linear memory, and the instructions on the memory as a whole (size,
//! grow, copy, fill, init).
//!
//! With a guarded memory the address needs no test: whatever a 32-bit address and an offset below
//! the guard can reach lies within the reservation. Only a module's first memory is guarded, if its
//! addresses are of 32 bits and its pages the usual ones. Other accesses are tested against their
//! memory's length. In both modes pages come into being when they are touched, so that every access
//! is a place where a trap can happen, whether it was tested or not.

use super::{Translator, context_offset, trap_code};
use crate::error::{Error, Result};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use sing_abi::trap::Trap;
use sing_abi::{GUARD, ctx, entry};
use sing_image::meta::{MAX_MEMORY, MemoryMode, MemoryType};
use wasmparser as wp;

/// How a load of some bytes becomes a value.
#[derive(Clone, Copy)]
enum Widen {
    /// Not at all.
    No,
    Signed,
    Unsigned,
}

impl Translator<'_, '_> {
    pub(super) fn memory_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use types::{F32, F64, I8, I8X16, I16, I32, I64};
        use wp::Operator as O;
        match op {
            O::I32Load { memarg } => self.load(memarg, I32, I32, Widen::No)?,
            O::I64Load { memarg } => self.load(memarg, I64, I64, Widen::No)?,
            O::F32Load { memarg } => self.load(memarg, F32, F32, Widen::No)?,
            O::F64Load { memarg } => self.load(memarg, F64, F64, Widen::No)?,
            O::V128Load { memarg } => self.load(memarg, I8X16, I8X16, Widen::No)?,
            O::I32Load8S { memarg } => self.load(memarg, I8, I32, Widen::Signed)?,
            O::I32Load8U { memarg } => self.load(memarg, I8, I32, Widen::Unsigned)?,
            O::I32Load16S { memarg } => self.load(memarg, I16, I32, Widen::Signed)?,
            O::I32Load16U { memarg } => self.load(memarg, I16, I32, Widen::Unsigned)?,
            O::I64Load8S { memarg } => self.load(memarg, I8, I64, Widen::Signed)?,
            O::I64Load8U { memarg } => self.load(memarg, I8, I64, Widen::Unsigned)?,
            O::I64Load16S { memarg } => self.load(memarg, I16, I64, Widen::Signed)?,
            O::I64Load16U { memarg } => self.load(memarg, I16, I64, Widen::Unsigned)?,
            O::I64Load32S { memarg } => self.load(memarg, I32, I64, Widen::Signed)?,
            O::I64Load32U { memarg } => self.load(memarg, I32, I64, Widen::Unsigned)?,
            O::I32Store { memarg } => self.store(memarg, I32)?,
            O::I64Store { memarg } => self.store(memarg, I64)?,
            O::F32Store { memarg } => self.store(memarg, F32)?,
            O::F64Store { memarg } => self.store(memarg, F64)?,
            O::V128Store { memarg } => self.store(memarg, I8X16)?,
            O::I32Store8 { memarg } | O::I64Store8 { memarg } => self.store(memarg, I8)?,
            O::I32Store16 { memarg } | O::I64Store16 { memarg } => self.store(memarg, I16)?,
            O::I64Store32 { memarg } => self.store(memarg, I32)?,
            O::MemorySize { mem } => {
                let ty = self.memory(*mem)?;
                let bytes = self.memory_len(*mem)?;
                let pages = self.b.ins().ushr_imm_u(bytes, i64::from(ty.page_bits));
                self.push_address(pages, ty);
            }
            O::MemoryGrow { mem: 0 } if self.memory(0)?.is_plain() => {
                let pages = self.pop()?;
                let memory = self.i32(0);
                self.kernel_call(entry::MEMORY_GROW, &[memory, pages])?;
            }
            O::MemoryGrow { mem } => {
                let pages = self.pop_wide()?;
                let memory = self.i32(*mem);
                self.kernel_call(entry::ANY_MEMORY_GROW, &[memory, pages])?;
                let old = self.pop()?;
                let ty = self.memory(*mem)?;
                self.push_address(old, ty);
            }
            O::MemoryCopy {
                dst_mem: 0,
                src_mem: 0,
            } if !self.memory(0)?.index64 => self.copy()?,
            O::MemoryCopy { dst_mem, src_mem } => {
                let mut arguments = vec![self.i32(*dst_mem), self.i32(*src_mem)];
                for value in self.pop_many(3)? {
                    arguments.push(self.wide(value));
                }
                self.kernel_call(entry::ANY_MEMORY_COPY, &arguments)?;
            }
            O::MemoryFill { mem: 0 } if !self.memory(0)?.index64 => self.fill()?,
            O::MemoryFill { mem } => {
                let (at, value, len) = self.pop3()?;
                let memory = self.i32(*mem);
                let (at, len) = (self.wide(at), self.wide(len));
                self.kernel_call(entry::ANY_MEMORY_FILL, &[memory, at, value, len])?;
            }
            O::MemoryInit { data_index, mem: 0 } if !self.memory(0)?.index64 => {
                let mut arguments = vec![self.i32(*data_index)];
                arguments.extend(self.pop_many(3)?);
                self.kernel_call(entry::MEMORY_INIT, &arguments)?;
            }
            O::MemoryInit { data_index, mem } => {
                let (at, from, len) = self.pop3()?;
                let (memory, segment) = (self.i32(*mem), self.i32(*data_index));
                let at = self.wide(at);
                self.kernel_call(entry::ANY_MEMORY_INIT, &[memory, segment, at, from, len])?;
            }
            O::DataDrop { data_index } => {
                let segment = self.i32(*data_index);
                self.kernel_call(entry::DATA_DROP, &[segment])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Flags of an access to the linear memory.
    pub(super) fn memory_flags(&self) -> MemFlagsData {
        MemFlagsData::new()
            .with_alias_region(Some(self.regions.memory))
            .with_trap_code(Some(trap_code(Trap::MemoryOutOfBounds)))
    }

    fn memory(&self, memory: u32) -> Result<MemoryType> {
        let found = self.env.module.memories.get(memory as usize).copied();
        found.ok_or_else(|| Error::internal(format!("there is no memory {memory}")))
    }

    /// An address or a number of bytes or pages as one of 64 bits.
    fn wide(&mut self, value: Value) -> Value {
        match self.b.func.dfg.value_type(value) {
            types::I64 => value,
            _ => self.number(value),
        }
    }

    fn pop_wide(&mut self) -> Result<Value> {
        let value = self.pop()?;
        Ok(self.wide(value))
    }

    /// Pushes a number of 64 bits as one of the width of a memory's addresses.
    fn push_address(&mut self, value: Value, ty: MemoryType) {
        let value = match ty.index64 {
            true => value,
            false => self.b.ins().ireduce(types::I32, value),
        };
        self.push(value);
    }

    /// The offsets in the context record of a memory's base and of the address of its record.
    fn memory_fields(&self, memory: u32) -> Result<(i32, i32)> {
        let Some(further) = memory.checked_sub(1) else {
            return Ok((ctx::MEM_BASE, ctx::MEM_DEF));
        };
        let cell = context_offset(self.env.layout.memories, further, ctx::MEMORY_CELL as u32)?;
        Ok((cell + ctx::MEMORY_CELL_BASE, cell + ctx::MEMORY_CELL_DEF))
    }

    /// A memory's length in bytes.
    fn memory_len(&mut self, memory: u32) -> Result<Value> {
        let (_, record) = self.memory_fields(memory)?;
        let record = self.context_constant(types::I64, record);
        Ok(self.b.ins().load(
            types::I64,
            Self::plain(self.regions.records),
            record,
            ctx::MEM_DEF_LEN,
        ))
    }

    /// Loads the base of the first memory, which never changes, for all accesses of the function: one
    /// load in place of one each, of which the optimizer would keep one.
    pub(super) fn load_base(&mut self) {
        if !self.env.module.memories.is_empty() {
            self.base = Some(self.context_constant(types::I64, ctx::MEM_BASE));
        }
    }

    /// The native address of an access to `size` bytes, with a bounds check if the mode needs one:
    /// a value, and an offset to it.
    pub(super) fn address(
        &mut self,
        index: Value,
        memarg: &wp::MemArg,
        size: u32,
    ) -> Result<(Value, i32)> {
        let wp::MemArgTarget::Memory(memory) = memarg.target else {
            return Err(Error::internal("an access to no memory"));
        };
        let index = self.wide(index);
        // An access that ends behind all 64 bits has an end that no memory has.
        let end = memarg.offset.saturating_add(u64::from(size));
        let mode = self.env.options.memory_mode;
        let can_be_guarded = memory == 0 && self.memory(memory)?.is_plain();
        let unguarded = mode == MemoryMode::Explicit || !can_be_guarded || end > GUARD;
        if unguarded && self.env.options.tests() {
            self.test_bounds(memory, index, end)?;
        }
        let base = match self.base.filter(|_| memory == 0) {
            Some(base) => base,
            None => {
                let (base, _) = self.memory_fields(memory)?;
                self.context_constant(types::I64, base)
            }
        };
        let address = self.b.ins().iadd(base, index);
        match i32::try_from(memarg.offset) {
            Ok(offset) => Ok((address, offset)),
            Err(_) => {
                let offset = memarg.offset.cast_signed();
                Ok((self.b.ins().iadd_imm_u(address, offset), 0))
            }
        }
    }

    /// Traps unless `index + end` is at most the memory's length.
    fn test_bounds(&mut self, memory: u32, index: Value, end: u64) -> Result<()> {
        let ty = self.memory(memory)?;
        let len = self.memory_len(memory)?;
        let outside = if end <= ty.min_bytes().min(MAX_MEMORY) {
            // Memories never shrink, so the subtraction cannot wrap, and loops can share it.
            let last = self.b.ins().iadd_imm_s(len, -end.cast_signed());
            self.b.ins().icmp(IntCC::UnsignedGreaterThan, index, last)
        } else if ty.index64 {
            // Neither can be added to the other: `index` may be any number.
            let end = self.b.ins().iconst(types::I64, end.cast_signed());
            let last = self.b.ins().isub(len, end);
            let short = self.b.ins().icmp(IntCC::UnsignedLessThan, len, end);
            let behind = self.b.ins().icmp(IntCC::UnsignedGreaterThan, index, last);
            self.b.ins().bor(short, behind)
        } else {
            // Both terms are far below 2^63, so the sum cannot wrap.
            let end = self.b.ins().iadd_imm_u(index, end.cast_signed());
            self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, len)
        };
        self.trap_if(outside, Trap::MemoryOutOfBounds);
        Ok(())
    }

    fn load(&mut self, memarg: &wp::MemArg, from: Type, to: Type, widen: Widen) -> Result<()> {
        use types::{I8, I16, I32, I64};
        let index = self.pop()?;
        let (address, offset) = self.address(index, memarg, from.bytes())?;
        let flags = self.memory_flags();
        let ins = self.b.ins();
        let value = match (widen, from) {
            (Widen::No, _) => ins.load(from, flags, address, offset),
            (Widen::Signed, I8) => ins.sload8(to, flags, address, offset),
            (Widen::Signed, I16) => ins.sload16(to, flags, address, offset),
            (Widen::Signed, _) => ins.sload32(flags, address, offset),
            // With 64 bits, so that addresses find them so (`bounds`).
            (Widen::Unsigned, I8) => ins.uload8(I64, flags, address, offset),
            (Widen::Unsigned, I16) => ins.uload16(I64, flags, address, offset),
            (Widen::Unsigned, _) => ins.uload32(flags, address, offset),
        };
        let value = match (widen, to) {
            (Widen::Unsigned, I32) => self.b.ins().ireduce(I32, value),
            _ => value,
        };
        self.push(value);
        Ok(())
    }

    fn store(&mut self, memarg: &wp::MemArg, to: Type) -> Result<()> {
        let (index, value) = self.pop2()?;
        let (address, offset) = self.address(index, memarg, to.bytes())?;
        let value = self.narrow(value, to);
        let flags = self.memory_flags();
        self.b.ins().store(flags, value, address, offset);
        Ok(())
    }

    /// The lowest bits of a value, as this type.
    pub(super) fn narrow(&mut self, value: Value, to: Type) -> Value {
        if self.b.func.dfg.value_type(value) == to {
            value
        } else {
            self.b.ins().ireduce(to, value)
        }
    }
}
