//! Atomic accesses of the threads proposal, to the memory that the SIP's threads share.
//!
//! An access at an address that is not a multiple of its size traps, as the proposal requires.

use super::Translator;
use crate::error::Result;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, Type, Value, types};
use sing_abi::trap::Trap;
use wasmparser as wp;

impl Translator<'_, '_> {
    pub(super) fn atomic_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use AtomicRmwOp as R;
        use types::{I8, I16, I32, I64};
        use wp::Operator as O;
        match op {
            O::AtomicFence { .. } => {
                self.b.ins().fence();
            }
            O::I32AtomicLoad { memarg } => self.atomic_load(memarg, I32, I32)?,
            O::I64AtomicLoad { memarg } => self.atomic_load(memarg, I64, I64)?,
            O::I32AtomicLoad8U { memarg } => self.atomic_load(memarg, I8, I32)?,
            O::I32AtomicLoad16U { memarg } => self.atomic_load(memarg, I16, I32)?,
            O::I64AtomicLoad8U { memarg } => self.atomic_load(memarg, I8, I64)?,
            O::I64AtomicLoad16U { memarg } => self.atomic_load(memarg, I16, I64)?,
            O::I64AtomicLoad32U { memarg } => self.atomic_load(memarg, I32, I64)?,
            O::I32AtomicStore { memarg } => self.atomic_store(memarg, I32)?,
            O::I64AtomicStore { memarg } => self.atomic_store(memarg, I64)?,
            O::I32AtomicStore8 { memarg } | O::I64AtomicStore8 { memarg } => {
                self.atomic_store(memarg, I8)?;
            }
            O::I32AtomicStore16 { memarg } | O::I64AtomicStore16 { memarg } => {
                self.atomic_store(memarg, I16)?;
            }
            O::I64AtomicStore32 { memarg } => self.atomic_store(memarg, I32)?,
            O::I32AtomicRmwAdd { memarg } | O::I64AtomicRmw32AddU { memarg } => {
                self.atomic_rmw(memarg, R::Add, I32)?;
            }
            O::I64AtomicRmwAdd { memarg } => self.atomic_rmw(memarg, R::Add, I64)?,
            O::I32AtomicRmw8AddU { memarg } | O::I64AtomicRmw8AddU { memarg } => {
                self.atomic_rmw(memarg, R::Add, I8)?;
            }
            O::I32AtomicRmw16AddU { memarg } | O::I64AtomicRmw16AddU { memarg } => {
                self.atomic_rmw(memarg, R::Add, I16)?;
            }
            O::I32AtomicRmwSub { memarg } | O::I64AtomicRmw32SubU { memarg } => {
                self.atomic_rmw(memarg, R::Sub, I32)?;
            }
            O::I64AtomicRmwSub { memarg } => self.atomic_rmw(memarg, R::Sub, I64)?,
            O::I32AtomicRmw8SubU { memarg } | O::I64AtomicRmw8SubU { memarg } => {
                self.atomic_rmw(memarg, R::Sub, I8)?;
            }
            O::I32AtomicRmw16SubU { memarg } | O::I64AtomicRmw16SubU { memarg } => {
                self.atomic_rmw(memarg, R::Sub, I16)?;
            }
            O::I32AtomicRmwAnd { memarg } | O::I64AtomicRmw32AndU { memarg } => {
                self.atomic_rmw(memarg, R::And, I32)?;
            }
            O::I64AtomicRmwAnd { memarg } => self.atomic_rmw(memarg, R::And, I64)?,
            O::I32AtomicRmw8AndU { memarg } | O::I64AtomicRmw8AndU { memarg } => {
                self.atomic_rmw(memarg, R::And, I8)?;
            }
            O::I32AtomicRmw16AndU { memarg } | O::I64AtomicRmw16AndU { memarg } => {
                self.atomic_rmw(memarg, R::And, I16)?;
            }
            O::I32AtomicRmwOr { memarg } | O::I64AtomicRmw32OrU { memarg } => {
                self.atomic_rmw(memarg, R::Or, I32)?;
            }
            O::I64AtomicRmwOr { memarg } => self.atomic_rmw(memarg, R::Or, I64)?,
            O::I32AtomicRmw8OrU { memarg } | O::I64AtomicRmw8OrU { memarg } => {
                self.atomic_rmw(memarg, R::Or, I8)?;
            }
            O::I32AtomicRmw16OrU { memarg } | O::I64AtomicRmw16OrU { memarg } => {
                self.atomic_rmw(memarg, R::Or, I16)?;
            }
            O::I32AtomicRmwXor { memarg } | O::I64AtomicRmw32XorU { memarg } => {
                self.atomic_rmw(memarg, R::Xor, I32)?;
            }
            O::I64AtomicRmwXor { memarg } => self.atomic_rmw(memarg, R::Xor, I64)?,
            O::I32AtomicRmw8XorU { memarg } | O::I64AtomicRmw8XorU { memarg } => {
                self.atomic_rmw(memarg, R::Xor, I8)?;
            }
            O::I32AtomicRmw16XorU { memarg } | O::I64AtomicRmw16XorU { memarg } => {
                self.atomic_rmw(memarg, R::Xor, I16)?;
            }
            O::I32AtomicRmwXchg { memarg } | O::I64AtomicRmw32XchgU { memarg } => {
                self.atomic_rmw(memarg, R::Xchg, I32)?;
            }
            O::I64AtomicRmwXchg { memarg } => self.atomic_rmw(memarg, R::Xchg, I64)?,
            O::I32AtomicRmw8XchgU { memarg } | O::I64AtomicRmw8XchgU { memarg } => {
                self.atomic_rmw(memarg, R::Xchg, I8)?;
            }
            O::I32AtomicRmw16XchgU { memarg } | O::I64AtomicRmw16XchgU { memarg } => {
                self.atomic_rmw(memarg, R::Xchg, I16)?;
            }
            O::I32AtomicRmwCmpxchg { memarg } | O::I64AtomicRmw32CmpxchgU { memarg } => {
                self.atomic_cas(memarg, I32)?;
            }
            O::I64AtomicRmwCmpxchg { memarg } => self.atomic_cas(memarg, I64)?,
            O::I32AtomicRmw8CmpxchgU { memarg } | O::I64AtomicRmw8CmpxchgU { memarg } => {
                self.atomic_cas(memarg, I8)?;
            }
            O::I32AtomicRmw16CmpxchgU { memarg } | O::I64AtomicRmw16CmpxchgU { memarg } => {
                self.atomic_cas(memarg, I16)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The native address of an atomic access, after checks of alignment and bounds.
    fn atomic_address(&mut self, index: Value, memarg: &wp::MemArg, ty: Type) -> Result<Value> {
        let size = ty.bytes();
        if size > 1 {
            // The memory's base is aligned, so only the lowest bits of address and offset matter.
            let low = memarg.offset.cast_signed() & i64::from(size - 1);
            let sum = if low == 0 {
                index
            } else {
                self.b.ins().iadd_imm_u(index, low)
            };
            let rest = self.b.ins().band_imm_u(sum, i64::from(size - 1));
            let unaligned = self.b.ins().icmp_imm_u(IntCC::NotEqual, rest, 0);
            self.trap_if(unaligned, Trap::Unaligned);
        }
        let (address, offset) = self.address(index, memarg, size)?;
        Ok(match offset {
            0 => address,
            offset => self.b.ins().iadd_imm_s(address, i64::from(offset)),
        })
    }

    fn push_widened(&mut self, value: Value, to: Type) {
        let value = if self.b.func.dfg.value_type(value) == to {
            value
        } else {
            self.b.ins().uextend(to, value)
        };
        self.push(value);
    }

    fn atomic_load(&mut self, memarg: &wp::MemArg, from: Type, to: Type) -> Result<()> {
        let index = self.pop()?;
        let address = self.atomic_address(index, memarg, from)?;
        let flags = self.memory_flags();
        let loaded = self.b.ins().atomic_load(from, flags, address);
        self.push_widened(loaded, to);
        Ok(())
    }

    fn atomic_store(&mut self, memarg: &wp::MemArg, to: Type) -> Result<()> {
        let (index, value) = self.pop2()?;
        let address = self.atomic_address(index, memarg, to)?;
        let value = self.narrow(value, to);
        let flags = self.memory_flags();
        // An exchange is as much of a barrier as `atomic_store`, which is a store and an `mfence`: that
        // waits until all before it has ended, also the loads and stores of a long copy.
        let exchange = AtomicRmwOp::Xchg;
        self.b.ins().atomic_rmw(to, flags, exchange, address, value);
        Ok(())
    }

    fn atomic_rmw(&mut self, memarg: &wp::MemArg, op: AtomicRmwOp, in_memory: Type) -> Result<()> {
        let (index, value) = self.pop2()?;
        let to = self.b.func.dfg.value_type(value);
        let address = self.atomic_address(index, memarg, in_memory)?;
        let value = self.narrow(value, in_memory);
        let flags = self.memory_flags();
        let old = self
            .b
            .ins()
            .atomic_rmw(in_memory, flags, op, address, value);
        self.push_widened(old, to);
        Ok(())
    }

    fn atomic_cas(&mut self, memarg: &wp::MemArg, in_memory: Type) -> Result<()> {
        let (index, expected, replacement) = self.pop3()?;
        let to = self.b.func.dfg.value_type(replacement);
        let address = self.atomic_address(index, memarg, in_memory)?;
        let expected = self.narrow(expected, in_memory);
        let replacement = self.narrow(replacement, in_memory);
        let flags = self.memory_flags();
        let old = self
            .b
            .ins()
            .atomic_cas(flags, address, expected, replacement);
        self.push_widened(old, to);
        Ok(())
    }
}
