//! Whether each thread of a module has its own stack.
//!
//! Compilers keep variables whose address is taken on a *shadow stack* in linear memory, whose
//! pointer is a mutable global of type i32. The kernel gives each thread its own value of that
//! global, if the module exports it; otherwise all threads would use the same stack and overwrite
//! each other's variables, though the program is safe in its source language. Besides, a compiler
//! that assumes a single thread turns atomic operations into plain loads and stores, and
//! thread-locals into plain statics.
//!
//! A module that can create threads must satisfy both conditions:
//! - A mutable global of type i32 may be a stack pointer. So there is none, or one is exported as
//!   `__stack_pointer`, or the manifest states that none is a stack pointer (`"shadow_stack":
//!   false`), for modules written by hand.
//! - If the section `target_features` is present (LLVM writes it, and the linker keeps it), it
//!   lists `atomics` among the features that the compiler used. Without the section nothing is
//!   known, and nothing is refused.

use super::ImportUse;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::entry;
use sing_abi::names::{EXPORT_STACK_POINTER, EXPORT_THREAD};
use sing_image::manifest::Manifest;
use sing_image::meta::ValType;
use wasmparser::BinaryReader;

/// The section in which compilers list the features they used.
const SECTION_FEATURES: &str = "target_features";
/// The prefix of a feature that was used.
const USED: u8 = b'+';

/// The remedy: flags for building Rust and C programs.
const RUST_FLAGS: &str = "build Rust with the lines of this system's .cargo/config.toml: [target.wasm32-unknown-unknown] rustflags = \
    [\"-Ctarget-feature=+atomics\", \"-Clink-arg=--export=__stack_pointer\", \"-Clink-arg=--export-if-defined=sip_thread\"]; \
    C with -matomics -Wl,--export=__stack_pointer";

/// Checks that the threads of a module do not share a stack, if it can have more than its first.
pub(super) fn check(module: &Module<'_>, manifest: &Manifest, imports: &[ImportUse]) -> Result<()> {
    let creates =
        |i: &ImportUse| matches!(i, ImportUse::Entry(e) if e.index == entry::THREAD_CREATE);
    if module.export(EXPORT_THREAD).is_none() && !imports.iter().any(creates) {
        return Ok(());
    }
    let fail = |place, message: String| Err(Error::new(ErrorKind::Export, message).at(place));
    let pointer = |g: &sing_image::meta::GlobalType| g.mutable && g.value == ValType::I32;
    if manifest.shadow_stack
        && module.export(EXPORT_STACK_POINTER).is_none()
        && module.globals.iter().any(pointer)
    {
        return fail(
            Place::Export(EXPORT_STACK_POINTER.into()),
            format!(
                "the module can make threads, but has no such export, so that all of them would share one stack in memory and \
                 overwrite each other's variables; {RUST_FLAGS}. A module written by hand, none of whose globals is a stack \
                 pointer, says \"shadow_stack\": false in its manifest"
            ),
        );
    }
    if let Some(section) = module.customs.iter().find(|c| c.name == SECTION_FEATURES)
        && !features(section.bytes)?.contains(&"atomics")
    {
        return fail(
            Place::Section(SECTION_FEATURES),
            format!(
                "the module can make threads, but its compiler took it for single-threaded (no feature atomics): its atomic \
                 operations and thread-local variables are plain ones; {RUST_FLAGS}"
            ),
        );
    }
    Ok(())
}

/// The features that the compiler used, from the section's bytes.
fn features(bytes: &[u8]) -> Result<Vec<&str>> {
    let mut reader = BinaryReader::new(bytes, 0);
    let mut used = Vec::new();
    let mut read = || -> wasmparser::Result<()> {
        for _ in 0..reader.read_var_u32()? {
            let prefix = reader.read_u8()?;
            let name = reader.read_string()?;
            if prefix == USED {
                used.push(name);
            }
        }
        Ok(())
    };
    match read() {
        Ok(()) => Ok(used),
        Err(e) => {
            let message = format!(
                "does not read: {}; leave it out or build the module again",
                e.message()
            );
            Err(Error::new(ErrorKind::Invalid, message).at(Place::Section(SECTION_FEATURES)))
        }
    }
}
