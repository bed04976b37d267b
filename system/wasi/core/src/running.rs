//! A program that is merged with an adapter, as it runs: its world, from its start to its end.

use crate::Wasi;
use crate::chance::{self, Chance};
use crate::errno::{self, Errno, number};
use crate::net::system::SystemNetwork;
use crate::settings::{Preopen, Reach, Settings};
use crate::sing::{Merged, Sing, Sink, Stream};
use crate::tcp::Port;
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use sing_sdk::contracts::TcpConnectionContract;
use sing_sdk::fs::Directory;
use sing_sdk::io::{self, DebugLog, Reader, Writer};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::program::Local;

/// The world of the program that runs here.
pub type World = Wasi<Sing<Merged>>;

/// It is there from the program's start on.
static WORLD: Local<World> = Local::new();

/// Answers a call of the program's.
pub fn call(work: impl FnOnce(&mut World) -> errno::Result) -> i32 {
    WORLD.with(|world| match world {
        Some(wasi) => number(work(wasi)),
        // Its start function runs before there is a world.
        None => number(Err(Errno::Badf)),
    })
}

/// Starts the program in this world; returns when it does.
pub fn start(wasi: World) {
    WORLD.with(|world| *world = Some(wasi));
    sing_sdk::program::start();
}

/// Gives up all that the program has. What it wrote to the log is there, with or without an end of
/// its last line.
pub fn leave() {
    WORLD.with(|world| drop(world.take()));
}

/// The directories that the program is given, with their names: `named` finds one by its path, `given` are
/// those without.
///
/// # Errors
/// Which of them is not there, for a person.
pub fn directories(
    preopens: Vec<Preopen>,
    mut named: impl FnMut(&str) -> Result<Directory, Error>,
    mut given: impl Iterator<Item = DirectoryContract::Imp<DirectoryContract::Ready>>,
) -> Result<Vec<(String, Directory)>, String> {
    let mut all = Vec::new();
    for preopen in preopens {
        let wrong = |reason: Error| format!("the directory {}: {reason}", preopen.name);
        let directory = match &preopen.path {
            None => given
                .next()
                .map(Directory::from_channel)
                .ok_or(Error::NotFound),
            Some(path) => named(path),
        };
        let mut directory = directory.map_err(wrong)?;
        if !preopen.change {
            directory = directory.open_directory_to_read("").map_err(wrong)?;
        }
        all.push((preopen.name, directory));
    }
    Ok(all)
}

/// What a program starts with beside its standard input and output.
#[derive(Default)]
pub struct Given {
    /// Its words, its name first.
    pub arguments: Vec<Vec<u8>>,
    /// Its environment, each as `NAME=VALUE`.
    pub environment: Vec<Vec<u8>>,
    /// Where its random bytes come from.
    pub chance: Option<Chance>,
    /// Its directories, with their names.
    pub directories: Vec<(String, Directory)>,
}

/// A world for an ordinary program that answers: what is asked is its standard input, what it writes on standard
/// output is the answer, and what it writes on standard error goes to the log.
///
/// # Errors
/// What of it is not there, for a person.
pub fn answering(
    given: Given,
    input: Reader,
    output: impl Stream + 'static,
) -> Result<World, String> {
    let host = Sing::new(Merged, given.chance);
    let mut wasi = Wasi::new(host, given.arguments, given.environment);
    wasi.add_source(input, false).map_err(too_many)?;
    wasi.add_sink(Sink::Other(Box::new(output)), false)
        .map_err(too_many)?;
    wasi.add_sink(sink(None), false).map_err(too_many)?;
    add(&mut wasi, given.directories)?;
    Ok(wasi)
}

fn too_many(_: Errno) -> String {
    String::from("more directories than a program can have open")
}

/// Gives the program directories.
fn add(wasi: &mut World, directories: Vec<(String, Directory)>) -> Result<(), String> {
    for (name, directory) in directories {
        wasi.add_directory(directory, name.into_bytes())
            .map_err(too_many)?;
    }
    Ok(())
}

/// The network that a component has, by what it may reach and the name space that leads there.
#[must_use]
pub fn network(reach: Reach, names: Option<Rc<RefCell<Names>>>) -> Option<SystemNetwork> {
    match reach {
        Reach::Nothing => None,
        reach => Some(SystemNetwork::new(names?, reach == Reach::Some)),
    }
}

/// A world for an ordinary program: its words and environment, the process's streams, sockets that listen,
/// and directories, of which those without a path are among the `given`.
///
/// # Errors
/// What of it is not there, for a person.
pub fn ordinary(
    settings: Settings,
    mut names: Option<Names>,
    listeners: impl Iterator<Item = TcpConnectionContract::Imp<TcpConnectionContract::Listens>>,
    given: impl Iterator<Item = DirectoryContract::Imp<DirectoryContract::Ready>>,
) -> Result<World, String> {
    let directories = preopened(&mut names, settings.preopens, given)?;
    let (arguments, environment) = (bytes(settings.arguments), bytes(settings.environment));
    let names = names.map(|names| Rc::new(RefCell::new(names)));
    let mut host = Sing::new(Merged, names.clone().map(chance::named));
    host.network = network(settings.network, names);
    let mut wasi = Wasi::new(host, arguments, environment);
    let [stdin, stdout, stderr] = settings.terminals;
    wasi.add_source(io::stdin(), stdin).map_err(too_many)?;
    wasi.add_sink(sink(io::take_stdout()), stdout)
        .map_err(too_many)?;
    wasi.add_sink(sink(io::take_stderr()), stderr)
        .map_err(too_many)?;
    // As elsewhere, they have the first numbers behind the streams.
    for listens in listeners {
        let port = Port::new(listens).map_err(|e| format!("a socket that listens: {e}"))?;
        wasi.add_listener(Box::new(port)).map_err(too_many)?;
    }
    add(&mut wasi, directories)?;
    Ok(wasi)
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

/// The directories that the program is given, with their names; if nothing is said of them, the
/// usual ones.
fn preopened(
    names: &mut Option<Names>,
    preopens: Option<Vec<Preopen>>,
    given: impl Iterator<Item = DirectoryContract::Imp<DirectoryContract::Ready>>,
) -> Result<Vec<(String, Directory)>, String> {
    let Some(preopens) = preopens else {
        return Ok(names.as_mut().map(usual).unwrap_or_default());
    };
    let named = |path: &str| match names {
        Some(names) => Directory::open(names, path),
        None => Err(Error::NotFound),
    };
    directories(preopens, named, given)
}

/// The words of settings, as a program gets them.
#[must_use]
pub fn bytes(words: Vec<String>) -> Vec<Vec<u8>> {
    words.into_iter().map(String::into_bytes).collect()
}
