//! What Cranelift is to generate code for, and how.

use crate::error::{Error, Result};
use crate::options::Cpu;
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};

/// Settings and why they are so.
const SETTINGS: &[(&str, &str)] = &[
    ("opt_level", "speed"),
    // Crash reports walk the frame pointers.
    ("preserve_frame_pointers", "true"),
    // A function that returns more than registers hold gets a hidden pointer to the rest.
    ("enable_multi_ret_implicit_sret", "true"),
    // Prologues test the stack's limit, the whole frame included.
    ("enable_probestack", "false"),
    // Code is loaded anywhere.
    ("is_pic", "true"),
    ("unwind_info", "false"),
    // Timing side channels inside one address space are a named limit; hardware domains are the answer.
    ("enable_heap_access_spectre_mitigation", "false"),
    ("enable_table_access_spectre_mitigation", "false"),
    // The IR's own verifier is for us, not for users: it would find mistakes of this translator.
    (
        "enable_verifier",
        if cfg!(any(test, debug_assertions)) {
            "true"
        } else {
            "false"
        },
    ),
];

/// The target.
pub(crate) fn build(cpu: Cpu) -> Result<OwnedTargetIsa> {
    let internal = |e: &dyn std::fmt::Display| Error::internal(format!("Cranelift settings: {e}"));
    let mut flags = settings::builder();
    for (name, value) in SETTINGS {
        flags.set(name, value).map_err(|e| internal(&e))?;
    }
    let mut builder = isa::lookup_by_name("x86_64-unknown-none-elf").map_err(|e| internal(&e))?;
    for name in cpu.settings() {
        builder.enable(&name).map_err(|e| internal(&e))?;
    }
    builder
        .finish(settings::Flags::new(flags))
        .map_err(|e| internal(&e))
}
