//! The developers' command: `cargo xtask run`, `image`, `test`, `wast`, `fuzz`, `doc`, `bench`,
//! `wasi`.
//!
//! It drives cargo and the project's own binaries and links neither compiler nor kernel, so that it
//! builds in seconds. Everything it makes lies under `target/sing`.
#![forbid(unsafe_code)]

/// Prints a line, like `println!`, which panics without a reader.
macro_rules! say {
    ($($text:tt)*) => {
        sing_files::standard::print(format!("{}\n", format_args!($($text)*)))
    };
}

/// Prints a line to standard error, like `eprintln!`, which panics without a reader.
macro_rules! complain {
    ($($text:tt)*) => {
        sing_files::standard::complain(format!("{}\n", format_args!($($text)*)))
    };
}

mod bench;
mod build;
mod cargo;
mod clang;
mod cli;
mod container;
mod disk;
mod display;
mod doc;
mod embed;
mod files;
mod fresh;
mod fuzz;
mod host_dir;
mod image;
mod iso;
mod lanes;
mod machine;
mod network;
mod packages;
mod programs;
mod progress;
mod project;
mod qemu;
mod run;
mod serial_line;
mod setup;
mod soak;
mod system;
mod test;
mod toolchain;
mod walk;
mod wasi;
mod wasi_testsuite;
mod wast;
mod web;

use std::process::ExitCode;

fn main() -> ExitCode {
    let status = match cli::parse(lexopt::Parser::from_env()) {
        Ok(command) => cli::execute(command).unwrap_or_else(|error| {
            complain!("xtask: {error:#}");
            1
        }),
        Err(error) => {
            complain!(
                "xtask: {}; `cargo xtask help` says what there is",
                cli::reason(&error)
            );
            2
        }
    };
    ExitCode::from(sing_files::standard::finish("xtask", status))
}
