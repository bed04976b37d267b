//! Loads and stores of the linear memory, and the instructions on the memory as a whole.
//!
//! With a guarded memory the address needs no test: whatever a 32-bit address and an offset below the guard
//! can reach lies within the reservation. Other accesses are tested against the memory's length. In both
//! modes pages come into being when they are touched, so that every access is a place where a trap can
//! happen, whether it was tested or not.

use super::{Translator, trap_code};
use crate::error::{Error, Result};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use sing_abi::trap::Trap;
use sing_abi::{GUARD, WASM_PAGE, ctx, entry};
use sing_image::meta::MemoryMode;
use wasmparser as wp;

/// `log2(WASM_PAGE)`.
const PAGE_BITS: i64 = WASM_PAGE.trailing_zeros() as i64;

/// How a load of some bytes becomes a value.
#[derive(Clone, Copy)]
enum Widen {
    /// As it is.
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
            O::MemorySize { .. } => {
                let bytes = self.memory_len();
                let pages = self.b.ins().ushr_imm_u(bytes, PAGE_BITS);
                let pages = self.b.ins().ireduce(I32, pages);
                self.push(pages);
            }
            O::MemoryGrow { mem } => {
                let pages = self.pop()?;
                let memory = self.i32(*mem);
                self.kernel_call(entry::MEMORY_GROW, &[memory, pages])?;
            }
            O::MemoryCopy { .. } => {
                let arguments = self.pop_many(3)?;
                self.kernel_call(entry::MEMORY_COPY, &arguments)?;
            }
            O::MemoryFill { .. } => {
                let arguments = self.pop_many(3)?;
                self.kernel_call(entry::MEMORY_FILL, &arguments)?;
            }
            O::MemoryInit { data_index, .. } => {
                let mut arguments = vec![self.i32(*data_index)];
                arguments.extend(self.pop_many(3)?);
                self.kernel_call(entry::MEMORY_INIT, &arguments)?;
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

    /// The memory's length in bytes.
    fn memory_len(&mut self) -> Value {
        let record = self.context_constant(types::I64, ctx::MEM_DEF);
        self.b.ins().load(
            types::I64,
            Self::plain(self.regions.records),
            record,
            ctx::MEM_DEF_LEN,
        )
    }

    /// The native address of an access to `size` bytes, tested as the mode asks: a value and an offset to it.
    pub(super) fn address(
        &mut self,
        index: Value,
        memarg: &wp::MemArg,
        size: u32,
    ) -> Result<(Value, i32)> {
        let index = self.b.ins().uextend(types::I64, index);
        let end = memarg
            .offset
            .checked_add(u64::from(size))
            .filter(|&end| end < 1 << 33)
            .ok_or_else(|| Error::internal("an offset of more than 32 bits"))?;
        let guarded = self.env.options.memory_mode == MemoryMode::Guard && end <= GUARD;
        if !guarded {
            self.test_bounds(index, end);
        }
        let base = self.context_constant(types::I64, ctx::MEM_BASE);
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
    fn test_bounds(&mut self, index: Value, end: u64) {
        let len = self.memory_len();
        let least = self
            .env
            .module
            .memories
            .first()
            .map_or(0, |m| u64::from(m.min) * WASM_PAGE);
        let outside = if end <= least {
            // Memories never shrink, so the subtraction cannot wrap, and loops can share it.
            let last = self.b.ins().iadd_imm_s(len, -end.cast_signed());
            self.b.ins().icmp(IntCC::UnsignedGreaterThan, index, last)
        } else {
            // Both terms are far below 2^63.
            let end = self.b.ins().iadd_imm_u(index, end.cast_signed());
            self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, len)
        };
        self.trap_if(outside, Trap::MemoryOutOfBounds);
    }

    fn load(&mut self, memarg: &wp::MemArg, from: Type, to: Type, widen: Widen) -> Result<()> {
        let index = self.pop()?;
        let (address, offset) = self.address(index, memarg, from.bytes())?;
        let flags = self.memory_flags();
        let loaded = self.b.ins().load(from, flags, address, offset);
        let value = match widen {
            Widen::No => loaded,
            Widen::Signed => self.b.ins().sextend(to, loaded),
            Widen::Unsigned => self.b.ins().uextend(to, loaded),
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

    /// The lowest bits of a value that are of this type.
    pub(super) fn narrow(&mut self, value: Value, to: Type) -> Value {
        if self.b.func.dfg.value_type(value) == to {
            value
        } else {
            self.b.ins().ireduce(to, value)
        }
    }
}
