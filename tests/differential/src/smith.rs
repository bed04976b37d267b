//! Modules of everything that a SIP may have, by `wasm-smith`.

use crate::numbers::Numbers;
use arbitrary::Unstructured;
use wasm_smith::{Config, Module};
use wasmparser::{Operator, Parser, Payload};

fn config(numbers: &mut Numbers) -> Config {
    Config {
        allow_start_export: numbers.next().is_multiple_of(4),
        // The one import is there by name; the SIP chooses its plan by the number that it returns.
        available_imports: Some(crate::sip::imports()),
        bulk_memory_enabled: true,
        canonicalize_nans: true,
        compact_imports_enabled: false,
        exceptions_enabled: false,
        export_everything: true,
        custom_page_sizes_enabled: numbers.next().is_multiple_of(2),
        extended_const_enabled: true,
        gc_enabled: false,
        max_data_segments: 6,
        max_element_segments: 6,
        max_funcs: 8,
        max_globals: 8,
        max_imports: 1,
        min_imports: 1,
        max_instructions: 400,
        max_memories: 3,
        max_memory32_bytes: 1 << 18,
        max_table_elements: 200,
        max_tables: 3,
        max_memory64_bytes: 1 << 18,
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
        // Half of the modules, so that both conventions are met.
        tail_call_enabled: numbers.next().is_multiple_of(2),
        threads_enabled: false,
        wide_arithmetic_enabled: false,
        ..Config::default()
    }
}

/// A module that ends: its functions and loops count down to a trap. It has the import that
/// [`crate::sip`] needs.
pub fn module(numbers: &mut Numbers) -> Option<Vec<u8>> {
    let config = config(numbers);
    make(config, numbers)
}

/// The same without imports.
pub fn plain(numbers: &mut Numbers) -> Option<Vec<u8>> {
    let config = Config {
        available_imports: None,
        max_imports: 0,
        min_imports: 0,
        ..config(numbers)
    };
    make(config, numbers)
}

fn make(config: Config, numbers: &mut Numbers) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = (0..4000)
        .flat_map(|_| numbers.next().to_le_bytes())
        .collect();
    let mut module = Module::new(config, &mut Unstructured::new(&bytes)).ok()?;
    module.ensure_termination(1000).ok()?;
    Some(module.to_bytes()).filter(|wasm| can_be_asked(wasm))
}

/// Whether the interpreter can be asked about a module: wasmi 2.0.0 aborts the process at some
/// forms of `v128.store16_lane`.
fn can_be_asked(wasm: &[u8]) -> bool {
    let bodies = Parser::new(0).parse_all(wasm).filter_map(|p| match p {
        Ok(Payload::CodeSectionEntry(body)) => body.get_operators_reader().ok(),
        _ => None,
    });
    bodies
        .flatten()
        .all(|op| !matches!(op, Ok(Operator::V128Store16Lane { .. })))
}
