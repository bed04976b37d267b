//! `sing-bench-serve MODULE ARGUMENT...`: wasmtime's own `serve`, for the handler that a core module
//! holds (`guest/`), which becomes a component first. The arguments are those of `wasmtime serve`.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use wasmtime_cli::commands::ServeCommand;
use wit_component::ComponentEncoder;

/// Makes a component of a module, whose sections say which interfaces it speaks.
fn component(module: &Path) -> Result<Vec<u8>> {
    let bytes =
        std::fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
    ComponentEncoder::default()
        .module(&bytes)
        .and_then(|encoder| encoder.validate(true).encode())
        .map_err(|error| anyhow::anyhow!("{}: {error:#}", module.display()))
}

fn run() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let module = arguments.next().context("which module?")?;
    let module = Path::new(&module);
    let to = module.with_extension("component.wasm");
    std::fs::write(&to, component(module)?)
        .with_context(|| format!("cannot write {}", to.display()))?;
    let rest: Vec<OsString> = arguments.collect();
    ensure!(!rest.is_empty(), "what is `wasmtime serve` told?");
    let all = [OsString::from("serve")].into_iter().chain(rest);
    let command = ServeCommand::try_parse_from(all.chain([to.into_os_string()]))?;
    command
        .execute()
        .map_err(|error| anyhow::anyhow!("wasmtime serve: {error:#}"))
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sing-bench-serve: {error:#}");
            ExitCode::FAILURE
        }
    }
}
