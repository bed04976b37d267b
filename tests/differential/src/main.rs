//! Makes random modules, with the results of engines that share little or no code with ours.
//!
//! ```text
//! sing-differential make DIRECTORY COUNT SEED      SIPs, and in `expected` what each run of them must come to
//! sing-differential reduce MODULE DIRECTORY        the same of everything that is left where MODULE loses a piece
//! sing-differential keep DIRECTORY COUNT SEED      those of `make` that are worth keeping, and those there that no seed makes
//! sing-differential print MODULE                   its text
//! sing-differential scripts DIRECTORY COUNT SEED   scripts for `sing-wast`, on open linkage
//! ```
//!
//! A SIP of `make` reports its result by its exit code, a digest of all results, globals, tables
//! and memory, or by its trap; the number of its arguments selects the plan ([`sip`]). A line of
//! `expected` is a module's name, the number of arguments, and `exit CODE` or `trap CODE`, or
//! `differ` and the result of each engine, or `unknown`. A line of `figures` is a number and what it
//! counts, in all runs of all modules.
#![forbid(unsafe_code)]

mod arithmetic;
mod calls;
mod corpus;
#[cfg_attr(
    not(feature = "wasmtime"),
    allow(dead_code, reason = "wasmtime alone runs the copy that counts")
)]
mod count;
mod engines;
mod features;
mod numbers;
mod reduce;
mod scripts;
mod sip;
mod smith;
mod v8;

use anyhow::{Context, Result, bail};
use engines::Engines;
use numbers::Numbers;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: sing-differential make DIRECTORY COUNT SEED | keep DIRECTORY COUNT SEED | reduce MODULE DIRECTORY | print MODULE | \
                     scripts DIRECTORY COUNT SEED";

/// Writes modules with their expected results.
fn write(directory: &Path, modules: impl Iterator<Item = (String, Vec<u8>)>) -> Result<usize> {
    fs::create_dir_all(directory)?;
    let engines = Engines::new()?;
    let mut expected = String::new();
    let mut written = 0;
    let mut figures: BTreeMap<String, u64> = BTreeMap::new();
    for (name, wasm) in modules {
        let answer = engines.expect(&wasm);
        let Some(answer) = answer.with_context(|| format!("module {name}"))? else {
            continue;
        };
        fs::write(directory.join(format!("{name}.wasm")), &wasm)?;
        for (figure, n) in answer.figures {
            *figures.entry(figure).or_default() += n;
        }
        for line in answer.lines {
            writeln!(expected, "{name} {line}")?;
        }
        written += 1;
    }
    fs::write(directory.join("expected"), expected)?;
    let figures: String = figures.iter().map(|(f, n)| format!("{n} {f}\n")).collect();
    fs::write(directory.join("figures"), figures)?;
    Ok(written)
}

/// The module of a seed: of four, one is heavy on arithmetic, one on references to functions and
/// exceptions, the others use everything. `None` if `wasm-smith` gives none of which a SIP can be
/// made. The other generators promise modules: a fault of one is an error, as the modules that it
/// means to make would be missing unnoticed.
fn module(seed: u64) -> Result<Option<Vec<u8>>> {
    let mut numbers = Numbers(seed);
    if seed.is_multiple_of(2) {
        let plain = match seed.is_multiple_of(4) {
            true => arithmetic::module(&mut numbers),
            false => calls::module(&mut numbers),
        };
        let sip = sip::make(&plain, &mut numbers);
        return sip
            .map(Some)
            .with_context(|| format!("the generator's module of seed {seed} is none"));
    }
    let plain = smith::module(&mut numbers);
    Ok(plain.and_then(|plain| sip::make(&plain, &mut numbers).ok()))
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [what @ ("make" | "keep"), directory, count, seed] => {
            let (count, seed) = (count.parse::<u64>()?, seed.parse::<u64>()?);
            let mut made = Vec::new();
            for seed in seed..seed.wrapping_add(count) {
                made.extend(module(seed)?.map(|wasm| (format!("m{seed}"), wasm)));
            }
            if what == "keep" {
                made = corpus::select(made)?;
                made.extend(corpus::by_hand(Path::new(directory))?);
            }
            let written = write(Path::new(directory), made.into_iter())?;
            println!("{written} modules in {directory}");
        }
        ["reduce", file, directory] => {
            let wasm = fs::read(file).with_context(|| format!("cannot read {file}"))?;
            let smaller = reduce::all(&wasm)?;
            let named = smaller.into_iter().zip(0..);
            let written = write(
                Path::new(directory),
                named.map(|(wasm, i)| (format!("r{i}"), wasm)),
            )?;
            println!("{written} modules in {directory}");
        }
        ["print", file] => {
            let wasm = fs::read(file).with_context(|| format!("cannot read {file}"))?;
            println!("{}", wasmprinter::print_bytes(wasm)?);
        }
        ["scripts", directory, count, seed] => {
            let written = scripts::generate(Path::new(directory), count.parse()?, seed.parse()?)?;
            println!("{written} scripts in {directory}");
        }
        _ => bail!("{USAGE}"),
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("sing-differential: {e:#}");
            ExitCode::FAILURE
        }
    }
}
