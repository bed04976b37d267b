//! A function's body: its entry and exit in the IR, and the dispatch of instructions to the modules
//! that translate them.

use super::control::{Frame, FrameKind};
use super::{Env, Regions, Translated, Translator, check_values, clif_type, limit_stack};
use crate::error::{Error, Result};
use cranelift_codegen::ir::{Function, InstBuilder, SourceLoc, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use wasmparser as wp;

/// Translates a defined function into `func`, whose signature is set.
pub(crate) fn function(
    env: &Env<'_>,
    func: &mut Function,
    builder: &mut FunctionBuilderContext,
    index: u32,
    body: &wp::FunctionBody<'_>,
) -> Result<Translated> {
    let ty = env.module.func_type(index)?;
    let (mut t, arguments) = open(env, func, builder)?;
    t.load_base();
    for (&param, value) in ty.params.iter().zip(arguments) {
        let local = t.b.declare_var(clif_type(param));
        t.b.def_var(local, value);
        t.locals.push(local);
    }
    for declared in body.get_locals_reader()? {
        let (count, ty) = declared?;
        let ty = clif_type(crate::module::val_type(ty)?);
        if count == 0 {
            continue;
        }
        let zero = t.zero(ty);
        for _ in 0..count {
            let local = t.b.declare_var(ty);
            t.b.def_var(local, zero);
            t.locals.push(local);
        }
    }
    let results: Vec<Type> = ty.results.iter().map(|&r| clif_type(r)).collect();
    let end = t.label_block(&results);
    t.frames.push(Frame {
        kind: FrameKind::Block,
        end,
        height: 0,
        params: 0,
        results: ty.results.len(),
        reached: false,
    });
    let mut instructions = 0;
    let mut ops = body.get_operators_reader()?;
    let mut read = || match ops.eof() {
        true => Ok(None),
        false => {
            let at = ops.original_position();
            ops.read().map(|op| Some((at, op)))
        }
    };
    let mut current = read()?;
    while let Some((at, op)) = current {
        let next = read()?;
        if env.lines {
            t.b.set_srcloc(SourceLoc::new((at - env.module.code_start) as u32));
        }
        instructions += 1;
        t.condition = next.as_ref().is_some_and(|(_, next)| is_conditional(next));
        t.op(&op)?;
        current = next;
    }
    if !t.frames.is_empty() {
        return Err(Error::internal("a block is not closed"));
    }
    t.check_size()?;
    let joins = std::mem::take(&mut t.joins);
    t.close();
    let range = body.range();
    let beyond = check_values(env, func, &joins, range.end.saturating_sub(range.start))?;
    Ok(Translated {
        instructions,
        beyond,
    })
}

/// Whether an instruction asks of the value on top of the stack only whether it is zero.
fn is_conditional(op: &wp::Operator<'_>) -> bool {
    use wp::Operator as O;
    matches!(
        op,
        O::BrIf { .. } | O::If { .. } | O::Select | O::TypedSelect { .. }
    )
}

/// Makes the thunk of imported function `index`: a function that calls it, to which references
/// refer.
pub(crate) fn thunk(
    env: &Env<'_>,
    func: &mut Function,
    builder: &mut FunctionBuilderContext,
    index: u32,
) -> Result<()> {
    let (mut t, arguments) = open(env, func, builder)?;
    t.stack = arguments;
    t.call(index)?;
    t.close();
    Ok(())
}

/// Makes a function for the kernel to call that does what function `index` of this type does.
pub(crate) fn entry(
    env: &Env<'_>,
    func: &mut Function,
    builder: &mut FunctionBuilderContext,
    index: u32,
    ty: u32,
) -> Result<()> {
    let (mut t, arguments) = open(env, func, builder)?;
    t.stack = arguments;
    t.call_own(index, ty)?;
    t.close();
    Ok(())
}

/// Starts a function: entry block, context, arguments.
fn open<'e, 'f>(
    env: &'e Env<'e>,
    func: &'f mut Function,
    builder: &'f mut FunctionBuilderContext,
) -> Result<(Translator<'e, 'f>, Vec<Value>)> {
    if env.options.tests() {
        limit_stack(func);
    }
    let regions = Regions::new(func);
    let mut b = FunctionBuilder::new(func, builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let params = b.block_params(entry).to_vec();
    let (&context, arguments) = params
        .split_first()
        .ok_or_else(|| Error::internal("a function has no context"))?;
    Ok((
        Translator::new(env, b, (entry, context), regions),
        arguments.to_vec(),
    ))
}

impl Translator<'_, '_> {
    /// Ends the function and returns the values on the stack.
    fn close(mut self) {
        if self.live {
            self.b.ins().return_(&self.stack);
        }
        self.b.seal_all_blocks();
        self.b.finalize(self.env.frontend);
    }

    pub(super) fn zero(&mut self, ty: Type) -> Value {
        match ty {
            types::F32 => self.b.ins().f32const(0.0),
            types::F64 => self.b.ins().f64const(0.0),
            types::I8X16 => self.vector_constant(&[0; 16]),
            ty => self.integer(ty, 0),
        }
    }

    fn op(&mut self, op: &wp::Operator<'_>) -> Result<()> {
        if !self.live {
            return self.dead_op(op);
        }
        self.check_size()?;
        // Ordered by how often they occur.
        let known = self.variable_op(op)?
            || self.numeric_op(op)?
            || self.memory_op(op)?
            || self.control_op(op)?
            || self.conversion_op(op)?
            || self.call_op(op)?
            || self.table_op(op)?
            || self.atomic_op(op)?
            || self.vector_op(op)?
            || self.exception_op(op)?
            || self.legacy_op(op)?;
        if known {
            Ok(())
        } else {
            Err(Error::internal(format!("no translation for {op:?}")))
        }
    }

    /// Locals, globals, and instructions that only move values.
    fn variable_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match *op {
            O::LocalGet { local_index } => {
                let local = self.local(local_index)?;
                let value = self.value_of(local);
                self.push(value);
            }
            O::LocalSet { local_index } => {
                let local = self.local(local_index)?;
                let value = self.pop()?;
                self.b.def_var(local, value);
            }
            O::LocalTee { local_index } => {
                let local = self.local(local_index)?;
                let value = self.pop()?;
                self.b.def_var(local, value);
                self.push(value);
            }
            O::GlobalGet { global_index } => self.global_get(global_index)?,
            O::GlobalSet { global_index } => self.global_set(global_index)?,
            O::Drop => {
                self.pop()?;
            }
            O::Select | O::TypedSelect { .. } => {
                let (a, b, condition) = self.pop3()?;
                let value = self.b.ins().select(condition, a, b);
                self.push(value);
            }
            O::Nop => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn local(&self, index: u32) -> Result<cranelift_frontend::Variable> {
        let local = self.locals.get(index as usize).copied();
        local.ok_or_else(|| Error::internal(format!("there is no local {index}")))
    }
}
