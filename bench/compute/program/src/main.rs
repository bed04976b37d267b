//! Measures a kernel as a SIP, and prints the cycles of a run, the least and the median, and the
//! result.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::num::NonZeroU32;
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
        median,
        result,
    } = measure(kernel, runs.map_or(7, NonZeroU32::get), cycle_count);
    println!("measured {least} {median} {result:016x}");
    0
}
