//! The order of instructions within a block, between Cranelift's optimizer and its lowering.
//!
//! The optimizer leaves what has effects in the program's order, and computes the rest where it is
//! needed first. After a run of loads that means: all of them wait in registers, or on the stack, for
//! the arithmetic behind. Here arithmetic moves up to its operands where it leaves no more values
//! alive than before. Then it can take an operand from memory, too.
//!
//! Invariants:
//! - Only instructions without effects move: none that loads, stores, traps, calls or branches. So
//!   loads, stores and tests keep their order among each other.
//! - They move up only, within their block, and stay behind what makes their operands.
//! - The time is linear in the number of instructions and operands.

use super::Uses;
use cranelift_codegen::entity::{EntityRef as _, SecondaryMap};
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Value, ValueDef};
use std::sync::LazyLock;

/// Orders the instructions of a function that has been optimized, whose values are used so often.
pub(super) fn schedule(func: &mut Function, uses: Uses) {
    let mut scheduler = Scheduler::new(func, uses);
    let blocks: Vec<Block> = func.layout.blocks().collect();
    for block in blocks {
        scheduler.block(func, block);
    }
}

/// Marks the end of a list of [`Scheduler::edges`], and is no block's number.
const END: u32 = u32::MAX;

/// What is known of an instruction of a block that has been looked at.
#[derive(Clone, Copy)]
struct State {
    /// The number of the block, or [`END`] before.
    block: u32,
    /// Whether it makes a constant.
    constant: bool,
    /// Whether it has its place in the new order.
    placed: bool,
    /// Whether it may move.
    moves: bool,
    /// Operands made by instructions that have no place yet, constants aside.
    waiting: u32,
    /// Its first use in the block, in `edges`.
    users: u32,
}

/// What makes a value, as a block sees it.
enum Maker {
    /// An instruction of the block that makes a constant.
    Constant(Inst),
    /// Another instruction of the block.
    Here(Inst),
    /// The block has it as a parameter.
    Param,
    /// Another block.
    Elsewhere,
    /// The optimizer has left open what does.
    Unknown,
}

const NONE: State = State {
    block: END,
    constant: false,
    placed: false,
    moves: false,
    waiting: 0,
    users: END,
};

struct Scheduler {
    kinds: &'static [Kind],
    /// For each value the uses behind the instructions that have been placed. A value of another
    /// block counts as used without end.
    uses: Uses,
    states: SecondaryMap<Inst, State>,
    /// Users of an instruction's result, as linked lists: the user and the next edge.
    edges: Vec<(Inst, u32)>,
    /// The block's instructions as they were, and in the new order.
    insts: Vec<Inst>,
    order: Vec<Inst>,
    /// Instructions whose operands have all been made, the next one last.
    ready: Vec<Inst>,
}

/// An operation, as the scheduler sees it.
#[derive(Clone, Copy, Default)]
struct Kind {
    /// Whether it has no effects.
    computes: bool,
    /// Whether it makes a constant: there is no time at which that has to be made.
    constant: bool,
}

/// The kind of each operation, which takes many comparisons to find.
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let last = Opcode::all().iter().map(|&op| op as usize).max();
    let mut kinds = vec![Kind::default(); last.map_or(0, |last| last + 1)];
    for &op in Opcode::all() {
        kinds[op as usize] = Kind {
            computes: computes(op),
            constant: matches!(
                op,
                Opcode::Iconst | Opcode::F32const | Opcode::F64const | Opcode::Vconst
            ),
        };
    }
    kinds
});

/// Whether the operation computes values from others and does nothing else.
fn computes(op: Opcode) -> bool {
    let effects = op.can_load()
        || op.can_store()
        || op.can_trap()
        || op.other_side_effects()
        || op.is_call()
        || op.is_branch()
        || op.is_terminator()
        || op.is_return()
        // These read what an instruction without operands may have changed.
        || matches!(op, Opcode::GetPinnedReg | Opcode::GetFramePointer | Opcode::GetStackPointer);
    !effects
}

impl Scheduler {
    fn new(func: &Function, uses: Uses) -> Scheduler {
        let mut states = SecondaryMap::with_default(NONE);
        states.resize(func.dfg.num_insts());
        Scheduler {
            kinds: &KINDS,
            uses,
            states,
            edges: Vec::new(),
            insts: Vec::new(),
            order: Vec::new(),
            ready: Vec::new(),
        }
    }

    fn kind(&self, func: &Function, inst: Inst) -> Kind {
        let op = func.dfg.insts[inst].opcode() as usize;
        self.kinds.get(op).copied().unwrap_or_default()
    }

    /// Whether a value is made by an instruction of this block, and by which; constants aside.
    fn made_by(&self, func: &Function, value: Value, block: u32) -> Maker {
        match func.dfg.value_def(value) {
            ValueDef::Result(from, _) => {
                let state = &self.states[from];
                match state.block == block {
                    true if state.constant => Maker::Constant(from),
                    true => Maker::Here(from),
                    false => Maker::Elsewhere,
                }
            }
            ValueDef::Param(of, _) if of.index() as u32 == block => Maker::Param,
            ValueDef::Param(..) => Maker::Elsewhere,
            ValueDef::Union(..) => Maker::Unknown,
        }
    }

    fn block(&mut self, func: &mut Function, block: Block) {
        self.edges.clear();
        self.order.clear();
        self.insts.clear();
        let number = block.index() as u32;
        let mut moving = false;
        for inst in func.layout.block_insts(block) {
            self.insts.push(inst);
            let kind = self.kind(func, inst);
            // It computes one value from others and does nothing else.
            let moves = kind.computes
                && func.dfg.inst_results(inst).len() == 1
                && !func.dfg.inst_args(inst).is_empty();
            let state = &mut self.states[inst];
            state.block = number;
            state.constant = kind.constant;
            state.moves = moves;
            moving |= moves;
            if moves {
                self.link(func, number, inst);
            }
        }
        if !moving {
            return;
        }
        let insts = std::mem::take(&mut self.insts);
        for &inst in &insts {
            if !self.states[inst].placed {
                self.place(func, number, inst);
                self.follow(func, number);
            }
        }
        let same = insts.iter().zip(&self.order).take_while(|(a, b)| a == b);
        let same = same.count();
        for &inst in &insts[same..] {
            func.layout.remove_inst(inst);
        }
        for &inst in &self.order[same..] {
            func.layout.append_inst(inst, block);
        }
        self.insts = insts;
    }

    /// Notes for which instructions of the block this one waits.
    fn link(&mut self, func: &Function, block: u32, inst: Inst) {
        for &value in func.dfg.inst_args(inst) {
            match self.made_by(func, value, block) {
                Maker::Here(from) => {
                    self.edges.push((inst, self.states[from].users));
                    self.states[from].users = self.edges.len() as u32 - 1;
                    self.states[inst].waiting += 1;
                }
                Maker::Constant(_) | Maker::Param | Maker::Elsewhere => {}
                Maker::Unknown => self.states[inst].moves = false,
            }
        }
    }

    /// Puts an instruction next, behind the constants among its operands.
    fn place(&mut self, func: &Function, block: u32, inst: Inst) {
        let values = func.dfg.inst_args(inst);
        for &value in values {
            self.uses[value] -= 1;
            if let Maker::Constant(from) = self.made_by(func, value, block)
                && !self.states[from].placed
            {
                self.states[from].placed = true;
                self.order.push(from);
            }
        }
        // The values that a branch carries come behind its operands.
        if func.dfg.insts[inst].opcode().is_terminator() {
            for value in func.dfg.inst_values(inst).skip(values.len()) {
                self.uses[value] -= 1;
            }
        }
        self.states[inst].placed = true;
        self.order.push(inst);
        // The list has the last user first, as `ready` wants it.
        let mut edge = self.states[inst].users;
        while let Some(&(user, next)) = self.edges.get(edge as usize) {
            let state = &mut self.states[user];
            state.waiting -= 1;
            if state.waiting == 0 && state.moves && !state.placed {
                self.ready.push(user);
            }
            edge = next;
        }
    }

    /// Places what can follow.
    fn follow(&mut self, func: &Function, block: u32) {
        while let Some(inst) = self.ready.pop() {
            if self.states[inst].placed {
                continue;
            }
            if self.ends_a_value(func, block, inst) {
                self.place(func, block, inst);
            } else if let Some(user) = self.only_user(func, inst)
                && self.ends_a_value(func, block, user)
            {
                self.place(func, block, inst);
                self.place(func, block, user);
            }
        }
    }

    /// Whether a value of the block is not used behind this instruction: then its result takes that
    /// one's place.
    fn ends_a_value(&self, func: &Function, block: u32, inst: Inst) -> bool {
        let values = func.dfg.inst_args(inst);
        values.iter().any(|&value| {
            let here = values.iter().filter(|&&other| other == value).count();
            self.uses[value] as usize == here
                && match self.made_by(func, value, block) {
                    Maker::Here(from) => self.states[from].placed,
                    Maker::Param => true,
                    Maker::Constant(_) | Maker::Elsewhere | Maker::Unknown => false,
                }
        })
    }

    /// The instruction that alone uses the result of this one, and waits for nothing else.
    fn only_user(&self, func: &Function, inst: Inst) -> Option<Inst> {
        let result = func.dfg.first_result(inst);
        let (user, _) = *self.edges.get(self.states[inst].users as usize)?;
        let state = &self.states[user];
        let alone = self.uses[result] == 1 && state.waiting == 1;
        (alone && state.moves && !state.placed).then_some(user)
    }
}
