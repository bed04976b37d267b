//! Passes of our own over Cranelift's intermediate code, between its optimizer and its lowering.
//!
//! Invariants:
//! - Each computes what was computed before: no access to memory, trap or call is added, removed or
//!   moved.
//! - The result depends on the function alone, and the time is linear in its length, but for the
//!   operands of a chain, which are sorted.

mod chains;
mod lift;
mod pointers;
mod schedule;
#[cfg(test)]
mod tests;

use cranelift_codegen::Context;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{DataFlowGraph, Function, Inst, Value};

/// How often each value is used.
type Uses = SecondaryMap<Value, u32>;

/// Runs all of them over a function that Cranelift has optimized.
pub(crate) fn run(context: &mut Context) {
    let func = &mut context.func;
    pointers::widen(func);
    let mut uses = resolve_and_count(func);
    lift::lift(func, &context.loop_analysis, &mut uses);
    // Reordered chains use each value as often as before.
    chains::reorder(func, &uses);
    schedule::schedule(func, uses);
}

/// Puts values in the places of their aliases, and counts the uses of each.
fn resolve_and_count(func: &mut Function) -> Uses {
    let mut uses = Uses::new();
    uses.resize(func.dfg.num_values());
    let mut block = func.layout.entry_block();
    while let Some(current) = block {
        block = func.layout.next_block(current);
        let mut inst = func.layout.first_inst(current);
        while let Some(at) = inst {
            inst = func.layout.next_inst(at);
            resolve(&mut func.dfg, at, inst.is_none());
            for &value in func.dfg.inst_args(at) {
                uses[value] += 1;
            }
            // Only the last one carries values to other blocks.
            if inst.is_none() {
                let all = func.dfg.inst_values(at);
                for value in all.skip(func.dfg.inst_args(at).len()) {
                    uses[value] += 1;
                }
            }
        }
    }
    uses
}

/// The same for one instruction, which may be a block's last one. Few have aliases.
fn resolve(dfg: &mut DataFlowGraph, inst: Inst, last: bool) {
    let is_alias = |value: Value| dfg.value_is_alias(value);
    let some = match last {
        true => dfg.inst_values(inst).any(is_alias),
        false => dfg.inst_args(inst).iter().copied().any(is_alias),
    };
    if some {
        let values = dfg.inst_values(inst);
        let values: Vec<Value> = values.map(|value| dfg.resolve_aliases(value)).collect();
        dfg.overwrite_inst_values(inst, values.into_iter());
    }
}
