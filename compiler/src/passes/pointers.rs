//! Addresses of 32 bits that are loaded, or carried around loops: an access needs them with 64 bits,
//! and other instructions with 32. Kept as 64 bits whose upper half is zero they are both, in one
//! register and without an instruction for the conversion.
//!
//! A load fills up with zeros, as the processor does anyway. A parameter of a block gets 64 bits, and
//! each branch there extends what it carries: mostly a sum, whose upper half the processor has cleared.
//!
//! Invariant: the lower half of what replaces a value is the value, and the upper half is zero.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{
    Block, BlockArg, Function, Inst, InstBuilder, InstructionData, Opcode, Value, ValueDef, types,
};

/// Gives 64 bits to what addresses are made of, and leaves aliases.
pub(super) fn widen(func: &mut Function) {
    let extensions = extensions(func);
    if extensions.is_empty() {
        return;
    }
    let mut wide: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let params = Params::find(func, &extensions);
    params.widen(func, &mut wide);
    for &(_, value) in &extensions {
        if let Some(load) = load(func, value) {
            widen_load(func, load, value, &mut wide);
        }
    }
    params.carry(func, &wide);
    for (inst, value) in extensions {
        if let Some(wide) = wide[value] {
            let result = func.dfg.first_result(inst);
            func.layout.remove_inst(inst);
            func.dfg.detach_inst_results(inst);
            func.dfg.change_to_alias(result, wide);
        }
    }
}

/// The instructions that extend 32 bits by zeros to 64, and what they extend.
fn extensions(func: &Function) -> Vec<(Inst, Value)> {
    let mut found = Vec::new();
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            if let InstructionData::Unary {
                opcode: Opcode::Uextend,
                arg,
            } = func.dfg.insts[inst]
                && func.dfg.value_type(arg) == types::I32
                && func.dfg.value_type(func.dfg.first_result(inst)) == types::I64
            {
                found.push((inst, arg));
            }
        }
    }
    found
}

/// The instruction that loads the value, all its 32 bits.
fn load(func: &Function, value: Value) -> Option<Inst> {
    let ValueDef::Result(inst, _) = func.dfg.value_def(value) else {
        return None;
    };
    let load = matches!(
        func.dfg.insts[inst],
        InstructionData::Load {
            opcode: Opcode::Load,
            ..
        }
    );
    load.then_some(inst)
}

/// Has a load fill up with zeros.
fn widen_load(
    func: &mut Function,
    inst: Inst,
    value: Value,
    wide: &mut SecondaryMap<Value, Option<Value>>,
) {
    let InstructionData::Load {
        flags, arg, offset, ..
    } = func.dfg.insts[inst]
    else {
        return;
    };
    if wide[value].is_some() {
        return;
    }
    let place = func.srcloc(inst);
    let flags = func.dfg.mem_flags[flags];
    let mut cursor = FuncCursor::new(func).at_inst(inst).with_srcloc(place);
    let loaded = cursor.ins().uload32(flags, arg, offset);
    // The result stays the same value, of another instruction.
    cursor.func.replace(inst).ireduce(types::I32, loaded);
    wide[value] = Some(loaded);
}

/// Parameters of blocks that get 64 bits.
struct Params {
    /// For each block the places of these in its list, ascending.
    of: SecondaryMap<Block, Vec<usize>>,
    /// Whether there is one.
    any: bool,
}

/// Where a value is a parameter of a block other than the first: the block and the place.
fn param(func: &Function, value: Value) -> Option<(Block, usize)> {
    match func.dfg.value_def(value) {
        ValueDef::Param(block, place) if func.layout.entry_block() != Some(block) => {
            (func.dfg.value_type(value) == types::I32).then_some((block, place))
        }
        _ => None,
    }
}

impl Params {
    /// Finds those that are extended, and those that are carried to them.
    fn find(func: &Function, extensions: &[(Inst, Value)]) -> Params {
        let mut work: Vec<Value> = Vec::new();
        let mut wanted: SecondaryMap<Value, bool> = SecondaryMap::new();
        for &(_, value) in extensions {
            if param(func, value).is_some() && !std::mem::replace(&mut wanted[value], true) {
                work.push(value);
            }
        }
        if work.is_empty() {
            let of = SecondaryMap::new();
            return Params { of, any: false };
        }
        // What each parameter may be: values, or the results of a call that branches.
        let mut carried: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
        let mut made_by_calls: SecondaryMap<Value, bool> = SecondaryMap::new();
        let dfg = &func.dfg;
        for inst in func
            .layout
            .blocks()
            .filter_map(|b| func.layout.last_inst(b))
        {
            for call in dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables)
            {
                let to = dfg.block_params(call.block(&dfg.value_lists));
                for (&param, arg) in to.iter().zip(call.args(&dfg.value_lists)) {
                    match arg {
                        BlockArg::Value(value) if dfg.value_type(value) == types::I32 => {
                            carried[param].push(value);
                        }
                        BlockArg::Value(_) => {}
                        _ => made_by_calls[param] = true,
                    }
                }
            }
        }
        let mut of: SecondaryMap<Block, Vec<usize>> = SecondaryMap::new();
        let mut any = false;
        while let Some(value) = work.pop() {
            let Some((block, place)) = param(func, value) else {
                continue;
            };
            if made_by_calls[value] {
                continue;
            }
            any = true;
            of[block].push(place);
            for &from in &carried[value] {
                if param(func, from).is_some() && !std::mem::replace(&mut wanted[from], true) {
                    work.push(from);
                }
            }
        }
        for block in func.layout.blocks() {
            if !of[block].is_empty() {
                of[block].sort_unstable();
            }
        }
        Params { of, any }
    }

    /// Gives them 64 bits, and the blocks the values of 32 bits.
    fn widen(&self, func: &mut Function, wide: &mut SecondaryMap<Value, Option<Value>>) {
        if !self.any {
            return;
        }
        let blocks: Vec<Block> = func.layout.blocks().collect();
        for block in blocks.into_iter().filter(|&b| !self.of[b].is_empty()) {
            let params = func.dfg.block_params(block).to_vec();
            func.dfg.detach_block_params(block);
            let mut first = FuncCursor::new(func).at_first_insertion_point(block);
            for (place, param) in params.into_iter().enumerate() {
                if self.of[block].binary_search(&place).is_err() {
                    first.func.dfg.attach_block_param(block, param);
                    continue;
                }
                let whole = first.func.dfg.append_block_param(block, types::I64);
                let low = first.ins().ireduce(types::I32, whole);
                first.func.dfg.change_to_alias(param, low);
                wide[param] = Some(whole);
            }
        }
    }

    /// Has the branches carry 64 bits.
    fn carry(&self, func: &mut Function, wide: &SecondaryMap<Value, Option<Value>>) {
        if !self.any {
            return;
        }
        let blocks: Vec<Block> = func.layout.blocks().collect();
        for block in blocks {
            let Some(inst) = func.layout.last_inst(block) else {
                continue;
            };
            let dfg = &func.dfg;
            let data = &dfg.insts[inst];
            let calls = data.branch_destination(&dfg.jump_tables, &dfg.exception_tables);
            for number in 0..calls.len() {
                self.carry_by(func, inst, number, wide);
            }
        }
    }

    /// The same of one way out of a branch.
    fn carry_by(
        &self,
        func: &mut Function,
        inst: Inst,
        number: usize,
        wide: &SecondaryMap<Value, Option<Value>>,
    ) {
        let dfg = &func.dfg;
        let calls = dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
        let Some(call) = calls.get(number) else {
            return;
        };
        let places = &self.of[call.block(&dfg.value_lists)];
        if places.is_empty() {
            return;
        }
        let mut args: Vec<BlockArg> = call.args(&dfg.value_lists).collect();
        for &place in places {
            let Some(BlockArg::Value(value)) = args.get_mut(place) else {
                continue;
            };
            *value = match wide[*value] {
                Some(whole) => whole,
                None => extend(func, inst, *value),
            };
        }
        let dfg = &mut func.dfg;
        let calls =
            dfg.insts[inst].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables);
        let pool = &mut dfg.value_lists;
        if let Some(call) = calls.get_mut(number) {
            call.clear(pool);
            call.extend(args, pool);
        }
    }
}

/// Extends a value by zeros before this instruction.
fn extend(func: &mut Function, before: Inst, value: Value) -> Value {
    let constant = match func.dfg.value_def(value) {
        ValueDef::Result(inst, _) => match func.dfg.insts[inst] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(i64::from(imm.bits() as u32)),
            _ => None,
        },
        _ => None,
    };
    let mut cursor = FuncCursor::new(func).at_inst(before);
    match constant {
        Some(number) => cursor.ins().iconst(types::I64, number),
        None => cursor.ins().uextend(types::I64, value),
    }
}
