//! The proposals beyond WebAssembly 2.0 that a module uses, by name.

use wasmparser::{Validator, WasmFeatures as F};

/// The proposals, the rarer first: where several explain a module, the commoner name stays.
const PROPOSALS: [(F, &str); 19] = [
    (F::MULTIBYTE_ARRAY_ACCESS, "multibyte-array-access"),
    (F::ACQUIRE_RELEASE_ATOMICS, "acquire-release-atomics"),
    (F::CUSTOM_DESCRIPTORS, "custom-descriptors"),
    (F::COMPACT_IMPORTS, "compact-imports"),
    (F::MEMORY_CONTROL, "memory-control"),
    (F::STACK_SWITCHING, "stack-switching"),
    (F::SHARED_EVERYTHING_THREADS, "shared-everything-threads"),
    (F::LEGACY_EXCEPTIONS, "legacy-exceptions"),
    (F::WIDE_ARITHMETIC, "wide-arithmetic"),
    (F::CUSTOM_PAGE_SIZES, "custom-page-sizes"),
    (F::RELAXED_SIMD, "relaxed-simd"),
    (F::THREADS, "threads"),
    (F::EXCEPTIONS, "exception-handling"),
    (F::TAIL_CALL, "tail-call"),
    (F::MULTI_MEMORY, "multi-memory"),
    (F::MEMORY64, "memory64"),
    (F::EXTENDED_CONST, "extended-const"),
    (F::GC, "gc"),
    (F::FUNCTION_REFERENCES, "function-references"),
];

/// The features that modules are compiled with.
fn base() -> F {
    F::WASM2
}

fn valid(wasm: &[u8], features: F) -> bool {
    Validator::new_with_features(features)
        .validate_all(wasm)
        .is_ok()
}

/// The proposals that a module needs to be valid, joined by `+`. `None` if it needs none, and if it
/// is not valid with all of them either.
pub fn needed(wasm: &[u8]) -> Option<String> {
    let all = PROPOSALS.iter().fold(base(), |all, p| all | p.0);
    if valid(wasm, base()) || !valid(wasm, all) {
        return None;
    }
    let mut features = all;
    for (flag, _) in PROPOSALS {
        let fewer = features.difference(flag);
        if valid(wasm, fewer) {
            features = fewer;
        }
    }
    Some(names(features))
}

/// The missing proposals for which an invalid module is refused, if its fault is nothing else.
pub fn missing(wasm: &[u8]) -> Option<String> {
    let e = Validator::new_with_features(base())
        .validate_all(wasm)
        .err()?;
    e.missing_wasm_feature()
        .map(|flags| names(flags.difference(base())))
        .filter(|n| !n.is_empty())
}

fn names(features: F) -> String {
    let named = PROPOSALS
        .iter()
        .rev()
        .filter(|p| features.contains(p.0))
        .map(|p| p.1);
    named.collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(text: &str) -> Vec<u8> {
        let buffer = crate::script::buffer(text).unwrap();
        wast::parser::parse::<wast::Wat<'_>>(&buffer)
            .unwrap()
            .encode()
            .unwrap()
    }

    fn of(text: &str) -> Option<String> {
        needed(&encode(text))
    }

    #[test]
    fn proposals_are_told_apart() {
        let cases = [
            (
                "(module (func (param v128) (drop (i8x16.relaxed_swizzle (local.get 0) (local.get 0)))))",
                "relaxed-simd",
            ),
            ("(module (func return_call 0))", "tail-call"),
            ("(module (memory 0) (memory 0))", "multi-memory"),
            ("(module (memory i64 0))", "memory64"),
            ("(module (tag) (func (throw 0)))", "exception-handling"),
            ("(module (memory 1 1 shared))", "threads"),
            (
                "(module (global i32 (i32.add (i32.const 1) (i32.const 2))))",
                "extended-const",
            ),
            ("(module (memory 0 (pagesize 1)))", "custom-page-sizes"),
            ("(module (type (struct)))", "gc+function-references"),
            ("(module (func (param (ref func))))", "function-references"),
        ];
        for (text, name) in cases {
            let found = of(text).unwrap_or_default();
            assert!(
                name.split('+').any(|n| found.split('+').any(|f| f == n)),
                "{text}: {found}"
            );
        }
    }

    #[test]
    fn nothing_explains_what_is_valid_or_never_will_be() {
        assert_eq!(
            of("(module (table 1 externref) (func (result i32 i64) unreachable))"),
            None
        );
        assert_eq!(of("(module (func (result i32)))"), None);
        assert_eq!(needed(b"\0asm"), None);
        assert_eq!(missing(&encode("(module (func (result i32)))")), None);
        assert_eq!(
            missing(&encode("(module (memory i64 0) (func (result i32)))")).as_deref(),
            Some("memory64")
        );
    }
}
