//! The constants of a function's code that become addresses, and the memories they are for.

use super::{Extent, Place};
use crate::error::Result;
use crate::module::Module;
use sing_image::meta::ConstExpr;
use wasmparser as wp;

/// A constant that was read, and of which the next instructions say what becomes of it.
#[derive(Clone, Copy)]
enum Open {
    Read(u64),
    /// It was added to something.
    Added(u64),
}

/// The addresses that the constants of a function may be. A constant of which nothing says which
/// memory it is for counts in each that the function accesses, or in all if it accesses none.
pub(super) fn read(
    module: &Module<'_>,
    areas: &[Extent],
    body: &wp::FunctionBody<'_>,
) -> Result<Vec<Place>> {
    if areas.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let (mut plain, mut accessed) = (Vec::new(), Vec::new());
    let mut open = None;
    for operator in body.get_operators_reader()? {
        let operator = operator?;
        let access = access(&operator);
        let mut next = None;
        if let Some(Access { memory, .. }) = access
            && accessed.last() != Some(&memory)
        {
            accessed.push(memory);
        }
        match (open.take(), access) {
            (Some(Open::Read(value)), Some(access)) if access.by_last => {
                found.push((access.memory, value.saturating_add(access.offset)));
            }
            (before, access) => {
                if let Some(access) = access.filter(|access| access.offset > 0) {
                    found.push((access.memory, access.offset));
                }
                match before {
                    Some(Open::Read(_)) if is_no_address(&operator) => {}
                    Some(Open::Read(value)) if is_sum(&operator) => next = Some(Open::Added(value)),
                    // The stack pointer, which is set back.
                    Some(Open::Added(_)) if matches!(operator, wp::Operator::GlobalSet { .. }) => {}
                    Some(Open::Read(value) | Open::Added(value)) => plain.push(value),
                    None => {}
                }
            }
        }
        open = next.or_else(|| constant(module, &operator).map(Open::Read));
    }
    if let Some(Open::Read(value) | Open::Added(value)) = open {
        plain.push(value);
    }
    accessed.sort_unstable();
    accessed.dedup();
    if accessed.is_empty() {
        accessed = areas.iter().map(|area| area.start.0).collect();
        accessed.dedup();
    }
    plain.sort_unstable();
    plain.dedup();
    for memory in accessed {
        found.extend(plain.iter().map(|value| (memory, *value)));
    }
    Ok(found)
}

/// The integer that an instruction pushes, whatever runs before.
fn constant(module: &Module<'_>, operator: &wp::Operator<'_>) -> Option<u64> {
    match *operator {
        wp::Operator::I32Const { value } => Some(value.cast_unsigned().into()),
        wp::Operator::I64Const { value } => Some(value.cast_unsigned()),
        wp::Operator::GlobalGet { global_index } => {
            let ty = module.globals.get(global_index as usize)?;
            if ty.mutable {
                return None;
            }
            module.constant(ConstExpr::Global(global_index)).ok()
        }
        _ => None,
    }
}

/// Whether the last operand of an instruction is no address.
fn is_no_address(operator: &wp::Operator<'_>) -> bool {
    use wp::Operator as O;
    matches!(
        operator,
        O::I32And
            | O::I32Xor
            | O::I32Sub
            | O::I32Mul
            | O::I32DivS
            | O::I32DivU
            | O::I32RemS
            | O::I32RemU
            | O::I32Shl
            | O::I32ShrS
            | O::I32ShrU
            | O::I32Rotl
            | O::I32Rotr
            | O::I64And
            | O::I64Xor
            | O::I64Sub
            | O::I64Mul
            | O::I64DivS
            | O::I64DivU
            | O::I64RemS
            | O::I64RemU
            | O::I64Shl
            | O::I64ShrS
            | O::I64ShrU
            | O::I64Rotl
            | O::I64Rotr
            | O::Drop
            | O::MemoryGrow { .. }
    )
}

fn is_sum(operator: &wp::Operator<'_>) -> bool {
    matches!(operator, wp::Operator::I32Add | wp::Operator::I64Add)
}

/// An access to memory.
#[derive(Clone, Copy)]
struct Access {
    memory: u32,
    offset: u64,
    /// Whether the last operand is the address.
    by_last: bool,
}

/// The access that an instruction is: all that have a field of this name are one.
macro_rules! accesses {
    (of [memarg $($name:ident)*] [$memarg:ident $($rest:ident)*] arity $(memarg)? $operands:literal -> $results:literal) => {{
        $( let _ = $rest; )*
        Some(($memarg, $operands))
    }};
    (of [$($name:ident)*] [$($rest:ident)*] $($ann:tt)*) => {{
        $( let _ = $rest; )*
        None
    }};
    ($operator:expr; $( @$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*) )*) => {
        match $operator {
            $(
                wp::Operator::$op $({ $($arg),* })? => {
                    accesses!(of [$($($arg)*)?] [$($($arg)*)?] $($ann)*)
                }
            )*
            _ => None,
        }
    };
}

/// What an instruction accesses, if it has an address of its own.
fn access(operator: &wp::Operator<'_>) -> Option<Access> {
    macro_rules! of_all {
        ($($all:tt)*) => { accesses!(operator; $($all)*) };
    }
    let found: Option<(&wp::MemArg, u32)> = wp::for_each_operator!(of_all);
    let (memarg, operands) = found?;
    let wp::MemArgTarget::Memory(memory) = memarg.target else {
        return None;
    };
    Some(Access {
        memory,
        offset: memarg.offset,
        by_last: operands == 1,
    })
}
