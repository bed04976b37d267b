//! For how long the values of a function are kept: what the allocation of registers costs beside
//! the function's length.
//!
//! The allocator compares the lives of values that overlap. So its time goes with the sum of their
//! lengths: with the instructions of a function times the values that wait meanwhile.

use cranelift_codegen::entity::{EntityRef as _, SecondaryMap};
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Value, ValueDef};

/// Instructions times values of a function that counts as nothing: its time goes with its length.
pub(crate) const FEW: u64 = 1 << 20;

/// Sums up for how many instructions each value of a translated function is kept, until the sum
/// exceeds `most`. Constants count neither as values nor as instructions: they are made where they
/// are used. A function that is too short to exceed `few` counts as nothing.
pub(super) fn kept(func: &mut Function, few: u64, most: u64) -> u64 {
    let insts = (func.dfg.num_insts() + func.dfg.num_blocks()) as u64;
    if insts.saturating_mul(func.dfg.num_values() as u64) <= few {
        return 0;
    }
    func.dfg.resolve_all_aliases();
    let places = Places::of(func);
    let uses = Uses::of(func, &places);
    let mut lives = Lives::new(&places);
    let mut sum = 0;
    for value in func.dfg.values() {
        let made = match func.dfg.value_is_attached(value) {
            true => func.dfg.value_def(value),
            false => continue,
        };
        let made = match made {
            ValueDef::Param(block, _) => (block, 0),
            ValueDef::Result(inst, _) if !is_constant(func, inst) => places.of_inst[inst],
            _ => continue,
        };
        sum += lives.length(value, made, uses.of_value(value));
        if sum > most {
            break;
        }
    }
    sum
}

fn is_constant(func: &Function, inst: Inst) -> bool {
    matches!(
        func.dfg.insts[inst].opcode(),
        Opcode::Iconst | Opcode::F32const | Opcode::F64const | Opcode::Vconst
    )
}

/// A place in a block: the number of its instructions up to there, without constants.
type Place = (Block, u32);

/// The places of a function's instructions, and the branches that lead to its blocks.
struct Places {
    of_inst: SecondaryMap<Inst, Place>,
    ends: SecondaryMap<Block, u32>,
    before: SecondaryMap<Block, Vec<Block>>,
}

impl Places {
    fn of(func: &Function) -> Places {
        let mut of_inst = SecondaryMap::with_default((Block::from_u32(0), 0));
        let mut ends = SecondaryMap::new();
        let mut before: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
        let dfg = &func.dfg;
        for block in func.layout.blocks() {
            let mut place = 0;
            for inst in func.layout.block_insts(block) {
                place += u32::from(!is_constant(func, inst));
                of_inst[inst] = (block, place);
                ends[block] = place;
                let insts = &dfg.insts[inst];
                for call in insts.branch_destination(&dfg.jump_tables, &dfg.exception_tables) {
                    let from = &mut before[call.block(&dfg.value_lists)];
                    // A table may go to a block many times.
                    if from.last() != Some(&block) {
                        from.push(block);
                    }
                }
            }
        }
        Places {
            of_inst,
            ends,
            before,
        }
    }
}

/// The uses of all values, those of a value together.
struct Uses {
    places: Vec<Place>,
    /// For each value where its uses end in `places`; they begin where those of the one before end.
    ends: Vec<u32>,
}

impl Uses {
    fn of(func: &Function, places: &Places) -> Uses {
        let insts = || {
            let blocks = func.layout.blocks();
            blocks.flat_map(|block| func.layout.block_insts(block))
        };
        // The place of the next use of each value; at first, that where its uses begin.
        let mut ends = vec![0; func.dfg.num_values()];
        for value in insts().flat_map(|inst| func.dfg.inst_values(inst)) {
            ends[value.index()] += 1;
        }
        let mut all = 0;
        for end in &mut ends {
            let count = std::mem::replace(end, all);
            all += count;
        }
        let mut sorted = vec![(Block::from_u32(0), 0); all as usize];
        for inst in insts() {
            for value in func.dfg.inst_values(inst) {
                let at = &mut ends[value.index()];
                sorted[*at as usize] = places.of_inst[inst];
                *at += 1;
            }
        }
        Uses {
            places: sorted,
            ends,
        }
    }

    fn of_value(&self, value: Value) -> &[Place] {
        let end = |index: usize| self.ends.get(index).map_or(0, |&end| end as usize);
        let from = value.index().checked_sub(1).map_or(0, end);
        self.places.get(from..end(value.index())).unwrap_or(&[])
    }
}

/// Looks at one value after the other.
struct Lives<'p> {
    places: &'p Places,
    /// For each block the last value that was found at its beginning, and how far it is kept there.
    found: SecondaryMap<Block, Option<(Value, u32)>>,
    reached: Vec<Block>,
}

impl<'p> Lives<'p> {
    fn new(places: &'p Places) -> Lives<'p> {
        Lives {
            places,
            found: SecondaryMap::new(),
            reached: Vec::new(),
        }
    }

    /// For how many instructions a value is kept that is made at this place and used at these.
    fn length(&mut self, value: Value, (home, made): Place, uses: &[Place]) -> u64 {
        self.reached.clear();
        let mut until = made;
        for &(block, place) in uses {
            match block == home {
                true => until = until.max(place),
                false => self.reach(value, block, place),
            }
        }
        // From each block back to those before it, up to where the value is made.
        let places = self.places;
        let mut next = 0;
        while let Some(&block) = self.reached.get(next) {
            next += 1;
            for &from in &places.before[block] {
                let end = places.ends[from];
                match from == home {
                    true => until = end,
                    false => self.reach(value, from, end),
                }
            }
        }
        let in_block = |block: &Block| self.found[*block].map_or(0, |(_, until)| until.into());
        let elsewhere: u64 = self.reached.iter().map(in_block).sum();
        u64::from(until - made) + elsewhere
    }

    /// The value is kept in a block from its beginning up to this place.
    fn reach(&mut self, value: Value, block: Block, until: u32) {
        match &mut self.found[block] {
            Some((of, place)) if *of == value => *place = until.max(*place),
            found => {
                *found = Some((value, until));
                self.reached.push(block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::ir::{AbiParam, InstBuilder, types};
    use cranelift_codegen::isa::CallConv;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    /// A function of a parameter, with this body.
    fn function(body: impl FnOnce(&mut FunctionBuilder<'_>, Value)) -> Function {
        let mut func = Function::new();
        func.signature = cranelift_codegen::ir::Signature::new(CallConv::SystemV);
        func.signature.params.push(AbiParam::new(types::I64));
        let mut context = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut func, &mut context);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let param = b.block_params(entry)[0];
        body(&mut b, param);
        b.seal_all_blocks();
        func
    }

    /// The whole sum.
    fn whole(func: &Function) -> u64 {
        let most = (func.dfg.num_values() * (func.dfg.num_insts() + func.dfg.num_blocks())) as u64;
        kept(&mut func.clone(), most - 1, most - 1)
    }

    #[test]
    fn a_value_is_kept_up_to_its_last_use() {
        let func = function(|b, param| {
            let one = b.ins().iconst(types::I64, 1);
            let sum = b.ins().iadd(param, one);
            let product = b.ins().imul(sum, param);
            b.ins().bnot(sum);
            b.ins().return_(&[]);
            let _ = product;
        });
        // The parameter up to the second instruction, the sum from the first to the third.
        assert_eq!(whole(&func), 2 + 2);
    }

    #[test]
    fn a_value_that_a_loop_uses_is_kept_for_all_of_it() {
        let func = function(|b, param| {
            let head = b.create_block();
            let body = b.create_block();
            let end = b.create_block();
            let double = b.ins().iadd(param, param);
            b.ins().jump(head, &[]);
            b.switch_to_block(head);
            let other = b.ins().bnot(double);
            b.ins().brif(other, body, &[], end, &[]);
            b.switch_to_block(body);
            b.ins().nop();
            b.ins().nop();
            b.ins().jump(head, &[]);
            b.switch_to_block(end);
            b.ins().nop();
            b.ins().return_(&[]);
        });
        // The parameter: 1. Its double: to the jump, in the head to its end, and all of the body.
        // The condition: 1. Nothing is kept behind the loop.
        assert_eq!(whole(&func), 1 + (1 + 2 + 3) + 1);
    }

    #[test]
    fn the_sum_ends_where_it_exceeds_the_most() {
        let func = function(|b, param| {
            let values: Vec<Value> = (0..100).map(|_| b.ins().bnot(param)).collect();
            for value in values {
                b.ins().bnot(value);
            }
            b.ins().return_(&[]);
        });
        assert_eq!(whole(&func), 100 + 100 * 100);
        let some = kept(&mut func.clone(), 5000, 5000);
        assert!(some > 5000 && some <= 5000 + 100, "{some}");
        assert_eq!(kept(&mut func.clone(), u64::MAX, u64::MAX), 0);
    }
}
