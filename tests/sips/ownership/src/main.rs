//! Random operations on blocks, trees, parked blocks, channels, endpoints in messages and sets,
//! each compared with a simple model; the counts of the whole system are compared with the model
//! from time to time. Then the same, ended at random moments: nothing may be left.
//!
//! `ownership [OPERATIONS] [SEED]`. Run as `ownership actor OPERATIONS SEED`, it is the one that
//! operates.
#![no_std]
#![no_main]

extern crate alloc;

mod blocks;
mod channels;
mod raw;

use blocks::Heap;
use channels::Channels;
use core::fmt;
use core::time::Duration;
use fastrand::Rng;
use sing_sdk::inspect::{self, Memory};
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, Exit};

sing_sdk::manifest! {
    name: "ownership",
    description: "holds the kernel's bookkeeping against a model",
    privileges: [create, inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start },
    memory: 32 MiB,
}

/// Operations between two checks of the whole system.
const INTERVAL: u64 = 1000;
/// How many actors are ended before their time.
const KILLED: u32 = 60;
/// The longest life of one of them, in microseconds.
const LIFE: u64 = 20_000;

/// The kernel's result differs from the model's.
#[derive(Debug)]
pub struct Failure {
    what: String,
    got: i64,
    wanted: i64,
}

impl Failure {
    /// The operation, its result, and the expected one.
    pub fn new(what: &str, got: impl Into<i64>, wanted: impl Into<i64>) -> Failure {
        let (got, wanted) = (got.into(), wanted.into());
        let what = what.into();
        Failure { what, got, wanted }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { what, got, wanted } = self;
        write!(f, "{what}: {got}, not {wanted}")
    }
}

/// Compares a result with the expected one.
pub fn expect(what: &str, got: i32, wanted: i32) -> Result<(), Failure> {
    if got == wanted {
        Ok(())
    } else {
        Err(Failure::new(what, got, wanted))
    }
}

/// The additional objects of the system, compared with the model's.
fn compare(before: &Memory, heap: &Heap, channels: &Channels) -> Result<(), Failure> {
    let (owned, queued) = (heap.count(), channels.count());
    let rows = |now: &Memory| {
        [
            (
                "blocks",
                now.allocations - before.allocations,
                owned.0 + queued.0,
            ),
            (
                "bytes",
                now.allocated - before.allocated,
                owned.1 + queued.1,
            ),
            ("channels", now.channels - before.channels, channels.len()),
        ]
    };
    let mut bad = None;
    for _ in 0..100 {
        let now = inspect::memory().map_err(|_| Failure::new("the system's counts", 0, 1))?;
        bad = rows(&now)
            .into_iter()
            .find(|(_, got, wanted)| got != wanted);
        if bad.is_none() {
            break;
        }
        // Another process may have a message under way.
        sing_sdk::time::sleep(Duration::from_millis(1));
    }
    match bad {
        None => Ok(()),
        Some((what, got, wanted)) => {
            Err(Failure::new(what, got.cast_signed(), wanted.cast_signed()))
        }
    }
}

/// Runs operations; returns the number until the first difference, and that.
fn act(operations: u64, seed: u64) -> Result<(), (u64, Failure)> {
    let mut rng = Rng::with_seed(seed);
    let (mut heap, mut channels) = (Heap::default(), Channels::default());
    let before = inspect::memory().map_err(|_| (0, Failure::new("the system's counts", 0, 1)))?;
    for n in 0..operations {
        let done = if rng.bool() {
            heap.step(&mut rng)
        } else {
            channels.step(&mut heap, &mut rng)
        };
        done.map_err(|e| (n, e))?;
        if n % INTERVAL == INTERVAL - 1 {
            compare(&before, &heap, &channels).map_err(|e| (n, e))?;
        }
    }
    Ok(())
}

fn actor(operations: u64, seed: u64) -> Result<Child, Error> {
    let (operations, seed) = (format!("{operations}"), format!("{seed}"));
    Child::of("ownership")
        .args(["ownership", "actor", &operations, &seed])
        .start()
        .map_err(Error::from)
}

/// Ends actors at random moments; returns how many were still running.
fn kill(rng: &mut Rng) -> Result<u32, Error> {
    let mut killed = 0;
    for _ in 0..KILLED {
        let child = actor(u64::MAX, rng.u64(..))?;
        sing_sdk::time::sleep(Duration::from_micros(rng.u64(..LIFE)));
        killed += u32::from(child.stop(1).is_ok());
        child.join()?;
    }
    Ok(killed)
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let number = |i, default| {
        sing_sdk::args::get(i)
            .and_then(|s: String| s.parse::<u64>().ok())
            .unwrap_or(default)
    };
    if sing_sdk::args::get(1).as_deref() == Some("actor") {
        return Ok(match act(number(2, 0), number(3, 0)) {
            Ok(()) => 0,
            Err((n, failure)) => {
                eprintln!("ownership: operation {n}: {failure}");
                1
            }
        });
    }
    let (operations, seed) = (number(1, 100_000), number(2, 42));
    let mut rng = Rng::with_seed(seed);
    // Once before counting, so that objects made at first use exist.
    actor(operations / 10, seed)?.join()?;
    let before = inspect::memory()?;
    let exit = actor(operations, seed)?.join()?;
    if exit != Exit::Code(0) {
        println!("ownership: seed {seed}: the actor: {exit}");
        return Ok(1);
    }
    let killed = kill(&mut rng)?;
    if let Some(left) = inspect::difference(&before, &inspect::memory()?) {
        println!("ownership: left behind: {left}");
        return Ok(1);
    }
    println!(
        "ownership: {operations} operations as the model says, {killed} killed at work, nothing left behind"
    );
    Ok(0)
}
