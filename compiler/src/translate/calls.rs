//! Calls: direct, of imports, and through tables.

use super::{Translator, context_offset, trap_code};
use crate::error::{Error, Result};
use crate::layout;
use crate::verify::ImportUse;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    ExtFuncData, ExternalName, FuncRef, Inst, InstBuilder, SigRef, UserExternalName, Value, types,
};
use sing_abi::ctx;
use sing_abi::trap::Trap;
use wasmparser as wp;

impl Translator<'_, '_> {
    pub(super) fn call_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match *op {
            O::Call { function_index } => self.call(function_index)?,
            O::CallIndirect {
                type_index,
                table_index,
            } => {
                self.call_indirect(type_index, table_index)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Calls a function with arguments from the stack; what an import stands for is done here.
    pub(super) fn call(&mut self, func: u32) -> Result<()> {
        match self.env.imports.get(func as usize) {
            None => self.call_defined(func),
            Some(ImportUse::Linked(n)) => self.call_linked(func, *n),
            Some(&import) => self.intrinsic(import),
        }
    }

    fn call_defined(&mut self, func: u32) -> Result<()> {
        let ty = self.env.module.func_type(func)?;
        let mut arguments = vec![self.context];
        arguments.extend(self.pop_many(ty.params.len())?);
        let target = self.func_ref(func)?;
        let call = self.b.ins().call(target, &arguments);
        self.push_results(call);
        Ok(())
    }

    /// Calls another module's function with that module's context.
    fn call_linked(&mut self, func: u32, n: u32) -> Result<()> {
        let ty = self.env.module.func_type(func)?;
        let entry = context_offset(self.env.layout.func_imports, n, layout::FUNC_IMPORT_SIZE)?;
        let code = self.context_constant(types::I64, entry + layout::FUNC_IMPORT_CODE as i32);
        let context = self.context_constant(types::I64, entry + layout::FUNC_IMPORT_CTX as i32);
        let mut arguments = vec![context];
        arguments.extend(self.pop_many(ty.params.len())?);
        let signature = self.b.import_signature(self.env.signature(ty));
        let call = self.b.ins().call_indirect(signature, code, &arguments);
        self.push_results(call);
        Ok(())
    }

    fn call_indirect(&mut self, ty: u32, table: u32) -> Result<()> {
        let index = self.pop()?;
        let record = self.table_element(table, index)?;
        let null = self.b.ins().icmp_imm_u(IntCC::Equal, record, 0);
        self.b.ins().trapnz(null, trap_code(Trap::NullFunction));
        // Records of functions never change.
        let constant = cranelift_codegen::ir::MemFlagsData::trusted().with_readonly();
        let found = self
            .b
            .ins()
            .load(types::I32, constant, record, ctx::FUNC_SIG);
        let other = if self.env.options.sealed() {
            let canonical = self.env.canonical.get(ty as usize).copied();
            let canonical = canonical.ok_or_else(|| Error::internal("a type has no number"))?;
            self.b
                .ins()
                .icmp_imm_u(IntCC::NotEqual, found, i64::from(canonical))
        } else {
            let at = context_offset(self.env.layout.signatures, ty, 4)?;
            let wanted = self.context_constant(types::I32, at);
            self.b.ins().icmp(IntCC::NotEqual, found, wanted)
        };
        self.b.ins().trapnz(other, trap_code(Trap::BadSignature));
        let code = self
            .b
            .ins()
            .load(types::I64, constant, record, ctx::FUNC_CODE);
        let context = if self.env.options.sealed() {
            self.context
        } else {
            self.b
                .ins()
                .load(types::I64, constant, record, ctx::FUNC_CTX)
        };
        let mut arguments = vec![context];
        arguments.extend(self.pop_many(self.type_at(ty)?.params.len())?);
        let signature = self.signature_ref(ty)?;
        let call = self.b.ins().call_indirect(signature, code, &arguments);
        self.push_results(call);
        Ok(())
    }

    pub(super) fn push_results(&mut self, call: Inst) {
        self.stack.extend(self.b.inst_results(call));
    }

    fn func_ref(&mut self, func: u32) -> Result<FuncRef> {
        if let Some(&known) = self.funcs.get(&func) {
            return Ok(known);
        }
        let ty = self.env.module.func_types.get(func as usize).copied();
        let ty = ty.ok_or_else(|| Error::internal(format!("there is no function {func}")))?;
        let signature = self.signature_ref(ty)?;
        let name = UserExternalName {
            namespace: 0,
            index: func,
        };
        let name = self.b.func.declare_imported_user_function(name);
        let data = ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        };
        let func_ref = self.b.import_function(data);
        self.funcs.insert(func, func_ref);
        Ok(func_ref)
    }

    fn signature_ref(&mut self, ty: u32) -> Result<SigRef> {
        if let Some(&known) = self.types.get(&ty) {
            return Ok(known);
        }
        let signature = self
            .b
            .import_signature(self.env.signature(self.type_at(ty)?));
        self.types.insert(ty, signature);
        Ok(signature)
    }

    /// A value that is known to be a reference, as a null test.
    pub(super) fn is_null(&mut self, reference: Value) -> Value {
        let is = self.b.ins().icmp_imm_u(IntCC::Equal, reference, 0);
        self.b.ins().uextend(types::I32, is)
    }
}
