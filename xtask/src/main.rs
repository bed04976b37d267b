//! The developers' command: `cargo xtask run`, `image`, `test`, `wast`, `fuzz`, `doc`, `bench`.
//!
//! It drives cargo and the project's own binaries and links neither compiler nor kernel, so that it
//! builds in seconds. Everything it makes lies under `target/sing`.
#![forbid(unsafe_code)]

mod bench;
mod build;
mod cargo;
mod clang;
mod cli;
mod doc;
mod files;
mod fresh;
mod fuzz;
mod image;
mod iso;
mod machine;
mod packages;
mod progress;
mod project;
mod qemu;
mod run;
mod setup;
mod system;
mod test;
mod toolchain;
mod wast;

use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match cli::parse(lexopt::Parser::from_env()) {
        Ok(command) => command,
        Err(error) => {
            eprintln!(
                "xtask: {}; `cargo xtask help` says what there is",
                cli::reason(&error)
            );
            return ExitCode::from(2);
        }
    };
    match cli::execute(command) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
