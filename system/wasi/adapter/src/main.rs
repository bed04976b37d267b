//! The adapter: an ordinary program's WASI calls, in terms of the system's contracts.
//!
//! It is merged with a program when that is installed, and is the part of the two that the kernel
//! starts. `wasi-core` has the calls; this has their exports, and gives the program what it starts
//! with.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::fs::Directory;
use sing_sdk::io::{self, DebugLog, Writer};
use sing_sdk::names::Names;
use sing_sdk::{args, process};
use wasi_core::running::{self, World, bytes};
use wasi_core::settings::{Preopen, Settings};
use wasi_core::sing::{Merged, Sing, Sink};
use wasi_core::tcp::{self, Port};
use wasi_core::{Wasi, chance};

wasi_core::exports!(crate::end);

sing_sdk::manifest! {
    name: "wasi-adapter",
    description: "an ordinary program",
    uses: { "/dev/random0": EntropyContract },
    memory: 1 GiB,
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
    running::leave();
    tcp::linger();
    process::exit(status)
}

fn sink(pipe: Option<Writer>) -> Sink {
    pipe.map_or_else(|| Sink::Log(Box::new(DebugLog::new())), Sink::Pipe)
}

/// Where the directories of the host are mounted, and how many a program gets of what is there.
const MOUNTS: &str = "/mnt";
const MOST_MOUNTS: usize = 8;

/// The directories of a program that is started by its name: `/`, and those that are mounted at
/// [`MOUNTS`], as nothing below `/` leads to them.
fn usual(names: &mut Names) -> Vec<(String, Directory)> {
    let mounts = names.list(MOUNTS).unwrap_or_default();
    let mounts = mounts.into_iter().take(MOST_MOUNTS).map(|found| found.path);
    let mut all = Vec::new();
    for path in core::iter::once(String::from("/")).chain(mounts) {
        if let Ok(directory) = Directory::open(names, &path) {
            all.push((path, directory));
        }
    }
    all
}

/// The directories that the program is given, with their names.
fn directories(
    names: &mut Option<Names>,
    preopens: Option<Vec<Preopen>>,
) -> Result<Vec<(String, Directory)>, String> {
    let Some(preopens) = preopens else {
        return Ok(names.as_mut().map(usual).unwrap_or_default());
    };
    let named = |path: &str| match names {
        Some(names) => Directory::open(names, path),
        None => Err(Error::NotFound),
    };
    running::directories(preopens, named, startup::directories())
}

/// Makes the program's world.
fn world(settings: Settings) -> Result<World, String> {
    let mut names = startup::names().and_then(|names| Names::new(names).ok());
    let directories = directories(&mut names, settings.preopens)?;
    let too_many = |_| String::from("more directories than a program can have open");
    let (arguments, environment) = (bytes(settings.arguments), bytes(settings.environment));
    let mut wasi = Wasi::new(
        Sing::new(Merged, names.map(chance::named)),
        arguments,
        environment,
    );
    let [stdin, stdout, stderr] = settings.terminals;
    wasi.add_source(io::stdin(), stdin).map_err(too_many)?;
    wasi.add_sink(sink(io::take_stdout()), stdout)
        .map_err(too_many)?;
    wasi.add_sink(sink(io::take_stderr()), stderr)
        .map_err(too_many)?;
    // As elsewhere, they have the first numbers behind the streams.
    let listeners = [
        startup::listener0(),
        startup::listener1(),
        startup::listener2(),
        startup::listener3(),
    ];
    for listens in listeners.into_iter().flatten() {
        let port = Port::new(listens).map_err(|e| format!("a socket that listens: {e}"))?;
        wasi.add_listener(Box::new(port)).map_err(too_many)?;
    }
    for (name, directory) in directories {
        wasi.add_directory(directory, name.into_bytes())
            .map_err(too_many)?;
    }
    Ok(wasi)
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
        Ok(wasi) => running::start(wasi),
        Err(reason) => {
            eprintln!("wasi: {reason}");
            return NOT_THERE;
        }
    }
    end(0)
}
