//! Calls: direct, of imports, through tables and through references.

use super::{Translator, context_offset, trap_code};
use crate::error::{Error, Result};
use crate::layout;
use crate::verify::ImportUse;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    BlockArg, BlockCall, ExceptionTableData, ExceptionTableItem, ExtFuncData, ExternalName,
    FuncRef, Inst, InstBuilder, SigRef, Type, UserExternalName, Value, types,
};
use sing_abi::ctx;
use sing_abi::trap::Trap;
use wasmparser as wp;

/// What a call calls.
#[derive(Clone, Copy)]
enum Callee {
    Function(FuncRef),
    Code(SigRef, Value),
}

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
            O::CallRef { type_index } => self.call_ref(type_index)?,
            O::ReturnCall { function_index } => {
                self.tail = true;
                self.call(function_index)?;
                self.leave()?;
            }
            O::ReturnCallIndirect {
                type_index,
                table_index,
            } => {
                self.tail = true;
                self.call_indirect(type_index, table_index)?;
            }
            O::ReturnCallRef { type_index } => {
                self.tail = true;
                self.call_ref(type_index)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Calls a function with arguments from the stack; a sealed module's imports are expanded in
    /// place.
    pub(super) fn call(&mut self, func: u32) -> Result<()> {
        match self.env.imports.get(func as usize) {
            None => self.call_defined(func),
            Some(ImportUse::Linked(n)) => self.call_linked(func, *n),
            Some(&import) => self.intrinsic(import),
        }
    }

    fn call_defined(&mut self, func: u32) -> Result<()> {
        let ty = self.env.module.func_types.get(func as usize).copied();
        let ty = ty.ok_or_else(|| Error::internal(format!("there is no function {func}")))?;
        self.call_own(func, ty)
    }

    /// Calls a function of this image, of this type.
    pub(super) fn call_own(&mut self, func: u32, ty: u32) -> Result<()> {
        let mut arguments = vec![self.context];
        arguments.extend(self.pop_many(self.type_at(ty)?.params.len())?);
        let target = self.func_ref(func, ty)?;
        if self.ends() {
            self.b.ins().return_call(target, &arguments);
            return Ok(());
        }
        self.call_here(Callee::Function(target), &arguments)
    }

    /// Whether the call that comes next is the function's last instruction. What is behind it
    /// cannot be reached then.
    fn ends(&mut self) -> bool {
        let tail = std::mem::take(&mut self.tail);
        self.live &= !tail;
        tail
    }

    /// Returns from the function after a call in place of which other code stands, an import's:
    /// there is no frame to leave to it.
    fn leave(&mut self) -> Result<()> {
        if self.ends() {
            let arity = self.frames.first().map_or(0, |f| f.results);
            let values = self.pop_many(arity)?;
            self.b.ins().return_(&values);
        }
        Ok(())
    }

    fn call_code(&mut self, signature: SigRef, code: Value, arguments: &[Value]) -> Result<()> {
        if self.ends() {
            self.b
                .ins()
                .return_call_indirect(signature, code, arguments);
            return Ok(());
        }
        self.call_here(Callee::Code(signature, code), arguments)
    }

    /// Calls what may throw, and pushes its results: where a block around it catches exceptions,
    /// the call has that way out, too.
    fn call_here(&mut self, callee: Callee, arguments: &[Value]) -> Result<()> {
        let Some(handler) = self.handler()? else {
            let call = match callee {
                Callee::Function(function) => self.b.ins().call(function, arguments),
                Callee::Code(signature, code) => {
                    self.b.ins().call_indirect(signature, code, arguments)
                }
            };
            self.push_results(call);
            return Ok(());
        };
        let dfg = &self.b.func.dfg;
        let signature = match callee {
            Callee::Function(function) => dfg.ext_funcs[function].signature,
            Callee::Code(signature, _) => signature,
        };
        let returns = dfg.signatures[signature].returns.iter();
        let results: Vec<Type> = returns.map(|r| r.value_type).collect();
        let next = self.label_block(&results);
        let carried = (0..results.len() as u32).map(BlockArg::TryCallRet);
        let pool = &mut self.b.func.dfg.value_lists;
        let normal = BlockCall::new(next, carried, pool);
        let caught = BlockCall::new(handler, [BlockArg::TryCallExn(0)], pool);
        let ways = [ExceptionTableItem::Default(caught)];
        let ways = ExceptionTableData::new(signature, normal, ways);
        let ways = self.b.func.dfg.exception_tables.push(ways);
        match callee {
            Callee::Function(function) => self.b.ins().try_call(function, arguments, ways),
            Callee::Code(_, code) => self.b.ins().try_call_indirect(code, arguments, ways),
        };
        self.seal(next);
        self.b.switch_to_block(next);
        self.stack.extend(self.b.block_params(next));
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
        self.call_code(signature, code, &arguments)
    }

    fn call_indirect(&mut self, ty: u32, table: u32) -> Result<()> {
        let index = self.pop()?;
        let record = self.table_element(table, index)?;
        if !self.env.options.tests() {
            return self.call_record(record, ty);
        }
        let null = self.b.ins().icmp_imm_u(IntCC::Equal, record, 0);
        self.b.ins().trapnz(null, trap_code(Trap::NullFunction));
        // Function records never change.
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
        self.call_record(record, ty)
    }

    /// Calls what a reference of this type refers to: the validator has seen that it is such a
    /// function.
    fn call_ref(&mut self, ty: u32) -> Result<()> {
        let record = self.pop()?;
        let null = self.b.ins().icmp_imm_u(IntCC::Equal, record, 0);
        self.test(null, Trap::NullFunction);
        self.call_record(record, ty)
    }

    /// Calls the function of a record, which is of this type.
    fn call_record(&mut self, record: Value, ty: u32) -> Result<()> {
        let constant = cranelift_codegen::ir::MemFlagsData::trusted().with_readonly();
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
        self.call_code(signature, code, &arguments)
    }

    pub(super) fn push_results(&mut self, call: Inst) {
        self.stack.extend(self.b.inst_results(call));
    }

    fn func_ref(&mut self, func: u32, ty: u32) -> Result<FuncRef> {
        if let Some(&known) = self.funcs.get(&func) {
            return Ok(known);
        }
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

    /// Whether a reference is null, as an i32.
    pub(super) fn is_null(&mut self, reference: Value) -> Value {
        let is = self.b.ins().icmp_imm_u(IntCC::Equal, reference, 0);
        self.b.ins().uextend(types::I32, is)
    }
}
