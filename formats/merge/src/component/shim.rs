//! The small modules that tools put around a program: a *shim*, whose functions call through a table, so
//! that the program can be instantiated before what it calls is there; and *fix-ups*, a module that
//! fills the table. Fix-ups, or another module that has nothing else, may start with a function of the
//! program's: so its `_initialize` runs when all that it calls is there.
//!
//! They are recognised by what they do, as their names are not always there.

use crate::parts::Parts;
use wasmparser as wp;

/// The table slot that each function of a shim calls, if this module is one. One without functions is a
/// module that has a table, for whoever imports it.
pub(super) fn slots(module: &Parts<'_>) -> Option<Vec<u32>> {
    let plain = module.imports.is_empty()
        && module.memories.is_empty()
        && module.start.is_none()
        && module.data.is_none()
        && module.elements.is_none()
        && !module.bodies.is_empty()
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

/// A function that a module imports: the name of the module, and its own.
pub(super) type Import<'a> = (&'a str, &'a str);

/// The functions that a module imports, in their order.
fn imported<'a>(module: &Parts<'a>) -> Vec<Import<'a>> {
    let functions = module
        .imports
        .iter()
        .filter(|i| crate::imports::is_function(i));
    functions.map(|i| (i.module, i.name)).collect()
}

/// The imported function with which a module starts.
pub(super) fn start<'a>(module: &Parts<'a>) -> Option<Import<'a>> {
    imported(module).get(module.start? as usize).copied()
}

/// The function with which a module starts that does nothing else, if this one is of that kind.
pub(super) fn only_starts<'a>(module: &Parts<'a>) -> Option<Import<'a>> {
    let plain = defines_nothing(module)
        && module.exports.is_empty()
        && module.elements.is_none()
        && module.imports.iter().all(crate::imports::is_function);
    start(module).filter(|_| plain)
}

/// Whether a module has neither functions nor memories, tables, globals or tags of its own, nor data.
fn defines_nothing(module: &Parts<'_>) -> bool {
    module.bodies.is_empty()
        && module.memories.is_empty()
        && module.data.is_none()
        && module.tables.is_none()
        && module.globals.is_none()
        && module.tags.is_none()
}

/// The imported table that fix-ups fill, and for each slot from 0 on, the imported function that they put
/// there, if this module is of that kind.
pub(super) fn filled<'a>(module: &Parts<'a>) -> Option<(Import<'a>, Vec<Import<'a>>)> {
    let elements = module.elements.clone();
    let mut all = elements.filter(|_| defines_nothing(module))?.into_iter();
    let (Some(Ok(segment)), None) = (all.next(), all.next()) else {
        return None;
    };
    let wp::ElementKind::Active {
        table_index,
        offset_expr,
    } = segment.kind
    else {
        return None;
    };
    let is_table = |i: &&wp::Import<'_>| matches!(i.ty, wp::TypeRef::Table(_));
    let mut tables = module.imports.iter().filter(is_table);
    let table = tables.nth(table_index.unwrap_or_default() as usize)?;
    let mut offset = offset_expr.get_operators_reader();
    let Ok(wp::Operator::I32Const { value: 0 }) = offset.read() else {
        return None;
    };
    let wp::ElementItems::Functions(functions) = segment.items else {
        return None;
    };
    let imported = imported(module);
    let filled = functions
        .into_iter()
        .map(|function| imported.get(function.ok()? as usize).copied());
    let filled: Option<Vec<_>> = filled.collect();
    Some(((table.module, table.name), filled?))
}
