//! The shell: reads commands, starts programs as children connected by pipes, and says how they ended.
//!
//! A program gets what its manifest asks for and the shell can give, no more: pipes for its standard streams, a
//! channel to the name server. Everything that is not a matter of the shell's own state is a program.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod builtins;
mod console;
mod pipeline;
mod session;

use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "shell",
    description: "the shell: shell [--script PATH | -c COMMANDS]",
    privileges: [create],
    endpoints: {
        console: ConsoleContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
    memory: 32 MiB,
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let console = startup::console().ok_or(Error::NotFound)?;
    let names = startup::names().ok_or(Error::NotFound)?;
    let mut session = session::Session::new(console::Console::new(console)?, Names::new(names)?)?;
    let args = sing_sdk::args::rest();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [] => session.interact(),
        ["--script", path] => session.script(path),
        ["-c", commands] => session.run(commands),
        _ => session.fail(2, "usage: shell [--script PATH | -c COMMANDS]"),
    }
    Ok(session.finish())
}
