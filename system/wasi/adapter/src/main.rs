//! The adapter: an ordinary program's WASI calls, in terms of the system's contracts.
//!
//! It is merged with a program when that is installed, and is the part of the two that the kernel
//! starts. `wasi-core` has the calls; this has their exports, and gives the program what it starts
//! with.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod called;

use sing_sdk::prelude::*;

use sing_sdk::names::Names;
use sing_sdk::{args, process};
use wasi_core::running::{self, World};
use wasi_core::settings::Settings;
use wasi_core::tcp;

wasi_core::exports!(crate::end);

sing_sdk::manifest! {
    name: "wasi-adapter",
    description: "an ordinary program",
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
        /// Where a host program calls it.
        calls: optional CallContract.Exp:Start,
        /// Where its random bytes come from then.
        random: optional EntropyContract.Imp:Ready,
        /// Directories for the program, named by its settings; by its arguments, if it is called.
        directories: many DirectoryContract.Imp:Ready,
    },
}

/// Status of a program that does not begin because what it is to be given is not there.
const NOT_THERE: i32 = 1;

/// Ends the program.
fn end(status: i32) -> ! {
    running::leave();
    called::end(status);
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

/// Runs the program for a call.
fn answer(calls: CallContract::Exp<CallContract::Start>) -> i32 {
    match called::world(calls, args::all()) {
        Ok(Some(wasi)) => running::start(wasi),
        Ok(None) => return 0,
        Err(reason) => {
            called::fail(&reason);
            return NOT_THERE;
        }
    }
    end(0)
}

#[sing_sdk::main]
fn main() -> i32 {
    if let Some(calls) = startup::calls() {
        return answer(calls);
    }
    let settings = match Settings::read(args::all()) {
        Ok(settings) => settings,
        Err(reason) => {
            eprintln!("wasi: {reason}");
            return process::status::USAGE;
        }
    };
    match world(settings) {
        Ok(wasi) => running::start(wasi),
        Err(reason) => {
            eprintln!("wasi: {reason}");
            return NOT_THERE;
        }
    }
    end(0)
}
