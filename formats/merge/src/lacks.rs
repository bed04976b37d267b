//! What a module uses of WebAssembly that this system does not have, by name and all at once.

use crate::Error;
use sing_image::shown::Shown;
use wasmparser as wp;
use wp::WasmFeatures as F;

/// Parts of WebAssembly, in the words of a user. Of two that go together, the first is named.
const NAMES: [(F, &str); 19] = [
    (F::SHARED_EVERYTHING_THREADS, "shared-everything threads"),
    (F::THREADS, "threads and atomic operations"),
    (
        F::GC,
        "garbage collection (structs, arrays and their references)",
    ),
    (F::STACK_SWITCHING, "stack switching"),
    (F::EXCEPTIONS, "exceptions"),
    (F::LEGACY_EXCEPTIONS, "exceptions of the old kind"),
    (F::TAIL_CALL, "tail calls"),
    (F::MULTI_MEMORY, "several memories"),
    (F::MEMORY64, "memories with addresses of 64 bits"),
    (F::MEMORY_CONTROL, "memory control"),
    (F::CUSTOM_PAGE_SIZES, "pages of another size"),
    (F::CUSTOM_DESCRIPTORS, "custom descriptors"),
    (F::WIDE_ARITHMETIC, "wide arithmetic"),
    (F::FUNCTION_REFERENCES, "typed references to functions"),
    (F::SIMD, "vectors (SIMD)"),
    (F::RELAXED_SIMD, "relaxed vectors"),
    (F::CM_ASYNC, "asynchronous functions (WASI 0.3)"),
    (F::CM_THREADING, "threads of the component model"),
    (F::CM_ERROR_CONTEXT, "error contexts of the component model"),
];

/// Says what a module or component needs beside these features. Nothing, if it is valid with them.
///
/// # Errors
/// If it is valid with no features at all.
pub(crate) fn features(wasm: &[u8], has: F) -> Result<Vec<String>, Error> {
    let valid = |features| wp::Validator::new_with_features(features).validate_all(wasm);
    let Err(first) = valid(has) else {
        return Ok(Vec::new());
    };
    valid(F::all())?;
    let mut reasons = Vec::new();
    for feature in F::all().difference(has).iter() {
        if valid(F::all().difference(feature)).is_ok() {
            continue;
        }
        let known = NAMES.iter().find(|(known, _)| *known == feature);
        let name = known.map_or_else(
            || {
                let names = feature.iter_names().map(|(name, _)| name.to_lowercase());
                names.collect::<Vec<_>>().join(", ").replace('_', " ")
            },
            |(_, name)| (*name).to_string(),
        );
        reasons.push(format!("uses {name}, which this system does not have"));
    }
    if reasons.is_empty() {
        // Either of two features would do.
        reasons.push(format!(
            "uses what this system does not have: {} (at byte {})",
            Shown(first.message()),
            first.offset()
        ));
    }
    Ok(reasons)
}
