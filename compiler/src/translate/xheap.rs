//! Inline accesses to the exchange heap: checks that the handle is in the thread's table and the
//! offset in bounds, then loads or stores.

use super::Translator;
use crate::error::{Error, Result};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use sing_abi::trap::Trap;
use sing_abi::{ctx, entry, xheap};

impl Translator<'_, '_> {
    /// The inline entries for allocations.
    pub(super) fn exchange_heap(&mut self, index: usize) -> Result<()> {
        use types::{I8, I16, I32, I64};
        match index {
            entry::XH_SIZE => {
                let handle = self.pop()?;
                // A free table entry has key 0, like handle 0. Its length is 0, so no access
                // through it is possible; but its size must not be reported.
                let null = self.b.ins().icmp_imm_u(IntCC::Equal, handle, 0);
                self.trap_if(null, Trap::BadHandle);
                let found = self.allocation(handle);
                let flags = Self::plain(self.regions.handles);
                let size = self.b.ins().load(I32, flags, found, xheap::ENTRY_LEN);
                self.push(size);
                Ok(())
            }
            entry::XH_LOAD8 => self.block_load(I8, I32),
            entry::XH_LOAD16 => self.block_load(I16, I32),
            entry::XH_LOAD32 => self.block_load(I32, I32),
            entry::XH_LOAD64 => self.block_load(I64, I64),
            entry::XH_STORE8 => self.block_store(I8),
            entry::XH_STORE16 => self.block_store(I16),
            entry::XH_STORE32 => self.block_store(I32),
            entry::XH_STORE64 => self.block_store(I64),
            _ => Err(Error::internal(format!(
                "no code in place of entry {index}"
            ))),
        }
    }

    /// The address of the table entry that a handle selects. Traps unless the handle is the
    /// thread's.
    ///
    /// Any call may move and enlarge the table, so its address and mask are read at each access;
    /// Cranelift merges reads without a call in between.
    fn allocation(&mut self, handle: Value) -> Value {
        let base = self.context_field(types::I64, ctx::XTAB_BASE);
        let mask = self.context_field(types::I32, ctx::XTAB_MASK);
        // A table has at most `xheap::MAX_ENTRIES` entries, so its mask is within `INDEX_MASK`.
        let index = self.b.ins().band(handle, mask);
        let index = self.b.ins().uextend(types::I64, index);
        let offset = self.b.ins().ishl_imm_u(index, xheap::ENTRY_SHIFT);
        let found = self.b.ins().iadd(base, offset);
        let flags = Self::plain(self.regions.handles);
        let key = self
            .b
            .ins()
            .load(types::I32, flags, found, xheap::ENTRY_KEY);
        let other = self.b.ins().icmp(IntCC::NotEqual, key, handle);
        self.trap_if(other, Trap::BadHandle);
        found
    }

    /// The address of `size` bytes at an offset of an allocation, checked against the limit in a
    /// field of its entry (`ENTRY_LEN` to read, `ENTRY_WLEN` to write).
    fn block_address(&mut self, handle: Value, offset: Value, size: u32, limit: i32) -> Value {
        let found = self.allocation(handle);
        let offset = self.b.ins().uextend(types::I64, offset);
        let flags = Self::plain(self.regions.handles);
        let len = self.b.ins().uload32(flags, found, limit);
        let end = self.b.ins().iadd_imm_u(offset, i64::from(size));
        let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, len);
        self.test(outside, Trap::BlockOutOfBounds);
        let base = self
            .b
            .ins()
            .load(types::I64, flags, found, xheap::ENTRY_BASE);
        self.b.ins().iadd(base, offset)
    }

    /// Flags of an access to an allocation. Pages of large ones may be mapped on first access, so
    /// the access itself can fault.
    fn block_flags(&self) -> MemFlagsData {
        MemFlagsData::new()
            .with_alias_region(Some(self.regions.blocks))
            .with_trap_code(Some(super::trap_code(Trap::BlockOutOfBounds)))
    }

    fn block_load(&mut self, from: Type, to: Type) -> Result<()> {
        let (handle, offset) = self.pop2()?;
        let address = self.block_address(handle, offset, from.bytes(), xheap::ENTRY_LEN);
        let flags = self.block_flags();
        let loaded = self.b.ins().load(from, flags, address, 0);
        let value = if from == to {
            loaded
        } else {
            self.b.ins().uextend(to, loaded)
        };
        self.push(value);
        Ok(())
    }

    fn block_store(&mut self, to: Type) -> Result<()> {
        let (handle, offset, value) = self.pop3()?;
        let address = self.block_address(handle, offset, to.bytes(), xheap::ENTRY_WLEN);
        let value = self.narrow(value, to);
        let flags = self.block_flags();
        self.b.ins().store(flags, value, address, 0);
        Ok(())
    }
}
