//! Trampolines: a host calls an exported function through one without knowing its type.

use super::{Env, clif_type, context_offset, limit_stack};
use crate::error::{Error, Result};
use crate::layout;
use crate::verify::ImportUse;
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, Function, InstBuilder, MemFlagsData, Signature,
    UserExternalName, types,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

/// Bytes of a cell, which holds a value of any type.
const CELL: i32 = 16;

/// Makes `fn(context, *mut u128)`, which calls function `index` with arguments from an array of
/// cells and stores the results there.
pub(crate) fn trampoline(
    env: &Env<'_>,
    func: &mut Function,
    builder: &mut FunctionBuilderContext,
    index: u32,
) -> Result<()> {
    let ty = env.module.func_type(index)?;
    func.signature = Signature::new(super::KERNEL_CONVENTION);
    let context = env.signature(ty).params[0];
    func.signature
        .params
        .extend([context, AbiParam::new(types::I64)]);
    limit_stack(func);
    let mut b = FunctionBuilder::new(func, builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let &[context, cells] = b.block_params(entry) else {
        return Err(Error::internal("a trampoline has two parameters"));
    };
    let flags = MemFlagsData::trusted();
    let mut arguments = vec![context];
    for (&param, i) in ty.params.iter().zip(0i32..) {
        arguments.push(b.ins().load(clif_type(param), flags, cells, i * CELL));
    }
    let signature = b.import_signature(env.signature(ty));
    let call = match linked_entry(env, index)? {
        Some((code, linked_context)) => {
            let constant = flags.with_readonly();
            let code = b.ins().load(types::I64, constant, context, code);
            arguments[0] = b.ins().load(types::I64, constant, context, linked_context);
            b.ins().call_indirect(signature, code, &arguments)
        }
        None => {
            let name = UserExternalName {
                namespace: 0,
                index,
            };
            let name = b.func.declare_imported_user_function(name);
            let data = ExtFuncData {
                name: ExternalName::user(name),
                signature,
                colocated: true,
                patchable: false,
            };
            let target = b.import_function(data);
            b.ins().call(target, &arguments)
        }
    };
    let results = b.inst_results(call).to_vec();
    for (result, i) in results.into_iter().zip(0i32..) {
        // Cells are written whole, as readers of a whole cell would see what a narrower value
        // leaves.
        let zero = b.ins().iconst(types::I64, 0);
        b.ins().store(flags, zero, cells, i * CELL);
        b.ins().store(flags, zero, cells, i * CELL + 8);
        b.ins().store(flags, result, cells, i * CELL);
    }
    b.ins().return_(&[]);
    b.finalize(env.frontend);
    Ok(())
}

/// For an imported function that is exported again: the offsets of its code and its context.
fn linked_entry(env: &Env<'_>, index: u32) -> Result<Option<(i32, i32)>> {
    let Some(ImportUse::Linked(n)) = env.imports.get(index as usize) else {
        return Ok(None);
    };
    let at = |field: u32| -> Result<i32> {
        let entry = context_offset(env.layout.func_imports, *n, layout::FUNC_IMPORT_SIZE)?;
        Ok(entry + field as i32)
    };
    Ok(Some((
        at(layout::FUNC_IMPORT_CODE)?,
        at(layout::FUNC_IMPORT_CTX)?,
    )))
}
