//! The target processor, and Cranelift's settings.

use crate::error::{Error, Result};
use crate::options::Cpu;
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};

/// The settings, with their reasons.
const SETTINGS: &[(&str, &str)] = &[
    ("opt_level", "speed"),
    // Crash reports walk the frame pointers.
    ("preserve_frame_pointers", "true"),
    // A function with more results than registers gets a hidden pointer to the rest.
    ("enable_multi_ret_implicit_sret", "true"),
    // Prologues check the stack limit for the whole frame, so no probes are needed.
    ("enable_probestack", "false"),
    // Code is loaded anywhere.
    ("is_pic", "true"),
    ("unwind_info", "false"),
    // Timing side channels inside one address space are a stated limitation; hardware protection
    // domains are the remedy.
    ("enable_heap_access_spectre_mitigation", "false"),
    ("enable_table_access_spectre_mitigation", "false"),
    // Cranelift's verifier of its IR would find mistakes of this translator, so it is on in tests
    // only.
    (
        "enable_verifier",
        if cfg!(any(test, debug_assertions)) {
            "true"
        } else {
            "false"
        },
    ),
];

/// Makes the target.
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
