//! From WebAssembly to Cranelift IR, one function at a time.
//!
//! The operand stack of WebAssembly becomes a stack of SSA values at translation time
//! ([`Translator`]), locals become variables, labels become blocks with parameters ([`control`]).
//! Everything that depends on the system (context record, memories, tables, kernel entries) is
//! reached through the first argument, the context.
//!
//! Invariants:
//! - Only validated code is translated; a contradiction to that is an internal error.
//! - Every memory access whose address the SIP controls can trap, with the right code; accesses to
//!   the context record and to tables follow a check.
//! - Mutable memory is divided into alias regions ([`Regions`]), so that a store to one never
//!   forces a reload from another.

mod alive;
mod atomics;
mod body;
mod bounds;
mod bytes;
mod calls;
mod control;
mod copies;
mod exceptions;
mod globals;
mod intrinsics;
mod io;
mod legacy;
mod memory;
mod numeric;
mod tables;
mod trampoline;
mod unwind;
mod vectors;
mod xheap;

pub(crate) use alive::FEW as FEW_KEPT;
pub(crate) use body::{entry, function, thunk};
pub(crate) use copies::code as routine_code;
pub(crate) use exceptions::Exceptions;
pub(crate) use trampoline::trampoline;
pub(crate) use unwind::{CODE, FUNCTIONS, PLACES, RESUME, ROUTINES, Routine, TABLE, TABLE_HEAD};

use crate::error::{Error, ErrorKind, Result};
use crate::module::Module;
use crate::options::Options;
use crate::verify::ImportUse;
use control::Frame;
use cranelift_codegen::ir::{
    self, AliasRegion, AliasRegionData, Block, FuncRef, Function, InstBuilder, MemFlagsData,
    SigRef, TrapCode, Type, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, Variable};
use sing_abi::ctx;
use sing_abi::trap::Trap;
use sing_image::limits;
use sing_image::meta::{CtxLayout, FuncType, ValType};
use std::collections::HashMap;

/// The convention of the kernel: of its entries, and of the functions that it calls.
pub(crate) const KERNEL_CONVENTION: CallConv = CallConv::SystemV;

/// The most values in lists of the IR, and in blocks before a loop, while one function is
/// translated: they are counted for what they are ([`check_values`]) when it is.
const MOST_LISTED: usize = 16 * limits::FUNCTION_VALUES.most as usize;

/// The facts about the module that the translation of every function needs.
pub(crate) struct Env<'m> {
    pub(crate) module: &'m Module<'m>,
    pub(crate) imports: &'m [ImportUse],
    pub(crate) options: &'m Options,
    pub(crate) layout: CtxLayout,
    /// The convention of a module's functions among themselves: the kernel's, which calls them as
    /// they are, or where there are tail calls that of these.
    pub(crate) convention: CallConv,
    /// Canonical number of each type (sealed linkage).
    pub(crate) canonical: Vec<u32>,
    /// Index of the thunk of each imported function that is used as a value.
    pub(crate) thunks: HashMap<u32, u32>,
    /// Whether the module may ask too much of the compiler, so that what each function asks counts.
    pub(crate) counted: bool,
    /// Whether the code keeps where it comes from.
    pub(crate) lines: bool,
    /// For each table, whether its length never changes.
    pub(crate) fixed_tables: Vec<bool>,
    /// Where the exceptions of a thread lie, in a module that throws or catches any.
    pub(crate) exceptions: Option<Exceptions>,
    pub(crate) frontend: TargetFrontendConfig,
}

impl Env<'_> {
    /// The place in the context record of the address of the list of images that exceptions go
    /// through. `None` in a sealed image, which they do not leave.
    pub(crate) fn linked_images(&self) -> Option<i32> {
        (!self.options.sealed()).then_some(self.layout.tag_imports as i32)
    }

    /// The function that a reference to `func` refers to: its thunk, if it has one.
    pub(crate) fn referent(&self, func: u32) -> u32 {
        self.thunks.get(&func).copied().unwrap_or(func)
    }

    /// The signature in Cranelift's terms, with the context as first parameter.
    pub(crate) fn signature(&self, ty: &FuncType) -> ir::Signature {
        self.signature_by(ty, self.convention)
    }

    /// The same by a convention.
    pub(crate) fn signature_by(&self, ty: &FuncType, convention: CallConv) -> ir::Signature {
        let mut signature = ir::Signature::new(convention);
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

/// The IR type that represents a WebAssembly type.
pub(crate) fn clif_type(ty: ValType) -> Type {
    match ty {
        ValType::I32 => types::I32,
        ValType::I64
        | ValType::FuncRef
        | ValType::ExternRef
        | ValType::NonNullFunc
        | ValType::NonNullExtern
        | ValType::ExnRef
        | ValType::NonNullExn
        | ValType::Typed { .. } => types::I64,
        ValType::F32 => types::F32,
        ValType::F64 => types::F64,
        // Vectors of all lane types; instructions cast to the one that they need (`vectors`).
        ValType::V128 => types::I8X16,
    }
}

pub(crate) fn trap_code(trap: Trap) -> TrapCode {
    TrapCode::unwrap_user(trap.code())
}

/// Makes the prologue check the thread's stack limit.
pub(crate) fn limit_stack(func: &mut Function) {
    let context = func.create_global_value(ir::GlobalValueData::VMContext);
    let flags = MemFlagsData::trusted().with_readonly();
    // Inserting the first flags of a function cannot fail.
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

/// Alias regions: kinds of memory that never overlap.
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
    /// The SIP's table of register windows.
    windows: AliasRegion,
    /// Registers of devices.
    registers: AliasRegion,
    /// The thread's exceptions.
    exceptions: AliasRegion,
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
            windows: region("windows"),
            registers: region("registers"),
            exceptions: region("exceptions"),
        }
    }
}

/// What is known of the values that locals become where control flow joins.
#[derive(Default)]
struct Joins {
    /// How many values a branch to each block carries by the block's type. It may carry locals
    /// behind them.
    declared: HashMap<Block, usize>,
    /// Values that were made because a local was looked for in the blocks before.
    made: usize,
    /// Pairs of locals that loops use: a value that turns out not to change in its loop is taken out
    /// of a list of all of them.
    in_loops: u64,
}

/// A function that was translated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Translated {
    /// How many instructions of WebAssembly it has.
    pub(crate) instructions: u64,
    pub(crate) beyond: Beyond,
}

/// Sums of the work that functions are for the compiler, without the work that goes with their length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beyond {
    /// Values of locals that branches carry, beyond some for each byte.
    pub(crate) carried: u64,
    /// Pairs of locals that loops use.
    pub(crate) in_loops: u64,
    /// Instructions that values are kept for, in functions where these are many.
    pub(crate) kept: u64,
}

impl Beyond {
    /// Adds what another function asks, and compares the sums with the limits of a module.
    pub(crate) fn add(&mut self, other: Beyond) -> Result<()> {
        self.carried += other.carried;
        self.in_loops += other.in_loops;
        self.kept += other.kept;
        too_large(limits::ALL_LOCALS_CARRIED.check(self.carried))?;
        too_large(limits::ALL_LOCALS_IN_LOOPS.check(self.in_loops))?;
        too_large(limits::ALL_VALUES_KEPT.check(self.kept))
    }
}

/// The translation of one function.
struct Translator<'e, 'f> {
    env: &'e Env<'e>,
    b: FunctionBuilder<'f>,
    /// The context, this function's first argument.
    context: Value,
    /// The function's first block, which dominates all others.
    entry: Block,
    /// The integers and the extended values that there are, each with its block.
    integers: HashMap<(Type, i64), (Block, Value)>,
    extended: HashMap<Value, (Block, Value)>,
    /// Whether the next instruction takes the result of the current one as a condition only.
    condition: bool,
    /// The base of the first memory, if the function has loaded it at its entry.
    base: Option<Value>,
    regions: Regions,
    stack: Vec<Value>,
    locals: Vec<Variable>,
    frames: Vec<Frame>,
    /// The places in `frames` of those that catch exceptions, the innermost last.
    catching: Vec<usize>,
    joins: Joins,
    /// Whether the current instruction is reachable.
    live: bool,
    /// Whether the instruction is a tail call, whose call has not been emitted yet.
    tail: bool,
    /// In dead code: how many blocks have been opened there.
    skipped: usize,
    funcs: HashMap<u32, FuncRef>,
    types: HashMap<u32, SigRef>,
    entries: HashMap<usize, SigRef>,
}

impl<'e, 'f> Translator<'e, 'f> {
    /// Of a function whose first block is the current one.
    fn new(
        env: &'e Env<'e>,
        b: FunctionBuilder<'f>,
        (entry, context): (Block, Value),
        regions: Regions,
    ) -> Self {
        Translator {
            env,
            b,
            context,
            entry,
            integers: HashMap::new(),
            extended: HashMap::new(),
            condition: false,
            base: None,
            regions,
            stack: Vec::new(),
            locals: Vec::new(),
            frames: Vec::new(),
            catching: Vec::new(),
            joins: Joins::default(),
            live: true,
            tail: false,
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

    /// Pops `n` values, the lowest first.
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
        self.integer(types::I32, i64::from(n))
    }

    /// An integer, whose bits above the type's are zero. The optimizer makes constants where they are
    /// used, so that fewer of them only cost less.
    fn integer(&mut self, ty: Type, n: i64) -> Value {
        if let Some(&(block, value)) = self.integers.get(&(ty, n))
            && self.is_there(block)
        {
            return value;
        }
        let value = self.b.ins().iconst(ty, n);
        if let Some(block) = self.b.current_block() {
            self.integers.insert((ty, n), (block, value));
        }
        value
    }

    /// A value of 32 bits with zeros as its upper half.
    fn extend(&mut self, value: Value) -> Value {
        if let Some(&(block, wide)) = self.extended.get(&value)
            && self.is_there(block)
        {
            return wide;
        }
        let wide = self.b.ins().uextend(types::I64, value);
        if let Some(block) = self.b.current_block() {
            self.extended.insert(value, (block, wide));
        }
        wide
    }

    /// Whether the current block has what was made in this one.
    fn is_there(&self, block: Block) -> bool {
        block == self.entry || self.b.current_block() == Some(block)
    }

    fn trap_if(&mut self, condition: Value, trap: Trap) {
        self.b.ins().trapnz(condition, trap_code(trap));
    }

    /// Traps if a test of what keeps the program within its own says so; such tests can be left out.
    fn test(&mut self, outside: Value, trap: Trap) {
        if self.env.options.tests() {
            self.trap_if(outside, trap);
        }
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

    /// Keeps the IR within bounds while it grows.
    fn check_size(&self) -> Result<()> {
        let dfg = &self.b.func.dfg;
        within(dfg.num_values())?;
        let listed = dfg.value_lists.capacity();
        if listed > MOST_LISTED {
            within(listed)?;
        }
        Ok(())
    }

    /// Makes a block to which branches carry values of these types.
    fn label_block(&mut self, types: &[Type]) -> Block {
        let block = self.b.create_block();
        for &ty in types {
            self.b.append_block_param(block, ty);
        }
        self.joins.declared.insert(block, types.len());
        block
    }

    /// Closes a block, to which no other branch will go.
    fn seal(&mut self, block: Block) {
        let before = self.b.func.dfg.num_values();
        self.b.seal_block(block);
        self.joins.made += self.b.func.dfg.num_values() - before;
    }

    /// The value of a local.
    fn value_of(&mut self, local: Variable) -> Value {
        let before = self.b.func.dfg.num_values();
        let value = self.b.use_var(local);
        self.joins.made += self.b.func.dfg.num_values() - before;
        value
    }

    /// Closes a loop, to which no other branch will go: each local that the loop uses is looked for
    /// in the blocks before every branch to it, and may become a parameter of each of them.
    fn seal_loop(&mut self, header: Block, params: usize) -> Result<()> {
        let dfg = &self.b.func.dfg;
        let locals = dfg.num_block_params(header).saturating_sub(params);
        self.joins.in_loops += (locals as u64).pow(2);
        too_large(limits::LOCALS_IN_LOOPS.check(self.joins.in_loops))?;
        let most = locals.saturating_mul(dfg.num_blocks());
        if most > MOST_LISTED {
            within(most)?;
        }
        self.seal(header);
        Ok(())
    }
}

/// Compares the values of a function that is translated with the limits: all of them with what a
/// function may have, with its length those of locals where control flow joins, and how long they
/// are kept. The verifier knows nothing of the latter two.
fn check_values(env: &Env<'_>, func: &mut Function, joins: &Joins, bytes: u64) -> Result<Beyond> {
    let dfg = &func.dfg;
    let blocks = func.layout.blocks();
    let (mut carried, mut locals) = (0, joins.made);
    for end in blocks.filter_map(|b| func.layout.last_inst(b)) {
        for call in dfg.insts[end].branch_destination(&dfg.jump_tables, &dfg.exception_tables) {
            let arguments = call.args(&dfg.value_lists).len();
            let of_type = joins.declared.get(&call.block(&dfg.value_lists));
            carried += arguments;
            locals += arguments.saturating_sub(of_type.copied().unwrap_or(0));
        }
    }
    within(dfg.num_values() + carried)?;
    let few = match env.counted {
        true => alive::FEW,
        false => limits::VALUES_KEPT.most,
    };
    let beyond = Beyond {
        carried: limits::beyond(locals as u64, bytes),
        in_loops: joins.in_loops,
        kept: alive::kept(func, few, limits::VALUES_KEPT.most),
    };
    too_large(limits::LOCALS_CARRIED.check(beyond.carried))?;
    too_large(limits::VALUES_KEPT.check(beyond.kept))?;
    Ok(beyond)
}

fn within(values: usize) -> Result<()> {
    too_large(limits::FUNCTION_VALUES.check(values as u64))
}

fn too_large(checked: std::result::Result<(), sing_image::Error>) -> Result<()> {
    checked.map_err(|e| Error::new(ErrorKind::TooLarge, format!("the module has {}", e.message)))
}

/// A field's offset in the context record, which the layout keeps below 2 GiB.
fn context_offset(base: u32, index: u32, size: u32) -> Result<i32> {
    let at = u64::from(base) + u64::from(index) * u64::from(size);
    i32::try_from(at).map_err(|_| Error::internal("the context record is too large"))
}
