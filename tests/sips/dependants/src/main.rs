//! Dependants: when a process ends, all processes that it started end with it, at any depth, and
//! detached ones go on.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::inspect::{self, State};
use sing_sdk::process::{Child, stop};
use sing_sdk::system::{Stop, stop_by};

sing_sdk::manifest! {
    name: "dependants",
    description: "tries who ends with whom",
    privileges: [create, inspect, control],
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {
    /// How many more each below makes the next one of, where it is no test but a member of a family.
    depth: optional u32 "DEPTH";
    /// What the last of them does: `wait`, `exit` its maker, or `detach` itself from it; or, not of a family that is deep,
    /// `wide` has so many children, and `kill` stops the process with that number alone.
    how: optional String "HOW";
}

/// How deep a family is.
const DEPTH: u32 = 40;

/// The number of children of one of them: more than are released at a time.
const WIDTH: u32 = 300;
/// Turns of the others before the process that stops it alone is itself held: in some of the
/// rounds, in the middle of the stop, if each entry lets others run.
const TURNS: core::ops::Range<u32> = 16..30;

/// A parent of many.
fn wide(width: u32) -> Result<i32, Error> {
    for _ in 0..width {
        family(0, "wait")?;
    }
    member(0, "wait")
}

/// Stops a process alone, unless it has ended already.
fn kill(id: u32) -> Result<i32, Error> {
    match stop_by(id, stop::KILLED, ALONE) {
        Ok(()) | Err(Error::NotFound) => Ok(0),
        Err(e) => Err(e),
    }
}

const ALONE: Stop = Stop {
    only: true,
    force: false,
};

/// A process is stopped alone, and the process that does it cannot go on before the stopped one,
/// all its children and all handles to it have gone.
fn midst() -> Result<(), Error> {
    for turns in TURNS {
        let parent = family(WIDTH, "wide")?;
        settled(WIDTH as usize + 1)?;
        let killer = family(parent.id(), "kill")?;
        for _ in 0..turns {
            sing_sdk::thread::yield_now();
        }
        // It may have done everything.
        let _ = killer.suspend(false);
        let _ = parent.stop(stop::KILLED);
        drop(parent);
        for id in living()? {
            if id != killer.id() {
                stop_by(id, stop::KILLED, Stop::default())?;
            }
        }
        let _ = killer.resume(false);
        killer.join()?;
    }
    println!("stopped alone meanwhile: {} left", settled(0)?.len());
    Ok(())
}

/// A member of a family: makes the next one, and waits; the one before the last follows its
/// argument.
fn member(depth: u32, how: &str) -> Result<i32, Error> {
    if depth > 0 {
        let next = Child::of("dependants")
            .arg("dependants")
            .arg(&(depth - 1).to_string())
            .arg(how)
            .create()?;
        if depth == 1 && how == "detach" {
            next.detach()?;
        }
        next.start()?;
        if depth == 1 && how != "wait" {
            // Time for the last one to begin.
            sing_sdk::thread::sleep(Duration::from_millis(20));
            return Ok(0);
        }
    }
    loop {
        sing_sdk::thread::sleep(Duration::from_secs(60));
    }
}

/// Numbers of the members that live.
fn living() -> Result<Vec<u32>, Error> {
    let me = sing_sdk::process::id();
    let all = inspect::processes()?;
    Ok(all
        .iter()
        .filter(|p| p.name == "dependants" && p.id != me && p.state != State::Ended)
        .map(|p| p.id)
        .collect())
}

/// Waits until this many live.
fn settled(count: usize) -> Result<Vec<u32>, Error> {
    for _ in 0..500 {
        let living = living()?;
        if living.len() == count {
            return Ok(living);
        }
        sing_sdk::thread::sleep(Duration::from_millis(10));
    }
    living()
}

fn family(depth: u32, how: &str) -> Result<Child, Error> {
    Child::of("dependants")
        .arg("dependants")
        .arg(&depth.to_string())
        .arg(how)
        .start()
        .map_err(Error::from)
}

fn all() -> Result<(), Error> {
    let first = family(DEPTH, "wait")?;
    println!("a family of {}", settled(DEPTH as usize + 1)?.len());
    first.stop(stop::KILLED)?;
    // No time for a later end: it has ended already.
    println!(
        "stopped: {} left; the first {}",
        living()?.len(),
        first.exit()?
    );

    let first = family(1, "exit")?;
    println!("exited: {}, {} left", first.join()?, settled(0)?.len());

    let first = family(1, "detach")?;
    println!(
        "exited: {}, {} left, detached",
        first.join()?,
        settled(1)?.len()
    );
    for id in living()? {
        stop_by(id, stop::KILLED, Stop::default())?;
    }

    let first = family(2, "wait")?;
    settled(3)?;
    stop_by(first.id(), stop::KILLED, ALONE)?;
    let left = settled(2)?;
    println!("stopped alone: {} left", left.len());
    if let Some(eldest) = left.iter().min() {
        stop_by(*eldest, stop::KILLED, Stop::default())?;
    }
    println!("and then the rest: {} left", living()?.len());

    let essential = stop_by(1, stop::KILLED, Stop::default());
    println!("essential: {essential:?}");
    midst()
}

#[sing_sdk::main]
fn main(Arguments { depth, how }: Arguments) -> Result<i32, Error> {
    match depth {
        Some(width) if how.as_deref() == Some("wide") => wide(width),
        Some(id) if how.as_deref() == Some("kill") => kill(id),
        Some(depth) => member(depth, &how.unwrap_or_default()),
        None => all().map(|()| 0),
    }
}
