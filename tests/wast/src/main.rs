//! Runs scripts of the WebAssembly test suite through verifier, compiler and hosted kernel.
//!
//! `sing-wast [--memory guard|explicit|both] [-v] PATH...` runs `.wast` files, and those of
//! directories. It prints a line for each failure, then the skipped directives with the reason, and
//! last `N passed, N failed, N skipped`; it exits with 1 if anything failed.
//!
//! Each file runs once per memory mode, in a process of its own: a fault that ends a kernel costs
//! one line, not the run. Such a child ([`child`]) loads the script ([`script`]), carries out its
//! directives ([`runner`], [`world`]) on a kernel that it embeds ([`machine`], [`host`]), and
//! reports each ([`protocol`]) to the parent ([`parent`]), which adds them up.
//!
//! Beside the suite there are scripts of our own (`scripts/`), every numeric instruction on edge
//! cases (`tests/numerics`), and a generator of random modules with an interpreter's results for
//! them:
//!
//! ```text
//! cargo run --manifest-path tests/differential/Cargo.toml --target-dir target/differential -- scripts DIR 4000 1
//! sing-wast DIR
//! ```
//!
//! Invariants:
//! - A directive passes only if it was carried out and gave the expected result.
//! - It is skipped only if it needs a proposal beyond WebAssembly 2.0, by that name
//!   ([`proposals`]); everything else is a failure.

mod arguments;
mod child;
mod folded;
mod host;
mod machine;
mod parent;
mod proposals;
mod protocol;
mod runner;
mod script;
mod spectest;
mod traps;
mod values;
mod world;

use arguments::{Arguments, Usage};
use std::process::ExitCode;

fn main() -> ExitCode {
    match Arguments::parse(std::env::args_os().skip(1)) {
        Ok(Arguments::Help) => {
            println!("{}", arguments::HELP);
            ExitCode::SUCCESS
        }
        Ok(Arguments::Run {
            paths,
            modes,
            verbose,
        }) => parent::run(&paths, &modes, verbose),
        Ok(Arguments::Child { path, mode }) => child::run(&path, mode),
        Err(Usage(message)) => {
            eprintln!("sing-wast: {message}\n\n{}", arguments::HELP);
            ExitCode::from(2)
        }
    }
}
