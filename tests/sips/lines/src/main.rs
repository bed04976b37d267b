//! Dies in functions that are inlined into each other. It is the one program that is built with lines
//! (`Cargo.toml` of the workspace): its crash report names them.
//!
//! The test (`tests/system/lines.test`) has the numbers of the lines that are marked here.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::hint::black_box;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "lines",
    description: "crashes in inlined functions: lines HOW",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::choices! {
    /// The way to crash.
    How: "trap" Trap, "panic" Panic, "handle" Handle
}

sing_sdk::arguments! {
    /// The way to crash.
    how: one How "HOW";
}

#[inline(always)]
fn innermost(how: How) -> u32 {
    match how {
        #[cfg(target_arch = "wasm32")]
        How::Trap => core::arch::wasm32::unreachable(), // innermost, trap
        #[cfg(not(target_arch = "wasm32"))]
        How::Trap => 0,
        How::Panic => [1, 2, 3][black_box(3)], // innermost, panic
        How::Handle => {
            sing_sdk::wrong::forge_handle(black_box(0x1234_5678)); // innermost, handle
            0
        }
    }
}

#[inline(always)]
fn middle(how: How) -> u32 {
    1 + innermost(how) // middle
}

#[inline(never)]
fn outermost(how: How) -> u32 {
    2 + black_box(middle(how)) // outermost
}

#[sing_sdk::main]
fn main(Arguments { how }: Arguments) -> i32 {
    black_box(outermost(how)); // main
    eprintln!("lines: survived");
    1
}
