//! The proposals that a module uses beyond those that the compiler supports, by name.

use wasmparser::{Validator, WasmFeatures as F};

/// The proposals, the rarer first: where several explain a module, the commoner name stays.
const PROPOSALS: [(F, &str); 10] = [
    (F::MULTIBYTE_ARRAY_ACCESS, "multibyte-array-access"),
    (F::ACQUIRE_RELEASE_ATOMICS, "acquire-release-atomics"),
    (F::CUSTOM_DESCRIPTORS, "custom-descriptors"),
    (F::COMPACT_IMPORTS, "compact-imports"),
    (F::MEMORY_CONTROL, "memory-control"),
    (F::STACK_SWITCHING, "stack-switching"),
    (F::SHARED_EVERYTHING_THREADS, "shared-everything-threads"),
    (F::WIDE_ARITHMETIC, "wide-arithmetic"),
    (F::THREADS, "threads"),
    (F::GC, "gc"),
];

/// How a component begins: as a module does, in another layer.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The features that modules are compiled with.
fn base() -> F {
    sing_compiler::Features::Core.of_wasmparser()
}

fn valid(wasm: &[u8], features: F) -> bool {
    Validator::new_with_features(features)
        .validate_all(wasm)
        .is_ok()
}

/// The proposals that a module needs to be valid, joined by `+`. `None` if it needs none, and if it
/// is not valid with all of them either.
pub fn needed(wasm: &[u8]) -> Option<String> {
    if wasm.starts_with(COMPONENT) {
        return Some("component-model".into());
    }
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
    if wasm.starts_with(COMPONENT) {
        return needed(wasm);
    }
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
                "(module (func (param i64 i64) (result i64 i64) (i64.add128 (local.get 0) (local.get 1) (local.get 1) (local.get 0))))",
                "wide-arithmetic",
            ),
            ("(module (memory 1 1 shared))", "threads"),
            ("(module (type (struct)))", "gc"),
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
        for of in [needed, missing] {
            assert_eq!(of(COMPONENT).as_deref(), Some("component-model"));
        }
        assert_eq!(missing(&encode("(module (func (result i32)))")), None);
        assert_eq!(
            missing(&encode("(module (type (struct)) (func (result i32)))")).as_deref(),
            Some("gc")
        );
    }
}
