//! The kernels of `cargo xtask bench compute` under wasmtime: `kernels compile MODULE OUT`, then
//! `kernels run OUT NUMBER RUNS`, which prints the cycles of a run, the least and that in the
//! least disturbed stretch, and the result.
//!
//! The module is the program that the system runs. Of the system it has the clock here, and every
//! other import is a trap: a kernel needs none.

use std::process::ExitCode;
use wasmtime::{Config, Engine, Linker, Module, OptLevel, Result, Store, bail, format_err};

fn engine() -> Result<Engine> {
    let mut config = Config::new();
    config.cranelift_opt_level(OptLevel::Speed);
    // The programs' locks are real ones.
    config.wasm_threads(true);
    Engine::new(&config)
}

/// The time-stamp counter.
fn cycles() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets processes use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

fn compile(module: &str, out: &str) -> Result<()> {
    std::fs::write(out, engine()?.precompile_module(&std::fs::read(module)?)?)?;
    Ok(())
}

fn run(compiled: &str, number: u32, runs: u32) -> Result<()> {
    let engine = engine()?;
    // SAFETY: `compile` has made the file, and the caller says so by naming it.
    let module = unsafe { Module::deserialize_file(&engine, compiled)? };
    let mut linker = Linker::new(&engine);
    linker.func_wrap("sing_v1", "cycle_count", cycles)?;
    linker.define_unknown_imports_as_traps(&module)?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    let measure = instance.get_typed_func::<(u32, u32), u32>(&mut store, "measure_kernel")?;
    let at = measure.call(&mut store, (number, runs))? as usize;
    let memory = instance.get_memory(&mut store, "memory");
    let memory = memory.ok_or_else(|| format_err!("no memory"))?;
    let Some(words) = memory.data(&store).get(at..at + 24).filter(|_| at > 0) else {
        bail!("there is no kernel {number}");
    };
    let word = |i: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&words[i * 8..][..8]);
        u64::from_le_bytes(word)
    };
    println!("{} {} {:016x}", word(0), word(1), word(2));
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["compile", module, out] => compile(module, out),
        ["run", compiled, number, runs] => match (number.parse(), runs.parse()) {
            (Ok(number), Ok(runs)) => run(compiled, number, runs),
            _ => Err(format_err!("{number}, {runs}: numbers are needed")),
        },
        _ => {
            eprintln!("Usage: kernels compile MODULE OUT | kernels run OUT NUMBER RUNS");
            return ExitCode::from(64);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kernels: {error:#}");
            ExitCode::FAILURE
        }
    }
}
