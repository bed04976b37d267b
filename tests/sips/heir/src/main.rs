//! Successors: what a supervised process keeps passes to the next one of its image, in the state
//! that it is in, and to nobody else; without a successor it is closed.
//!
//! Run as `heir line`, it is such a process: the first of its line takes a block from its first pipe
//! and never answers; its successors answer.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

#[path = "../../checks.rs"]
mod checks;

use checks::{Check, Test};
use core::time::Duration;
use sing_sdk::inspect;
use sing_sdk::legacy;
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, stop};
use sing_sdk::rt::{Handle, Waitable};
use sing_sdk::sync::wait_any;
use sing_sdk::thread::sleep;
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "heir",
    description: "tries what processes leave to their successors",
    privileges: [create, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        pipes: many PipeContract.Exp:Start,
    },
}

sing_sdk::arguments! {
    /// `line` for a process that is to have a successor.
    what: optional String "WHAT";
}

type Exp = PipeContract::Exp<PipeContract::Start>;
type Imp = PipeContract::Imp<PipeContract::Start>;

/// Pipes of each line: the first two are kept, the third is not.
const PIPES: u32 = 3;
/// So long a process has to do what it does at its start.
const SOON: Duration = Duration::from_millis(50);

/// A process that is to have a successor, or is one.
fn line() -> Result<i32, Error> {
    let mut pipes: Vec<Exp> = Vec::new();
    for (at, pipe) in (0..).zip(startup::pipes()) {
        if at < PIPES - 1 {
            legacy::keep(&pipe, at);
        }
        pipes.push(pipe);
    }
    if !pipes.is_empty() {
        // The block is received, and not answered.
        let _held = pipes.swap_remove(0).recv_write()?;
        sleep(Duration::from_secs(3600));
        return Ok(1);
    }
    for (tag, pipe) in legacy::take() {
        let pipe: Exp = match pipe.cast::<PipeContract::Exp<PipeContract::Written>>() {
            Ok(held) if tag == 0 => held.send_ack(),
            Ok(_) => return Ok(2),
            Err(other) => other.cast().map_err(|_| Error::BadState)?,
        };
        pipes.push(pipe);
    }
    loop {
        let handles: Vec<Handle> = pipes.iter().map(Waitable::handle).collect();
        let ready = wait_any(&handles, Timeout::FOREVER)?;
        // The test is over.
        let Ok((_, pipe)) = pipes.swap_remove(ready).recv_write() else {
            return Ok(0);
        };
        pipes.push(pipe.send_ack());
    }
}

/// A new line: its first process, started or not, and the pipes to it.
fn begin(supervised: bool) -> Result<(Child, Vec<Imp>), Error> {
    let mut child = Child::of("heir").args(["heir", "line"]);
    let mut pipes = Vec::new();
    for _ in 0..PIPES {
        let (imp, exp) = PipeContract::new_channel()?;
        child = child.endpoint("pipes", exp);
        pipes.push(imp);
    }
    let child = child.create()?;
    if supervised {
        child.supervise()?;
    }
    child.start()?;
    Ok((child, pipes))
}

fn kill(child: &Child) -> Result<(), Error> {
    child.stop(stop::KILLED)
}

/// Sends a byte and waits for the answer.
fn ask(pipe: Imp) -> Result<Imp, Error> {
    Ok(pipe.send_write(Vector::from_bytes(b"?")?).recv_ack()?)
}

/// An answer that the first one owes comes from the next one; what is not kept is closed.
fn goes_on() -> Check {
    let (child, mut pipes) = begin(true)?;
    let owed = pipes.swap_remove(0).send_write(Vector::from_bytes(b"!")?);
    let (third, second) = (pipes.swap_remove(0), pipes.swap_remove(0));
    sleep(SOON);
    // This one waits in the queue, whoever receives it.
    let queued = second.send_write(Vector::from_bytes(b"?")?);
    kill(&child)?;
    let open = !owed.is_ready() && !queued.is_ready() && third.is_ready();
    let next = child.renew()?;
    next.start()?;
    // They stay open: its end is the kill.
    let _first = owed.recv_ack()?;
    let mut pipe = queued.recv_ack()?;
    // And so on.
    let mut last = next;
    for _ in 0..10 {
        pipe = ask(pipe)?;
        kill(&last)?;
        let next = last.renew()?;
        next.start()?;
        last = next;
    }
    let _second = ask(pipe)?;
    kill(&last)?;
    Ok(open)
}

/// Without a supervisor, or if that gives up the handle, what is kept is closed.
fn is_closed() -> Check {
    let mut good = true;
    for (supervised, renewed) in [(false, false), (true, false), (true, true)] {
        let (child, pipes) = begin(supervised)?;
        sleep(SOON);
        kill(&child)?;
        good &= pipes.iter().filter(|p| !p.is_ready()).count() == if supervised { 2 } else { 0 };
        if renewed {
            // It has them, and never runs.
            drop(child.renew()?);
        }
        drop(child);
        sleep(SOON);
        good &= pipes.iter().all(|pipe| pipe.is_ready());
    }
    Ok(good)
}

/// A successor that ends before it has taken anything leaves all to the next one.
fn not_taken() -> Check {
    let (child, mut pipes) = begin(true)?;
    sleep(SOON);
    kill(&child)?;
    let second = child.renew()?;
    kill(&second)?;
    let third = second.renew()?;
    third.start()?;
    let _second = ask(pipes.swap_remove(1))?;
    kill(&third)?;
    Ok(true)
}

/// What cannot be renewed is refused.
fn refused() -> Check {
    let bad = |made: Result<Child, Error>| made.err() == Some(Error::BadState);
    let (child, _pipes) = begin(true)?;
    let runs = bad(child.renew());
    kill(&child)?;
    let late = child.supervise() == Err(Error::BadState);
    let next = child.renew()?;
    let twice = bad(child.renew());
    kill(&next)?;
    let (other, _pipes) = begin(false)?;
    kill(&other)?;
    Ok(runs && late && twice && bad(other.renew()))
}

/// After many, nothing is left behind, and the kernel's records are as they should be.
fn left_behind() -> Check {
    not_taken()?;
    is_closed()?;
    sleep(SOON);
    let before = inspect::memory()?;
    for _ in 0..5 {
        not_taken()?;
        is_closed()?;
        refused()?;
    }
    sleep(SOON);
    let after = inspect::memory()?;
    if let Some(what) = inspect::difference(&before, &after) {
        println!("heir: {what}");
        return Ok(false);
    }
    let swept = inspect::sweep()?;
    swept
        .wrong
        .iter()
        .for_each(|wrong| println!("heir: {wrong}"));
    Ok(swept.wrong.is_empty())
}

const ALL: &[Test] = &[
    ("an answer that is owed", goes_on),
    ("without a successor", is_closed),
    ("before it has taken anything", not_taken),
    ("what cannot be renewed", refused),
    ("what is left behind", left_behind),
];

#[sing_sdk::main]
fn main(Arguments { what }: Arguments) -> Result<i32, Error> {
    match what.as_deref() {
        Some("line") => line(),
        _ => Ok(checks::run("heir", ALL.iter().copied())),
    }
}
