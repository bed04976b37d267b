//! Validity as the WebAssembly specification defines it, with the place of what is not valid.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::names;
use std::collections::BTreeSet;
use wasmparser as wp;

/// Validates a whole module. The tables that its code grows.
pub(super) fn module(wasm: &[u8], features: wp::WasmFeatures) -> Result<BTreeSet<u32>> {
    let mut grown = BTreeSet::new();
    let mut validator = wp::Validator::new_with_features(features);
    let mut parser = wp::Parser::new(0);
    parser.set_features(features);
    let mut allocations = wp::FuncValidatorAllocations::default();
    let mut bodies = Vec::new();
    for payload in parser.parse_all(wasm) {
        if let wp::ValidPayload::Func(func, body) = validator.payload(&payload?)? {
            bodies.push((func, body));
        }
    }
    // Bodies come after everything else, so that a module with two faults is refused for the broader one.
    for (func, body) in bodies {
        let mut func = func.into_validator(allocations);
        function(&mut func, &body, &mut grown).map_err(|e| in_function(e, wasm, func.index()))?;
        allocations = func.into_allocations();
    }
    Ok(grown)
}

fn function(
    func: &mut wp::FuncValidator<wp::ValidatorResources>,
    body: &wp::FunctionBody<'_>,
    grown: &mut BTreeSet<u32>,
) -> Result<()> {
    let mut reader = body.get_binary_reader();
    func.read_locals(&mut reader)?;
    let mut ops = wp::OperatorsReader::new(reader);
    while !ops.eof() {
        let offset = ops.original_position();
        let op = ops.read()?;
        func.op(offset, &op)?;
        if let wp::Operator::TableGrow { table } = op {
            grown.insert(table);
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
    Ok(())
}

/// The instruction's name, where it is one of the threads proposal that waits or wakes.
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
