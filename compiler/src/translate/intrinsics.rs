//! Imported functions of a SIP: a call through the kernel's table, or inline code.

use super::Translator;
use crate::error::{Error, Result};
use crate::verify::ImportUse;
use cranelift_codegen::ir::{self, InstBuilder, SigRef, Type, Value, types};
use sing_abi::entry::{self, Access, ENTRIES, Int};
use sing_abi::{MAX_REGISTER_WORDS, ctx};

fn int(ty: Int) -> Type {
    match ty {
        Int::I32 => types::I32,
        Int::I64 => types::I64,
    }
}

impl Translator<'_, '_> {
    /// Expands a call of an import, with arguments from the stack.
    pub(super) fn intrinsic(&mut self, import: ImportUse) -> Result<()> {
        match import {
            ImportUse::Entry(entry) if entry.access == Access::Inline => self.inline(entry.index),
            ImportUse::Entry(entry) => {
                let arguments = self.pop_many(entry.signature.params.len())?;
                self.kernel_call(entry.index, &arguments)
            }
            ImportUse::NewChannel { contract } => {
                let out = self.pop()?;
                let contract = self.i32(contract);
                self.kernel_call(entry::CHANNEL_NEW, &[contract, out])
            }
            ImportUse::Send { operation, words } => {
                let words = self.pop_many(words)?;
                self.channel_call(
                    entry::CHANNEL_SEND,
                    operation,
                    &words,
                    MAX_REGISTER_WORDS,
                    &[],
                )
            }
            ImportUse::SendMem { operation } => {
                let words = self.pop()?;
                self.channel_call(entry::CHANNEL_SEND_MEM, operation, &[words], 1, &[])
            }
            ImportUse::Call { operation, words } => {
                let out = self.pop()?;
                let words = self.pop_many(words)?;
                let most = MAX_REGISTER_WORDS - 1;
                self.channel_call(entry::CHANNEL_CALL, operation, &words, most, &[out])
            }
            ImportUse::CallMem { operation } => {
                let (words, out) = self.pop2()?;
                self.channel_call(entry::CHANNEL_CALL_MEM, operation, &[words, out], 2, &[])
            }
            ImportUse::Receive { operation } => {
                let out = self.pop()?;
                self.channel_call(entry::CHANNEL_RECV, operation, &[out], 1, &[])
            }
            ImportUse::Cast { operation } => {
                let state = self.pop()?;
                self.channel_call(entry::ENDPOINT_CAST, operation, &[state], 1, &[])
            }
            ImportUse::Linked(_) => Err(Error::internal("a sealed module is not linked")),
        }
    }

    /// Calls an entry whose first arguments are an endpoint, from the stack, and an operation.
    /// `words` is padded with zeros to `most` arguments; `rest` follows.
    fn channel_call(
        &mut self,
        entry: usize,
        operation: u32,
        words: &[Value],
        most: usize,
        rest: &[Value],
    ) -> Result<()> {
        let mut arguments = vec![self.pop()?, self.i32(operation)];
        arguments.extend(words);
        while arguments.len() < 2 + most {
            arguments.push(self.b.ins().iconst(types::I64, 0));
        }
        arguments.extend(rest);
        self.kernel_call(entry, &arguments)
    }

    /// Calls a kernel entry and pushes its result, if it has one.
    pub(super) fn kernel_call(&mut self, entry: usize, arguments: &[Value]) -> Result<()> {
        let table = self.context_constant(types::I64, ctx::KERNEL_TABLE);
        let flags = ir::MemFlagsData::trusted().with_readonly().with_can_move();
        let code = self
            .b
            .ins()
            .load(types::I64, flags, table, entry as i32 * 8);
        let signature = self.entry_signature(entry)?;
        let mut all = vec![self.context];
        all.extend(arguments);
        let call = self.b.ins().call_indirect(signature, code, &all);
        self.push_results(call);
        Ok(())
    }

    fn entry_signature(&mut self, entry: usize) -> Result<SigRef> {
        if let Some(&known) = self.entries.get(&entry) {
            return Ok(known);
        }
        let described = ENTRIES.get(entry).map(|e| e.signature);
        let described = described.ok_or_else(|| Error::internal("there is no such entry"))?;
        let mut signature = ir::Signature::new(super::KERNEL_CONVENTION);
        signature.params.push(ir::AbiParam::new(types::I64));
        signature
            .params
            .extend(described.params.iter().map(|&p| ir::AbiParam::new(int(p))));
        signature
            .returns
            .extend(described.result.map(|r| ir::AbiParam::new(int(r))));
        let signature = self.b.import_signature(signature);
        self.entries.insert(entry, signature);
        Ok(signature)
    }

    /// Emits the code of an entry that needs no call.
    fn inline(&mut self, index: usize) -> Result<()> {
        match index {
            entry::SELF_ID => {
                let id = self.context_constant(types::I32, ctx::SIP_ID);
                self.push(id);
            }
            entry::THREAD_ID => {
                let id = self.context_constant(types::I32, ctx::THREAD_ID);
                self.push(id);
            }
            entry::CYCLES_PER_SECOND_INLINE => {
                let ticks = self.context_constant(types::I64, ctx::CYCLES_PER_SECOND);
                self.push(ticks);
            }
            entry::TLS_GET => {
                let value = self.context_field(types::I64, ctx::TLS);
                self.push(value);
            }
            entry::TLS_SET => {
                let value = self.pop()?;
                let flags = Self::plain(self.regions.context);
                self.b.ins().store(flags, value, self.context, ctx::TLS);
            }
            entry::IO_LOAD8..=entry::IO_STORE64 => return self.registers(index),
            index => return self.exchange_heap(index),
        }
        Ok(())
    }
}
