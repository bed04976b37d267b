//! Validation as the WebAssembly specification defines it, by `wasmparser`, with the place of an
//! error.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::names;
use crate::verify::limits;
use crate::verify::work::{FunctionWork, Work};
use std::collections::BTreeSet;
use wasmparser as wp;

/// The facts that the validation of all instructions collects.
#[derive(Default)]
pub(crate) struct Used {
    /// Tables that some `table.grow` names.
    pub(crate) grown_tables: BTreeSet<u32>,
    /// Whether there are tail calls.
    pub(crate) tail_calls: bool,
    /// Functions that may become larger in the compiler than it compiles.
    pub(crate) large: BTreeSet<u32>,
    /// Whether all functions together may ask more of the compiler than a module may.
    pub(crate) counted: bool,
    /// Whether exceptions are thrown or caught.
    pub(crate) exceptions: bool,
}

/// Validates a whole module.
pub(super) fn module(wasm: &[u8], features: wp::WasmFeatures) -> Result<Used> {
    let mut used = Used::default();
    let mut validator = wp::Validator::new_with_features(features);
    let mut parser = wp::Parser::new(0);
    parser.set_features(features);
    let mut allocations = wp::FuncValidatorAllocations::default();
    let mut bodies = Vec::new();
    for payload in parser.parse_all(wasm) {
        let payload = payload?;
        limits::part(&payload)?;
        if let wp::ValidPayload::Func(func, body) = validator.payload(&payload)? {
            bodies.push((func, body));
        }
    }
    // Bodies come after everything else, so that a module with two faults is refused for the
    // broader one.
    let mut work = Work::default();
    for (func, body) in bodies {
        let mut func = func.into_validator(allocations);
        let its = function(&mut func, &body, &mut used)
            .map_err(|e| in_function(e, wasm, func.index()))?;
        work.add(&its);
        if its.may_be_too_large() {
            used.large.insert(func.index());
        }
        allocations = func.into_allocations();
    }
    work.check()?;
    used.counted = work.may_be_too_large();
    Ok(used)
}

fn function(
    func: &mut wp::FuncValidator<wp::ValidatorResources>,
    body: &wp::FunctionBody<'_>,
    used: &mut Used,
) -> Result<FunctionWork> {
    limits::locals(func.len_locals(), body)?;
    let mut reader = body.get_binary_reader();
    func.read_locals(&mut reader)?;
    let mut work = FunctionWork::new(func, body);
    let mut ops = wp::OperatorsReader::new(reader);
    while !ops.eof() {
        let offset = ops.original_position();
        let first = (offset - body.range().start) as usize;
        let op = ops.read()?;
        let first = body.as_bytes().get(first).copied().unwrap_or(0);
        work.count(&op, first, func);
        func.op(offset, &op)?;
        match op {
            wp::Operator::TableGrow { table } => {
                used.grown_tables.insert(table);
            }
            wp::Operator::ReturnCall { .. }
            | wp::Operator::ReturnCallIndirect { .. }
            | wp::Operator::ReturnCallRef { .. } => used.tail_calls = true,
            wp::Operator::Throw { .. }
            | wp::Operator::ThrowRef
            | wp::Operator::TryTable { .. }
            | wp::Operator::Try { .. } => used.exceptions = true,
            _ => {}
        }
        if let Some(name) = waits(&op) {
            let message = format!(
                "{name} is not supported: a SIP waits in the kernel, by wait_one and wait_any on an \
                 event or mutex"
            );
            return Err(Error::new(ErrorKind::Unsupported, message).at(Place::Offset(offset)));
        }
    }
    ops.finish()?;
    let end = Place::Offset(body.range().end);
    work.check().map_err(|e| e.at(end))?;
    Ok(work)
}

/// The name of an instruction of the threads proposal that waits or wakes; `None` for any other.
fn waits(op: &wp::Operator<'_>) -> Option<&'static str> {
    match op {
        wp::Operator::MemoryAtomicWait32 { .. } => Some("memory.atomic.wait32"),
        wp::Operator::MemoryAtomicWait64 { .. } => Some("memory.atomic.wait64"),
        wp::Operator::MemoryAtomicNotify { .. } => Some("memory.atomic.notify"),
        _ => None,
    }
}

fn in_function(e: Error, wasm: &[u8], index: u32) -> Error {
    let Some(offset) = e.offset() else { return e };
    let name = names::of_function(wasm, index);
    e.at(Place::Function {
        index,
        name,
        offset,
    })
}
