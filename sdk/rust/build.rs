//! Finds out whether a program is built with the flags that its threads need.
//!
//! Rust's `cfg(target_feature)` does not tell of `atomics` on the stable channel, and the linker's
//! arguments never; a build script sees all flags that Cargo gives the compiler for the program.
//! `lib.rs` refuses to be built without them.

use std::env;

/// The flags that must be there.
const NEEDED: [&str; 2] = ["+atomics", "--export=__stack_pointer"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    println!("cargo::rustc-check-cfg=cfg(sing_threads)");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if NEEDED.iter().all(|needed| flags.contains(needed)) {
        println!("cargo::rustc-cfg=sing_threads");
    }
}
