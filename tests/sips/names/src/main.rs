//! The name server's promises, beside what its clients cannot do to it (`namestorm`, `hog`): path
//! specifications, links, mounted name servers, directories of any size, and helpers that break
//! their promises.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod below;
mod finding;
mod helper;
mod hostile;
mod links;
mod root;

#[path = "../../checks.rs"]
mod checks;

use checks::{Check, Test};
use core::time::Duration;
use sing_sdk::names::{Found, Names};
use sing_sdk::prelude::*;
use sing_sdk::sync::Mutex;

sing_sdk::manifest! {
    name: "names",
    description: "tries what the name server promises",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    memory: 8 MiB,
}

sing_sdk::arguments! {
    /// find, links, helper, hostile, root, chronology; below, breach or silent with a path, silent for
    /// so many seconds if they are given; link with a path and a target; bench.
    what: one String "WHAT";
    /// What it is about.
    args: many String "PATH";
}

/// How long a background program keeps what it has, while others look at it.
const KEPT: Duration = Duration::from_millis(1500);

/// The channel to the name server with which the program has started.
static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// A further channel to the name server.
fn connected() -> Result<Names, Error> {
    let mut kept = NAMES.lock();
    let names = match kept.take() {
        Some(names) => names,
        None => Names::new(startup::names().ok_or(Error::NotFound)?)?,
    };
    Names::new(kept.insert(names).connect()?)
}

/// The paths of results, in one line.
fn paths(found: &[Found]) -> String {
    let paths: Vec<&str> = found.iter().map(|f| f.path.as_str()).collect();
    paths.join(" ")
}

/// What is found, in one line; or why nothing is.
fn found(names: &mut Names, spec: &str) -> Result<String, Error> {
    names.find(spec).map(|found| paths(&found))
}

/// Whether an answer is as it should be; says so if not.
fn is<T: PartialEq + core::fmt::Debug>(got: T, wanted: T) -> bool {
    if got != wanted {
        println!("names: {got:?} instead of {wanted:?}");
    }
    got == wanted
}

/// Waits until something holds that is to happen soon.
fn soon(mut holds: impl FnMut() -> bool) -> bool {
    for _ in 0..500 {
        if holds() {
            return true;
        }
        sing_sdk::thread::sleep(core::time::Duration::from_millis(5));
    }
    false
}

/// Nanoseconds for binding a boot file, and for a refused look-up.
fn bench() -> Result<i32, Error> {
    let mut names = connected()?;
    // Short ones, of which the best had the processor for itself.
    let rounds = 100;
    let mut time = |what: &str, step: &mut dyn FnMut(&mut Names) -> Result<(), Error>| {
        let mut best = u128::MAX;
        for _ in 0..1000 {
            let start = sing_sdk::time::uptime();
            for _ in 0..rounds {
                step(&mut names)?;
            }
            let took = sing_sdk::time::uptime() - start;
            best = best.min(took.as_nanos() / rounds);
        }
        println!("names: {what}: {best} ns");
        Ok::<_, Error>(())
    };
    time("bind of a boot file", &mut |names| {
        let (imp, exp) = FileContract::new_channel()?;
        names.bind("/boot/notes.txt", exp)?;
        drop(imp);
        Ok(())
    })?;
    time("bind of nothing", &mut |names| {
        let (_imp, exp) = FileContract::new_channel()?;
        match names.bind("/nothing/there", exp) {
            Err(Error::NotFound) => Ok(()),
            other => other,
        }
    })?;
    Ok(0)
}

#[sing_sdk::main]
fn main(Arguments { what, args }: Arguments) -> Result<i32, Error> {
    let path = args.first().map_or("/names", String::as_str);
    let run = |tests: &'static [Test]| checks::run("names", tests.iter().copied());
    Ok(match what.as_str() {
        "find" => run(finding::ALL),
        "links" => run(links::ALL),
        "helper" => run(helper::ALL),
        "hostile" => run(hostile::ALL),
        "root" => run(root::ALL),
        "below" => return below::run(path),
        "breach" => return hostile::breach(path),
        "silent" => {
            let seconds = args.get(1).and_then(|seconds| seconds.parse().ok());
            return hostile::silent(path, seconds.map_or(KEPT, Duration::from_secs));
        }
        "link" => {
            let target = args.get(1).map_or("/", String::as_str);
            return links::keep(path, target, KEPT);
        }
        "chronology" => return below::chronology(),
        "ask" => return below::client(),
        "bench" => return bench(),
        _ => 2,
    })
}
