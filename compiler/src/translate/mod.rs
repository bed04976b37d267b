//! From WebAssembly to Cranelift IR, one function at a time.
//!
//! The operand stack of WebAssembly becomes a stack of SSA values at translation time ([`Translator`]),
//! locals become variables, labels become blocks with parameters ([`control`]). What depends on the system
//! (context record, memories, tables, the kernel) is reached through the first argument, the context.
//!
//! Invariants:
//! - Only code that the validator has accepted comes here; what contradicts that is an internal error.
//! - Every access to memory that a SIP directs can trap with the right code; accesses to the context
//!   record and to tables follow a test.
//! - Memory that can change is told apart by alias region ([`Regions`]), so that a store to one kind never
//!   forces a reload of another.

mod atomics;
mod body;
mod calls;
mod control;
mod globals;
mod intrinsics;
mod memory;
mod numeric;
mod tables;
mod trampoline;
mod vectors;
mod xheap;

pub(crate) use body::{function, thunk};
pub(crate) use trampoline::trampoline;

use crate::error::{Error, ErrorKind, Result};
use crate::module::Module;
use crate::options::Options;
use crate::verify::ImportUse;
use control::Frame;
use cranelift_codegen::ir::{
    self, AliasRegion, AliasRegionData, FuncRef, Function, InstBuilder, MemFlagsData, SigRef,
    TrapCode, Type, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, Variable};
use sing_abi::ctx;
use sing_abi::trap::Trap;
use sing_image::meta::{CtxLayout, FuncType, ValType};
use std::collections::HashMap;

/// The convention of everything that is compiled. Functions are called by the kernel as they are.
pub(crate) const CONVENTION: CallConv = CallConv::SystemV;

/// The most values that one function may have in the IR, those counted once more that a branch carries: a module of some
/// megabytes can otherwise ask for terabytes, by calls with thousands of results.
const MAX_VALUES: usize = 16 << 20;

/// What the translation of any function of a module looks at.
pub(crate) struct Env<'m> {
    pub(crate) module: &'m Module<'m>,
    pub(crate) imports: &'m [ImportUse],
    pub(crate) options: &'m Options,
    pub(crate) layout: CtxLayout,
    /// Canonical number of each type (sealed linkage).
    pub(crate) canonical: Vec<u32>,
    /// Index of the function that stands for an imported one wherever a reference to it is taken.
    pub(crate) thunks: HashMap<u32, u32>,
    /// For each table, whether its length never changes.
    pub(crate) fixed_tables: Vec<bool>,
    pub(crate) frontend: TargetFrontendConfig,
}

impl Env<'_> {
    /// The function to refer to for this one.
    pub(crate) fn referent(&self, func: u32) -> u32 {
        self.thunks.get(&func).copied().unwrap_or(func)
    }

    /// The signature in Cranelift's terms: the context comes first.
    pub(crate) fn signature(&self, ty: &FuncType) -> ir::Signature {
        let mut signature = ir::Signature::new(CONVENTION);
        let context = ir::AbiParam::special(types::I64, ir::ArgumentPurpose::VMContext);
        signature.params.push(context);
        signature
            .params
            .extend(ty.params.iter().map(|&p| ir::AbiParam::new(clif_type(p))));
        signature
            .returns
            .extend(ty.results.iter().map(|&r| ir::AbiParam::new(clif_type(r))));
        signature
    }
}

/// How a value of this type is represented.
pub(crate) fn clif_type(ty: ValType) -> Type {
    match ty {
        ValType::I32 => types::I32,
        ValType::I64 | ValType::FuncRef | ValType::ExternRef => types::I64,
        ValType::F32 => types::F32,
        ValType::F64 => types::F64,
        // Lanes of any kind: who needs another kind takes it as one (`vectors`).
        ValType::V128 => types::I8X16,
    }
}

pub(crate) fn trap_code(trap: Trap) -> TrapCode {
    TrapCode::unwrap_user(trap.code())
}

/// Makes the prologue test the thread's stack limit.
pub(crate) fn limit_stack(func: &mut Function) {
    let context = func.create_global_value(ir::GlobalValueData::VMContext);
    let flags = MemFlagsData::trusted().with_readonly();
    // The first flags of a function always fit.
    let Ok(flags) = func.dfg.mem_flags.insert(flags) else {
        return;
    };
    let limit = func.create_global_value(ir::GlobalValueData::Load {
        base: context,
        offset: ctx::STACK_LIMIT.into(),
        global_type: types::I64,
        flags,
    });
    func.stack_limit = Some(limit);
}

/// Kinds of memory that never overlap.
#[derive(Clone, Copy)]
struct Regions {
    /// Fields of the context record that change while a function runs.
    context: AliasRegion,
    globals: AliasRegion,
    /// The linear memory.
    memory: AliasRegion,
    /// Records of memories and tables.
    records: AliasRegion,
    /// Elements of tables.
    elements: AliasRegion,
    /// The thread's exchange-heap table.
    handles: AliasRegion,
    /// Exchange-heap allocations.
    blocks: AliasRegion,
}

impl Regions {
    fn new(func: &mut Function) -> Regions {
        let mut id = 0;
        let mut region = |description: &'static str| {
            let data = AliasRegionData {
                user_id: id,
                description: description.into(),
            };
            id += 1;
            func.dfg.alias_regions.insert(data)
        };
        Regions {
            context: region("context"),
            globals: region("globals"),
            memory: region("memory"),
            records: region("records"),
            elements: region("elements"),
            handles: region("handles"),
            blocks: region("blocks"),
        }
    }
}

/// The translation of one function.
struct Translator<'e, 'f> {
    env: &'e Env<'e>,
    b: FunctionBuilder<'f>,
    /// The context, this function's first argument.
    context: Value,
    regions: Regions,
    stack: Vec<Value>,
    /// Values that branches have carried so far.
    carried: usize,
    locals: Vec<Variable>,
    frames: Vec<Frame>,
    /// Whether the current instruction can be reached.
    live: bool,
    /// In dead code: how many blocks have been opened there.
    skipped: usize,
    funcs: HashMap<u32, FuncRef>,
    types: HashMap<u32, SigRef>,
    entries: HashMap<usize, SigRef>,
}

impl<'e, 'f> Translator<'e, 'f> {
    fn new(env: &'e Env<'e>, b: FunctionBuilder<'f>, context: Value, regions: Regions) -> Self {
        Translator {
            env,
            b,
            context,
            regions,
            stack: Vec::new(),
            carried: 0,
            locals: Vec::new(),
            frames: Vec::new(),
            live: true,
            skipped: 0,
            funcs: HashMap::new(),
            types: HashMap::new(),
            entries: HashMap::new(),
        }
    }

    fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    fn pop(&mut self) -> Result<Value> {
        self.stack
            .pop()
            .ok_or_else(|| Error::internal("the operand stack is empty"))
    }

    fn pop2(&mut self) -> Result<(Value, Value)> {
        let second = self.pop()?;
        Ok((self.pop()?, second))
    }

    fn pop3(&mut self) -> Result<(Value, Value, Value)> {
        let third = self.pop()?;
        let (first, second) = self.pop2()?;
        Ok((first, second, third))
    }

    /// Takes the uppermost values off the stack, the lowest first.
    fn pop_many(&mut self, n: usize) -> Result<Vec<Value>> {
        let at = self.stack.len().checked_sub(n);
        let at = at.ok_or_else(|| Error::internal("the operand stack is too short"))?;
        Ok(self.stack.split_off(at))
    }

    fn type_at(&self, index: u32) -> Result<&'e FuncType> {
        let ty = self.env.module.types.get(index as usize);
        ty.ok_or_else(|| Error::internal(format!("there is no type {index}")))
    }

    fn i32(&mut self, n: u32) -> Value {
        self.b.ins().iconst(types::I32, i64::from(n))
    }

    fn trap_if(&mut self, condition: Value, trap: Trap) {
        self.b.ins().trapnz(condition, trap_code(trap));
    }

    /// Flags of an access that cannot trap.
    fn plain(region: AliasRegion) -> MemFlagsData {
        MemFlagsData::trusted().with_alias_region(Some(region))
    }

    /// Loads a field of the context record that never changes while the function runs.
    fn context_constant(&mut self, ty: Type, offset: i32) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.b.ins().load(ty, flags, self.context, offset)
    }

    /// Loads a field of the context record that calls may change.
    fn context_field(&mut self, ty: Type, offset: i32) -> Value {
        self.b
            .ins()
            .load(ty, Self::plain(self.regions.context), self.context, offset)
    }

    /// Keeps the IR within bounds.
    fn check_size(&self) -> Result<()> {
        if self.b.func.dfg.num_values() + self.carried > MAX_VALUES {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "the function is too large to compile",
            ));
        }
        Ok(())
    }
}

/// A field's offset in the context record; the layout keeps all of them below 2 GiB.
fn context_offset(base: u32, index: u32, size: u32) -> Result<i32> {
    let at = u64::from(base) + u64::from(index) * u64::from(size);
    i32::try_from(at).map_err(|_| Error::internal("the context record is too large"))
}
