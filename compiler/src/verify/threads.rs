//! Whether the threads of a module have stacks of their own.
//!
//! Compilers keep what a program takes the address of on a *shadow stack* in linear memory, whose pointer is a mutable global
//! of type i32. The kernel gives each thread another value of that global, where the module exports it; where it does not, all
//! threads push onto the same stack and overwrite each other's variables, though the program is safe in its own language.
//! And a compiler that takes a module for single-threaded makes plain loads and stores of its atomic operations, and plain
//! statics of its thread-locals.
//!
//! A module that can make threads shows that in these ways:
//! - A mutable global of type i32 may be a stack pointer. So there is none, or one is exported as `__stack_pointer`, or the
//!   manifest says that no global is one (`"shadow_stack": false`), as an author of a module written by hand can.
//! - The compiler's own word on the features that it used, where the section `target_features` is there (LLVM writes one,
//!   and the linker keeps it): it must have `atomics`. Without the section nothing is known, and nothing is refused.

use super::ImportUse;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::entry;
use sing_abi::names::{EXPORT_STACK_POINTER, EXPORT_THREAD};
use sing_image::manifest::Manifest;
use sing_image::meta::ValType;
use wasmparser::BinaryReader;

/// The section in which compilers say which features they used.
const SECTION_FEATURES: &str = "target_features";
/// A feature that was used.
const USED: u8 = b'+';

/// The flags with which a Rust program is built.
const RUST_FLAGS: &str = "build Rust with the lines of this system's .cargo/config.toml: [target.wasm32-unknown-unknown] rustflags = \
    [\"-Ctarget-feature=+atomics\", \"-Clink-arg=--export=__stack_pointer\", \"-Clink-arg=--export-if-defined=sip_thread\"]; \
    C with -matomics -Wl,--export=__stack_pointer";

/// Tests that the threads of a module, if it can have any beside its first, do not share a stack.
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

/// The features that a compiler says it used.
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
