//! Inline accesses to registers of devices: checks that the handle is in the SIP's table of windows
//! and the register in bounds, then loads or stores; calls the kernel where the check fails.
//!
//! Invariants:
//! - Each access reads the window's key anew, and the rest of the entry after it
//!   ([`sing_abi::io`]): another thread may have given the window back since the access before.
//! - An access is one instruction of its width, and every access of the module happens, in the
//!   module's order. The key is read by `atomic_load`, a plain load on this machine, which
//!   Cranelift treats as a fence: across it, it neither forwards, merges nor removes loads or
//!   stores. A register is read by `atomic_load`, too. A register is written by a plain store,
//!   which follows such a fence, so no two stores can become one. `atomic_store` would add an
//!   `mfence`, which orders nothing more: registers are mapped uncached, and the processor reorders
//!   stores neither with each other nor with such loads.

use super::Translator;
use crate::error::{Error, Result};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Type, Value, types};
use sing_abi::trap::Trap;
use sing_abi::{ctx, entry, xheap};

impl Translator<'_, '_> {
    /// The inline entries for registers.
    pub(super) fn registers(&mut self, index: usize) -> Result<()> {
        use types::{I8, I16, I32, I64};
        match index {
            entry::IO_LOAD8 => self.register_load(I8, I32),
            entry::IO_LOAD16 => self.register_load(I16, I32),
            entry::IO_LOAD32 => self.register_load(I32, I32),
            entry::IO_LOAD64 => self.register_load(I64, I64),
            entry::IO_STORE8 => self.register_store(I8),
            entry::IO_STORE16 => self.register_store(I16),
            entry::IO_STORE32 => self.register_store(I32),
            entry::IO_STORE64 => self.register_store(I64),
            _ => Err(Error::internal(format!("entry {index} is no register's"))),
        }
    }

    /// Goes on in a new block unless `failed`, and in `slow` if so.
    fn unless(&mut self, failed: Value, slow: Block) {
        let next = self.b.create_block();
        self.b.ins().brif(failed, slow, &[], next, &[]);
        self.b.switch_to_block(next);
        self.seal(next);
    }

    /// The address of a register of `size` bytes, checked against the limit in a field of its
    /// window's entry (`ENTRY_LEN` to read, `ENTRY_WLEN` to write). Goes to `slow` if the check
    /// fails.
    fn register(
        &mut self,
        (io, offset): (Value, Value),
        size: u32,
        limit: i32,
        slow: Block,
    ) -> Value {
        let base = self.context_constant(types::I64, ctx::IO_BASE);
        let mask = self.context_constant(types::I32, ctx::IO_MASK);
        let index = self.b.ins().band(io, mask);
        let index = self.b.ins().uextend(types::I64, index);
        let at = self.b.ins().ishl_imm_u(index, xheap::ENTRY_SHIFT);
        let found = self.b.ins().iadd(base, at);
        let flags = Self::plain(self.regions.windows);
        let key = self.b.ins().iadd_imm_u(found, i64::from(xheap::ENTRY_KEY));
        let key = self.b.ins().atomic_load(types::I32, flags, key);
        let other = self.b.ins().icmp(IntCC::NotEqual, key, io);
        self.unless(other, slow);
        let offset = self.b.ins().uextend(types::I64, offset);
        let len = self.b.ins().uload32(flags, found, limit);
        let end = self.b.ins().iadd_imm_u(offset, i64::from(size));
        let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, len);
        self.unless(outside, slow);
        let start = self
            .b
            .ins()
            .load(types::I64, flags, found, xheap::ENTRY_BASE);
        let address = self.b.ins().iadd(start, offset);
        if size > 1 {
            let rest = self.b.ins().band_imm_u(address, i64::from(size) - 1);
            self.unless(rest, slow);
        }
        address
    }

    /// Flags of an access to a register. Its page is unmapped if another thread has given the
    /// window back since the check.
    fn register_flags(&self) -> MemFlagsData {
        MemFlagsData::new()
            .with_alias_region(Some(self.regions.registers))
            .with_trap_code(Some(super::trap_code(Trap::RegisterOutOfBounds)))
    }

    /// A block for an access that failed the check, and the one in which both ways meet.
    fn slow_way(&mut self, results: &[Type]) -> (Block, Block) {
        let slow = self.b.create_block();
        self.b.set_cold_block(slow);
        (slow, self.label_block(results))
    }

    fn register_load(&mut self, from: Type, to: Type) -> Result<()> {
        let (io, offset) = self.pop2()?;
        let (slow, next) = self.slow_way(&[to]);
        let address = self.register((io, offset), from.bytes(), xheap::ENTRY_LEN, slow);
        let flags = self.register_flags();
        let loaded = self.b.ins().atomic_load(from, flags, address);
        let value = self.widened(loaded, to);
        self.b.ins().jump(next, &[value.into()]);
        self.b.switch_to_block(slow);
        self.seal(slow);
        let width = self.i32(from.bytes());
        self.kernel_call(entry::IO_READ, &[io, offset, width])?;
        let read = self.pop()?;
        let read = self.narrow(read, from);
        let value = self.widened(read, to);
        self.b.ins().jump(next, &[value.into()]);
        self.b.switch_to_block(next);
        self.seal(next);
        let value = self.b.block_params(next)[0];
        self.push(value);
        Ok(())
    }

    fn register_store(&mut self, to: Type) -> Result<()> {
        let (io, offset, value) = self.pop3()?;
        let (slow, next) = self.slow_way(&[]);
        let address = self.register((io, offset), to.bytes(), xheap::ENTRY_WLEN, slow);
        let narrow = self.narrow(value, to);
        let flags = self.register_flags();
        self.b.ins().store(flags, narrow, address, 0);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(slow);
        self.seal(slow);
        let width = self.i32(to.bytes());
        let value = self.widened(value, types::I64);
        self.kernel_call(entry::IO_WRITE, &[io, offset, width, value])?;
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        self.seal(next);
        Ok(())
    }

    /// A value with zeros above it, as this type.
    fn widened(&mut self, value: Value, to: Type) -> Value {
        if self.b.func.dfg.value_type(value) == to {
            value
        } else {
            self.b.ins().uextend(to, value)
        }
    }
}
