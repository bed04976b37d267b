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
use cranelift_codegen::ir::{Function, Value};

/// How often each value is used.
type Uses = SecondaryMap<Value, u32>;

/// Runs all of them over a function that Cranelift has optimized.
pub(crate) fn run(context: &mut Context) {
    let func = &mut context.func;
    let mut resolved = pointers::widen(func);
    resolved |= lift::lift(func, &context.loop_analysis);
    if !resolved {
        func.dfg.resolve_all_aliases();
    }
    // Reordered chains use each value as often as before.
    let uses = count_uses(func);
    chains::reorder(func, &uses);
    schedule::schedule(func, uses);
}

/// Counts them.
fn count_uses(func: &Function) -> Uses {
    let mut uses = Uses::new();
    uses.resize(func.dfg.num_values());
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            for &value in func.dfg.inst_args(inst) {
                uses[value] += 1;
            }
        }
        // Only the last one carries values to other blocks.
        if let Some(end) = func.layout.last_inst(block) {
            let all = func.dfg.inst_values(end);
            for value in all.skip(func.dfg.inst_args(end).len()) {
                uses[value] += 1;
            }
        }
    }
    uses
}
