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

/// Runs all of them over a function that Cranelift has optimized.
pub(crate) fn run(context: &mut Context) {
    let func = &mut context.func;
    pointers::widen(func);
    lift::lift(func, &context.loop_analysis);
    chains::reorder(func);
    schedule::schedule(func);
}
