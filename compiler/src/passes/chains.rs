//! Chains of one operation over many values (`a ^ b ^ c ^ d`): here they take their operands in the
//! order in which these are made, so that each can be taken in, and forgotten, as soon as it is there.
//! Compilers write them in orders for which the last value must be there first.
//!
//! Only operations on integers are reordered whose result does not depend on the order.
//!
//! Invariant: a chain has the same operands as before, each as often.

use super::Uses;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, InstructionData, Opcode, Value, ValueDef};

/// The fewest operands for which it pays.
const FEWEST: usize = 4;

/// Orders the operands of all chains.
pub(super) fn reorder(func: &mut Function, uses: &Uses) {
    // An instruction has two operands, of which a chain's has one less.
    let long = |&block: &Block| {
        let insts = func.layout.block_insts(block);
        let links = insts.filter(|&inst| operands(func, inst).is_some());
        links.count() >= FEWEST - 1
    };
    let blocks: Vec<Block> = func.layout.blocks().filter(long).collect();
    if blocks.is_empty() {
        return;
    }
    let mut inner: SecondaryMap<Inst, bool> = SecondaryMap::new();
    let mut places: SecondaryMap<Inst, u32> = SecondaryMap::new();
    for block in blocks {
        let insts: Vec<Inst> = func.layout.block_insts(block).collect();
        for (place, &inst) in (0..).zip(&insts) {
            places[inst] = place;
        }
        // The last instruction of a chain comes first.
        let mut chains = Vec::new();
        for &inst in insts.iter().rev() {
            if !inner[inst]
                && let Some(mut chain) = Chain::find(func, block, inst, uses, &mut inner)
            {
                chain.reorder(func, block, &places);
                chains.push(chain);
            }
        }
        if !chains.is_empty() {
            place(func, block, &insts, chains);
        }
    }
}

/// Puts the instructions of each chain before its last one, of the chains of a block, the last one
/// first. All instructions of the block get their places anew: one by one, the layout would number
/// those behind again and again.
fn place(func: &mut Function, block: Block, insts: &[Inst], mut chains: Vec<Chain>) {
    for &inst in chains.iter().flat_map(|chain| &chain.inner) {
        func.layout.remove_inst(inst);
    }
    for &inst in insts {
        // An instruction of a chain, which comes with the last one.
        if func.layout.inst_block(inst).is_none() {
            continue;
        }
        func.layout.remove_inst(inst);
        if let Some(chain) = chains.pop_if(|chain| chain.root == inst) {
            for inner in chain.inner {
                func.layout.append_inst(inner, block);
            }
        }
        func.layout.append_inst(inst, block);
    }
}

/// The operation and its operands, if these may be reordered.
fn operands(func: &Function, inst: Inst) -> Option<(Opcode, [Value; 2])> {
    match func.dfg.insts[inst] {
        InstructionData::Binary {
            opcode: opcode @ (Opcode::Bxor | Opcode::Bor | Opcode::Band),
            args,
        } => Some((opcode, args)),
        _ => None,
    }
}

struct Chain {
    /// The last instruction.
    root: Inst,
    /// The others.
    inner: Vec<Inst>,
    /// The operands.
    leaves: Vec<Value>,
}

impl Chain {
    /// The chain that ends here, if it is long enough; marks its inner instructions.
    fn find(
        func: &Function,
        block: Block,
        root: Inst,
        uses: &Uses,
        marks: &mut SecondaryMap<Inst, bool>,
    ) -> Option<Chain> {
        let (opcode, args) = operands(func, root)?;
        if !func.dfg.value_type(args[0]).is_int() {
            return None;
        }
        let (mut inner, mut leaves) = (Vec::new(), Vec::new());
        let mut work = vec![args[1], args[0]];
        while let Some(value) = work.pop() {
            let made_by = match func.dfg.value_def(value) {
                ValueDef::Result(inst, _) if uses[value] == 1 => Some(inst),
                _ => None,
            };
            let link = made_by
                .filter(|&inst| func.layout.inst_block(inst) == Some(block))
                .and_then(|inst| Some((inst, operands(func, inst)?)));
            match link {
                Some((inst, (of, args))) if of == opcode => {
                    marks[inst] = true;
                    inner.push(inst);
                    work.extend([args[1], args[0]]);
                }
                _ => leaves.push(value),
            }
        }
        let long = leaves.len() >= FEWEST;
        long.then_some(Chain {
            root,
            inner,
            leaves,
        })
    }

    /// Orders the operands by the places where they are made: those of this block first, those that
    /// blocks before have made and may be the last of a loop's round behind them, constants last.
    /// The instructions have yet to take their places before the last one, in the order of `inner`.
    fn reorder(&mut self, func: &mut Function, block: Block, places: &SecondaryMap<Inst, u32>) {
        self.leaves
            .sort_by_key(|&value| order(func, block, value, places));
        let mut leaves = self.leaves.iter().copied();
        let Some(mut sum) = leaves.next() else {
            return;
        };
        let insts = self.inner.iter().copied().chain([self.root]);
        for (inst, leaf) in insts.zip(leaves) {
            if let InstructionData::Binary { args, .. } = &mut func.dfg.insts[inst] {
                *args = [sum, leaf];
            }
            sum = func.dfg.first_result(inst);
        }
    }
}

/// The place of an operand in the order.
fn order(
    func: &Function,
    block: Block,
    value: Value,
    places: &SecondaryMap<Inst, u32>,
) -> (u8, u32) {
    let ValueDef::Result(inst, _) = func.dfg.value_def(value) else {
        return (1, value.as_u32());
    };
    let constant = matches!(func.dfg.insts[inst].opcode(), Opcode::Iconst);
    if constant {
        (2, value.as_u32())
    } else if func.layout.inst_block(inst) == Some(block) {
        (0, places[inst])
    } else {
        (1, value.as_u32())
    }
}
