//! Arithmetic that ends two values of blocks before: the optimizer leaves it behind the branch where
//! its result is needed first, and both operands are kept across the branch for it. Here it moves
//! before the branch, and one value is kept.
//!
//! The other way out of the branch computes it in vain: so only cheap operations move, and only those
//! that have no effects.
//!
//! Invariants:
//! - An instruction moves only up the one way to its block, to where all its operands are made already.
//! - It stays within its loop.

use super::{Uses, resolve_and_count};
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, InstructionData, Opcode, Value, ValueDef};
use cranelift_codegen::loop_analysis::LoopAnalysis;
use std::collections::HashMap;

/// The most branches that an instruction passes.
const FURTHEST: usize = 8;

/// The way into a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    None,
    /// There is one, from this block.
    From(Block),
    Several,
}

/// Moves what should move; `uses` stay right.
pub(super) fn lift(func: &mut Function, loops: &LoopAnalysis, uses: &mut Uses) {
    let blocks: Vec<Block> = func.layout.blocks().collect();
    if blocks.len() < 2 {
        return;
    }
    let mut ways: SecondaryMap<Block, Way> = SecondaryMap::with_default(Way::None);
    ways.resize(func.dfg.num_blocks());
    for &block in &blocks {
        if let Some(end) = func.layout.last_inst(block) {
            let dfg = &func.dfg;
            let branches = matches!(dfg.insts[end].opcode(), Opcode::Jump | Opcode::Brif);
            let calls = dfg.insts[end].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
            for call in calls {
                let to = call.block(&dfg.value_lists);
                ways[to] = match ways[to] {
                    Way::None if branches && to != block => Way::From(block),
                    _ => Way::Several,
                };
            }
        }
    }
    // The last blocks first, so that an instruction can pass several branches.
    let mut merged = false;
    for &block in blocks.iter().rev() {
        merged |= merge(func, block, &ways, uses);
    }
    if merged {
        *uses = resolve_and_count(func);
    }
    let mut above = Vec::new();
    for &block in blocks.iter().rev() {
        above.clear();
        let mut at = block;
        while let Way::From(before) = ways[at]
            && above.len() < FURTHEST
        {
            above.push(before);
            at = before;
        }
        // Where a loop is left, nothing moves into it: there it would run in each round.
        let own = loops.innermost_loop(block);
        if let Some(left) = above.iter().position(|&b| loops.innermost_loop(b) != own) {
            above.truncate(left);
        }
        if above.is_empty() {
            continue;
        }
        let mut next = func.layout.first_inst(block);
        while let Some(inst) = next {
            next = func.layout.next_inst(inst);
            if let Some(to) = destination(func, &above, inst, uses)
                && let Some(end) = func.layout.last_inst(to)
            {
                func.layout.remove_inst(inst);
                func.layout.insert_inst(inst, end);
            }
        }
    }
}

/// What both ways out of a block's branch compute of values that nothing else uses moves before the
/// branch: the optimizer has made a copy for each of them. Returns whether there was one.
fn merge(
    func: &mut Function,
    block: Block,
    ways: &SecondaryMap<Block, Way>,
    uses: &mut Uses,
) -> bool {
    let Some(end) = func.layout.last_inst(block) else {
        return false;
    };
    let InstructionData::Brif { blocks, .. } = func.dfg.insts[end] else {
        return false;
    };
    let [one, other] = blocks.map(|call| call.block(&func.dfg.value_lists));
    if one == other || [one, other].map(|b| ways[b]) != [Way::From(block); 2] {
        return false;
    }
    // The operations of the one block, when the other has one that may move.
    let mut known: Option<HashMap<(Opcode, [Value; 2]), Inst>> = None;
    let mut merged = false;
    let mut next = func.layout.first_inst(other);
    while let Some(copy) = next {
        next = func.layout.next_inst(copy);
        // Both blocks have the operands: they are made before, or have been moved there.
        let Some((opcode, operands)) = operation(func, copy) else {
            continue;
        };
        // Where others use an operand, one more value would be kept across the branch.
        if operands.iter().any(|&value| uses[value] != 2) {
            continue;
        }
        let known = known.get_or_insert_with(|| {
            let insts = func.layout.block_insts(one);
            let operations = insts.filter_map(|inst| Some((operation(func, inst)?, inst)));
            operations.collect()
        });
        let Some(inst) = known.remove(&(opcode, operands)) else {
            continue;
        };
        let [kept, dropped] = [inst, copy].map(|inst| func.dfg.first_result(inst));
        for value in operands {
            uses[value] -= 1;
        }
        uses[kept] += uses[dropped];
        func.layout.remove_inst(inst);
        func.layout.insert_inst(inst, end);
        func.layout.remove_inst(copy);
        func.dfg.detach_inst_results(copy);
        func.dfg.change_to_alias(dropped, kept);
        merged = true;
    }
    merged
}

/// A cheap operation and its operands.
fn operation(func: &Function, inst: Inst) -> Option<(Opcode, [Value; 2])> {
    match func.dfg.insts[inst] {
        InstructionData::Binary { opcode, args } if is_cheap(opcode) => {
            Some((opcode, args.map(|value| func.dfg.resolve_aliases(value))))
        }
        _ => None,
    }
}

fn is_cheap(opcode: Opcode) -> bool {
    use Opcode::{Band, Bor, Bxor, Fadd, Fmul, Fsub, Iadd, Imul, Isub};
    matches!(
        opcode,
        Iadd | Isub | Imul | Band | Bor | Bxor | Fadd | Fsub | Fmul
    )
}

/// The block to which the instruction should move: where the later one of its operands is made, if it
/// is cheap and the only use of both.
fn destination(func: &Function, above: &[Block], inst: Inst, uses: &Uses) -> Option<Block> {
    if !is_cheap(func.dfg.insts[inst].opcode()) {
        return None;
    }
    let mut nearest = above.len();
    for &value in func.dfg.inst_args(inst) {
        let of = match func.dfg.value_def(value) {
            ValueDef::Result(from, _) => func.layout.inst_block(from)?,
            ValueDef::Param(block, _) => block,
            ValueDef::Union(..) => return None,
        };
        let place = above.iter().position(|&b| b == of)?;
        nearest = nearest.min(place);
        if uses[value] != 1 {
            return None;
        }
    }
    above.get(nearest).copied()
}
