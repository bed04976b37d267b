//! Measures a kernel as a SIP, and prints the cycles of a run, the least and that in the least
//! disturbed stretch, and the result.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU64, Ordering};
use sing_bench_kernels::{Measured, measure};
use sing_sdk::prelude::*;
use sing_sdk::time::cycle_count;

sing_sdk::manifest! {
    name: "kernels",
    description: "measures work of well-known crates: kernels NAME RUNS",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// The kernel.
    name: one String "NAME";
    /// How often it runs; seven times if left out.
    runs: optional NonZeroU32 "RUNS";
}

#[sing_sdk::main]
fn main(Arguments { name, runs }: Arguments) -> i32 {
    let Some(kernel) = sing_bench_kernels::find(&name) else {
        eprintln!("kernels: there is no `{name}`");
        return 64;
    };
    let Measured {
        least,
        stretch,
        result,
    } = measure(kernel, runs.map_or(7, NonZeroU32::get), cycle_count);
    println!("measured {least} {stretch} {result:016x}");
    0
}

/// What [`measure_kernel`] has measured: the cycles of a run, the least and that in a stretch, and
/// the result.
static MEASURED: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Measures the kernel of this number, for an engine that runs the module without the system: where
/// [`MEASURED`] lies, or null where there is no such kernel.
#[allow(unsafe_code)]
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
extern "C" fn measure_kernel(number: u32, runs: u32) -> *const AtomicU64 {
    let Some(kernel) = sing_bench_kernels::KERNELS.get(number as usize) else {
        return core::ptr::null();
    };
    let measured = measure(kernel, runs, cycle_count);
    let words = [measured.least, measured.stretch, measured.result];
    for (place, word) in MEASURED.iter().zip(words) {
        place.store(word, Ordering::Relaxed);
    }
    MEASURED.as_ptr()
}
