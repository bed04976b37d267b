//! Modules of everything that a SIP may have, by `wasm-smith`.

use crate::numbers::Numbers;
use arbitrary::Unstructured;
use wasm_smith::{Config, Module};
use wasmparser::{Operator, Parser, Payload, RefType};

/// How often a module is made anew that cannot be asked about.
const ATTEMPTS: usize = 6;

/// With the proposals that the interpreter does not know, if `beyond`.
fn config(numbers: &mut Numbers, beyond: bool) -> Config {
    // Each byte is digested after each run.
    let bytes = numbers.of(&[1 << 16, 1 << 16, 1 << 16, 1 << 18]);
    Config {
        allow_start_export: numbers.next().is_multiple_of(4),
        // The one import is there by name; the SIP chooses its plan by the number that it returns.
        available_imports: Some(crate::sip::imports()),
        bulk_memory_enabled: true,
        canonicalize_nans: true,
        compact_imports_enabled: false,
        // Half of the modules, so that both conventions are met, as with tail calls below.
        exceptions_enabled: beyond && numbers.next().is_multiple_of(2),
        export_everything: true,
        // Seldom beside those proposals: there they leave no second engine.
        custom_page_sizes_enabled: numbers.next().is_multiple_of(if beyond { 8 } else { 2 }),
        extended_const_enabled: true,
        gc_enabled: false,
        max_data_segments: 6,
        max_element_segments: 6,
        max_funcs: numbers.of(&[2, 2, 3, 3, 5]),
        max_globals: 8,
        max_imports: 1,
        min_imports: 1,
        // Most modules are small, so that more of them are compared.
        max_instructions: numbers.of(&[8, 12, 16, 20, 24, 28, 32, 40, 60, 80, 120, 400]),
        max_memories: 3,
        max_memory32_bytes: bytes,
        max_table_elements: 200,
        max_tables: 3,
        max_memory64_bytes: bytes.into(),
        memory64_enabled: numbers.next().is_multiple_of(2),
        memory_max_size_required: true,
        min_funcs: 2,
        min_memories: u32::from(!numbers.next().is_multiple_of(4)),
        min_types: 2,
        min_tables: u32::from(numbers.next().is_multiple_of(2)),
        multi_value_enabled: true,
        reference_types_enabled: true,
        // Of operands of any kind, the interpreter makes other results; `arithmetic` chooses them.
        relaxed_simd_enabled: false,
        saturating_float_to_int_enabled: true,
        sign_extension_ops_enabled: true,
        simd_enabled: true,
        table_max_size_required: true,
        tail_call_enabled: numbers.next().is_multiple_of(2),
        threads_enabled: beyond && numbers.next().is_multiple_of(2),
        wide_arithmetic_enabled: false,
        ..Config::default()
    }
}

/// A module that ends: its functions and loops count down to a trap. It has the import that
/// [`crate::sip`] needs.
pub fn module(numbers: &mut Numbers) -> Option<Vec<u8>> {
    let beyond = numbers.next().is_multiple_of(2);
    let config = config(numbers, beyond);
    make(&config, numbers)
}

/// The same without imports, and without what the interpreter does not know.
pub fn plain(numbers: &mut Numbers) -> Option<Vec<u8>> {
    let config = Config {
        available_imports: None,
        max_imports: 0,
        min_imports: 0,
        ..config(numbers, false)
    };
    make(&config, numbers)
}

fn make(config: &Config, numbers: &mut Numbers) -> Option<Vec<u8>> {
    (0..ATTEMPTS).find_map(|_| {
        let bytes: Vec<u8> = (0..4000)
            .flat_map(|_| numbers.next().to_le_bytes())
            .collect();
        let mut module = Module::new(config.clone(), &mut Unstructured::new(&bytes)).ok()?;
        module.ensure_termination(1000).ok()?;
        asked(module.to_bytes())
    })
}

/// The module in a form that engines can be asked about; `None` if it has none:
/// - wasmi 2.0.0 aborts the process at some forms of `v128.store16_lane`.
/// - A SIP's threads share its tables, and an exception belongs to one: no table has some.
/// - A SIP's memories are not shared, and it waits in the kernel: a `notify`, which would answer
///   0, becomes an addition, which has its types.
fn asked(mut wasm: Vec<u8>) -> Option<Vec<u8>> {
    let mut notifies = Vec::new();
    for payload in Parser::new(0).parse_all(&wasm) {
        match payload.ok()? {
            Payload::MemorySection(memories) => {
                let mut memories = memories.into_iter();
                if memories.any(|m| m.is_ok_and(|m| m.shared)) {
                    return None;
                }
            }
            Payload::TableSection(tables) => {
                let exceptions = |table: wasmparser::Table<'_>| {
                    let element = table.ty.element_type.heap_type();
                    element == RefType::EXNREF.heap_type()
                };
                if tables.into_iter().any(|t| t.is_ok_and(exceptions)) {
                    return None;
                }
            }
            Payload::CodeSectionEntry(body) => {
                let mut ops = body.get_operators_reader().ok()?;
                while !ops.eof() {
                    let at = ops.original_position() as usize;
                    match ops.read().ok()? {
                        Operator::V128Store16Lane { .. }
                        | Operator::MemoryAtomicWait32 { .. }
                        | Operator::MemoryAtomicWait64 { .. } => return None,
                        Operator::MemoryAtomicNotify { .. } => notifies.push(at + 1),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    for at in notifies {
        // The second byte of the instruction.
        wasm[at] = I32_ATOMIC_RMW_ADD;
    }
    Some(wasm)
}

/// The second byte of `i32.atomic.rmw.add`.
const I32_ATOMIC_RMW_ADD: u8 = 0x1e;
