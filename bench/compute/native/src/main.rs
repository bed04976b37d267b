//! `sing-bench-native KERNEL RUNS`: measures a kernel as a program of this machine, and prints the
//! cycles of a run, the least and that in the least disturbed stretch, and the result.
//! Without arguments it prints the names of the kernels.
#![deny(unsafe_code)]

use std::process::ExitCode;

/// The time-stamp counter, as the system reads it.
fn cycles() -> u64 {
    #[allow(unsafe_code)]
    // SAFETY: every x86-64 processor has the instruction, and Linux lets processes use it.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, runs] = arguments.as_slice() else {
        for kernel in sing_bench_kernels::KERNELS {
            println!("{}", kernel.name);
        }
        return ExitCode::SUCCESS;
    };
    let (Some(kernel), Ok(runs)) = (sing_bench_kernels::find(name), runs.parse()) else {
        eprintln!("sing-bench-native: KERNEL RUNS: no kernel `{name}`, or no number `{runs}`");
        return ExitCode::from(64);
    };
    let measured = sing_bench_kernels::measure(kernel, runs, cycles);
    let (least, stretch, result) = (measured.least, measured.stretch, measured.result);
    println!("{least} {stretch} {result:016x}");
    ExitCode::SUCCESS
}
