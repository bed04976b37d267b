//! The small modules that tools put around a program: a *shim*, whose functions call through a table, so
//! that the program can be instantiated before what it calls is there; and *fix-ups*, a module that
//! fills the table.
//!
//! They are recognised by what they do, as their names are not always there.

use crate::parts::Parts;
use wasmparser as wp;

/// The table slot that each function of a shim calls, if this module is one.
pub(super) fn slots(module: &Parts<'_>) -> Option<Vec<u32>> {
    let plain = module.imports.is_empty()
        && module.memories.is_empty()
        && module.start.is_none()
        && module.data.is_none()
        && module.elements.is_none()
        && module.tables.as_ref().is_some_and(|t| t.count() == 1);
    if !plain {
        return None;
    }
    let bodies = module.bodies.iter().zip(&module.functions);
    bodies.map(|(body, ty)| slot(module, body, *ty)).collect()
}

/// The slot that a function calls with its own parameters, doing nothing else.
fn slot(module: &Parts<'_>, body: &wp::FunctionBody<'_>, ty: u32) -> Option<u32> {
    use wp::Operator as O;
    let params = u32::try_from(module.type_of(ty)?.params().len()).ok()?;
    let mut operators = body.get_operators_reader().ok()?;
    if body.get_locals_reader().ok()?.get_count() != 0 {
        return None;
    }
    for param in 0..params {
        match operators.read().ok()? {
            O::LocalGet { local_index } if local_index == param => {}
            _ => return None,
        }
    }
    let O::I32Const { value } = operators.read().ok()? else {
        return None;
    };
    match operators.read().ok()? {
        O::CallIndirect {
            type_index,
            table_index: 0,
        } if module.type_of(type_index) == module.type_of(ty) => {}
        _ => return None,
    }
    matches!(operators.read().ok()?, O::End).then_some(value.cast_unsigned())
}

/// For each slot from 0 on, the number of the imported function that fix-ups put there, if this
/// module is of that kind.
pub(super) fn filled(module: &Parts<'_>) -> Option<Vec<u32>> {
    let plain = module.bodies.is_empty()
        && module.memories.is_empty()
        && module.data.is_none()
        && module.tables.is_none()
        && module.globals.is_none();
    let elements = module.elements.clone().filter(|_| plain);
    let mut all = elements?.into_iter();
    let (Some(Ok(segment)), None) = (all.next(), all.next()) else {
        return None;
    };
    let wp::ElementKind::Active { offset_expr, .. } = segment.kind else {
        return None;
    };
    let mut offset = offset_expr.get_operators_reader();
    let Ok(wp::Operator::I32Const { value: 0 }) = offset.read() else {
        return None;
    };
    match segment.items {
        wp::ElementItems::Functions(functions) => {
            functions.into_iter().collect::<Result<_, _>>().ok()
        }
        wp::ElementItems::Expressions(..) => None,
    }
}
