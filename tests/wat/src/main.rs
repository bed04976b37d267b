//! Makes a WebAssembly module from its text: `sing-wat FROM.wat TO.wasm`.
//!
//! A program of its own, so that `cargo xtask run`, which needs none of this, does not wait for the
//! parser to be built.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [from, to] = &arguments[..] else {
        eprintln!("usage: sing-wat FROM.wat TO.wasm");
        return ExitCode::from(2);
    };
    let made = wat::parse_file(from).map_err(|e| e.to_string());
    let written = made.and_then(|module| {
        std::fs::write(to, module).map_err(|e| format!("cannot write {}: {e}", to.display()))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
