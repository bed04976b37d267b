//! Dependants: when a process ends, all processes that it started end with it, at any depth, and
//! detached ones go on.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use sing_sdk::inspect::{self, State};
use sing_sdk::process::{self, Child, stop};
use sing_sdk::system::{Stop, stop_by};
use sing_sdk::{thread, time};

sing_sdk::manifest! {
    name: "dependants",
    description: "tries who ends with whom",
    privileges: [create, inspect, control],
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {
    /// How many more each below makes the next one of, where it is no test but a member of a
    /// family.
    depth: optional u32 "DEPTH";
    /// What the last of them does: `wait`, `exit` its maker, or `detach` itself from it; or, not of
    /// a family that is deep, `wide` has so many children, `kill` stops the process with that
    /// number alone, `sleepers` has so many threads, and `resume` ends while it resumes a detached
    /// process of so many.
    how: optional String "HOW";
}

/// How deep a family is.
const DEPTH: u32 = 40;

/// The number of children of one of them: more than are released at a time.
const WIDTH: u32 = 300;
/// Threads of a process that is resumed: more than follow in one step.
const SLEEPERS: u32 = 2_500;
/// How long they sleep.
const AWAKE: Duration = Duration::from_secs(1);
/// Turns of the one that resumes it before that one ends.
const RESUMED: u32 = 2;
/// Bytes of their shadow stacks.
const STACK: usize = 4 << 10;
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

/// A process of many threads that sleep for a while, and then end.
fn sleepers(count: u32) -> Result<i32, Error> {
    let at = time::uptime() + AWAKE;
    let threads: Result<Vec<_>, Error> = (0..count)
        .map(|_| {
            thread::spawn_with_stack(STACK, move || {
                thread::sleep(at.saturating_sub(time::uptime()))
            })
        })
        .collect();
    for thread in threads? {
        thread.join()?;
    }
    Ok(0)
}

/// Whether the process of many threads is being resumed.
static RESUMING: AtomicBool = AtomicBool::new(false);

/// Detaches a process of many threads and suspends it; when they are all awake, resumes it, and
/// ends meanwhile: where each entry lets others run, in the middle of the resume.
fn resume(count: u32) -> Result<i32, Error> {
    let other = family(count, "sleepers")?;
    other.detach()?;
    thread::sleep(AWAKE / 2);
    other.suspend(false)?;
    thread::sleep(AWAKE);
    thread::spawn(|| {
        while !RESUMING.load(Relaxed) {
            thread::yield_now();
        }
        for _ in 0..RESUMED {
            thread::yield_now();
        }
        process::exit(0)
    })?;
    RESUMING.store(true, Relaxed);
    other.resume(false)?;
    member(0, "wait")
}

/// A process ends while it resumes another one. All threads of that one run, and it ends.
fn cut() -> Result<(), Error> {
    let end = family(SLEEPERS, "resume")?.join()?;
    println!("resumed meanwhile: {end}, {} left", settled(0)?.len());
    Ok(())
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
            thread::yield_now();
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
            thread::sleep(Duration::from_millis(20));
            return Ok(0);
        }
    }
    loop {
        thread::sleep(Duration::from_secs(60));
    }
}

/// The members that live.
fn members() -> Result<Vec<inspect::Process>, Error> {
    let me = sing_sdk::process::id();
    let mut all = inspect::processes()?;
    all.retain(|p| p.name == "dependants" && p.id != me && p.state != State::Ended);
    Ok(all)
}

/// Their numbers.
fn living() -> Result<Vec<u32>, Error> {
    Ok(members()?.iter().map(|p| p.id).collect())
}

/// Waits until this many live.
fn settled(count: usize) -> Result<Vec<u32>, Error> {
    for _ in 0..500 {
        let living = living()?;
        if living.len() == count {
            return Ok(living);
        }
        thread::sleep(Duration::from_millis(10));
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

    let essential = stop_by(4, stop::KILLED, Stop::default());
    println!("essential: {essential:?}");
    midst()?;
    cut()
}

#[sing_sdk::main]
fn main(Arguments { depth, how }: Arguments) -> Result<i32, Error> {
    match depth {
        Some(width) if how.as_deref() == Some("wide") => wide(width),
        Some(id) if how.as_deref() == Some("kill") => kill(id),
        Some(count) if how.as_deref() == Some("sleepers") => sleepers(count),
        Some(count) if how.as_deref() == Some("resume") => resume(count),
        Some(depth) => member(depth, &how.unwrap_or_default()),
        None => all().map(|()| 0),
    }
}
