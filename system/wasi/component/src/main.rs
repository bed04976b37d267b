//! The adapter of components: the calls of WASI 0.2, and those of preview 1 for a component that was made of
//! a module for it, in terms of the system's contracts. Those of `wasi:http` are there for programs that import
//! them, whether they ask or not; what they would send is denied.
//!
//! It is merged with a component's module when that is installed, as `wasi-adapter` is with a program of
//! preview 1, and gives it the same to start with.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::names::Names;
use sing_sdk::{args, process};
use wasi_core::component::{self, Component};
use wasi_core::running::{self, World};
use wasi_core::settings::Settings;
use wasi_core::tcp;

wasi_core::component_exports!(crate::end);
wasi_core::http_exports!();

sing_sdk::manifest! {
    name: "wasi-component",
    description: "a component",
    uses: { "/dev/random0": EntropyContract },
    memory: 1 GiB,
    stack: 1000 KiB,
    endpoints: {
        stdin: optional PipeContract.Exp:Start,
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
        /// Ports at which the program listens.
        listener0: optional TcpConnectionContract.Imp:Listens,
        listener1: optional TcpConnectionContract.Imp:Listens,
        listener2: optional TcpConnectionContract.Imp:Listens,
        listener3: optional TcpConnectionContract.Imp:Listens,
        /// Directories for the program, named by its settings.
        directories: many DirectoryContract.Imp:Ready,
    },
}

/// Status of a program that does not begin because what it is to be given is not there.
const NOT_THERE: i32 = 1;

/// Ends the program.
fn end(status: i32) -> ! {
    component::running::leave();
    tcp::linger();
    process::exit(status)
}

/// Makes the program's world.
fn world(settings: Settings) -> Result<World, String> {
    let names = startup::names().and_then(|names| Names::new(names).ok());
    let listeners = [
        startup::listener0(),
        startup::listener1(),
        startup::listener2(),
        startup::listener3(),
    ];
    let listeners = listeners.into_iter().flatten();
    running::ordinary(settings, names, listeners, startup::directories())
}

#[sing_sdk::main]
fn main() -> i32 {
    let settings = match Settings::read(args::all()) {
        Ok(settings) => settings,
        Err(reason) => {
            eprintln!("wasi: {reason}");
            return process::status::USAGE;
        }
    };
    match world(settings) {
        Ok(wasi) => component::running::begin(Component::new(wasi)),
        Err(reason) => {
            eprintln!("wasi: {reason}");
            return NOT_THERE;
        }
    }
    end(component::running::run())
}
