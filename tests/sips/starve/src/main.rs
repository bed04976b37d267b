//! Processes take as many as they can of each kind of object of which the kernel keeps records;
//! another one must get some all the same, and afterwards the machine must have its memory back.
//! `starve GLUTTONS THING...` does so for each kind.
//!
//! With 0 gluttons, a family of processes takes all the memory that the machine grants it, and one
//! glutton of each kind runs beside a newcomer.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::contracts::PingContract;
use sing_sdk::inspect::{self, Memory};
use sing_sdk::process::{Child, Exit};
use sing_sdk::time;

sing_sdk::manifest! {
    name: "starve",
    description: "takes as much as there is of each kind of kernel object, and looks who still gets one",
    privileges: [create, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        asked: optional PingContract.Exp:Start,
    },
}

sing_sdk::arguments! {
    /// Processes that take as much as they can; 0: as many as the machine has memory for. Without a
    /// THING, it is the head of a family that has all of that.
    gluttons: one u32 "GLUTTONS";
    /// What of.
    things: many String "THING";
}

/// Pages by which the free number may differ afterwards: the kernel's heap, the shell and its
/// neighbours.
const SLACK: u64 = 4 << 20 >> 12;
/// How often to check whether the memory is back, and how long to wait in between.
const LOOKS: u32 = 400;
const MOMENT: Duration = Duration::from_millis(10);

type Asked = PingContract::Imp<PingContract::Start>;

/// Starts a program that reports how much it has got, and then waits.
fn greedy(image: &str, thing: &str) -> Result<(Child, Asked), Error> {
    let (imp, exp) = PingContract::new_channel()?;
    let child = Child::of(image)
        .args([image, thing])
        .endpoint("asked", exp)
        .start()?;
    Ok((child, imp))
}

/// Waits until it has got all that it can; returns the amount.
fn full((child, imp): (Child, Asked)) -> Result<((Child, Asked), u64), Error> {
    let (got, imp) = imp.send_ping(0).recv_pong().map_err(|_| Error::Closed)?;
    Ok(((child, imp), u64::from(got)))
}

/// Makes processes that take megabytes until no more can be made; waits until it is stopped.
fn family() -> Result<i32, Error> {
    let mut asked = startup::asked().ok_or(Error::NotFound)?;
    let mut fillers = Vec::with_capacity(256);
    while fillers.len() < fillers.capacity()
        && let Ok(filler) = greedy("filler", "all").and_then(full)
    {
        fillers.push(filler);
    }
    while let PingContract::exp::Start::Ping(_, next) = asked.recv() {
        asked = next.send_pong(fillers.len() as u32);
    }
    Ok(0)
}

fn end(all: Vec<(Child, Asked)>) -> Result<(), Error> {
    for (child, imp) in all {
        child.stop(0)?;
        drop(imp);
    }
    Ok(())
}

/// One object of this kind for a process that has none.
fn newcomer(thing: &str) -> Result<bool, Error> {
    let child = Child::of("glutton").args(["glutton", thing, "1"]).start()?;
    Ok(child.join()? == Exit::Code(0))
}

/// Pages that are free, or ready for stacks and memories of the next processes.
fn free(memory: &Memory) -> u64 {
    memory.free_pages + memory.kernel_pages - memory.record_pages
}

/// Whether the free memory comes back.
fn is_back(before: &Memory) -> Result<Option<Memory>, Error> {
    for _ in 0..LOOKS {
        let now = inspect::memory()?;
        if free(&now) + SLACK >= free(before) && now.record_pages <= before.record_pages + SLACK {
            return Ok(None);
        }
        time::sleep(MOMENT);
    }
    inspect::memory().map(Some)
}

/// Tries one kind. Returns whether all was as expected.
fn starve(gluttons: u32, thing: &str) -> Result<bool, Error> {
    let before = inspect::memory()?;
    let mut all = Vec::with_capacity(gluttons as usize + 256);
    let mut family = 0;
    if gluttons == 0 {
        let (imp, exp) = PingContract::new_channel()?;
        let head = Child::of("starve")
            .args(["starve", "0"])
            .endpoint("asked", exp)
            .start()?;
        let (head, members) = full((head, imp))?;
        all.push(head);
        family = members;
    }
    let started = (0..gluttons.max(1))
        .map(|_| greedy("glutton", thing))
        .collect::<Result<Vec<_>, _>>()?;
    let mut had = 0;
    for glutton in started {
        let (glutton, got) = full(glutton)?;
        had += got;
        all.push(glutton);
    }
    let during = inspect::memory()?;
    let served = newcomer(thing);
    end(all)?;
    let missing = is_back(&before)?;
    println!(
        "starve: {thing}: beside {family}, {} have {had} ({} KiB of records, {} KiB free), then another: {}",
        gluttons.max(1),
        during.record_pages * 4,
        during.free_pages * 4,
        match &served {
            Ok(true) => "served",
            Ok(false) => "refused",
            Err(_) => "not started",
        }
    );
    if let Some(now) = &missing {
        println!(
            "starve: {thing}: of {} free pages {} are back, and {} pages of records are left of {}",
            free(&before),
            free(now),
            now.record_pages,
            before.record_pages
        );
    }
    Ok(served.is_ok_and(|s| s) && missing.is_none() && had > 0)
}

#[sing_sdk::main]
fn main(arguments: Arguments) -> Result<i32, Error> {
    if arguments.things.is_empty() {
        return family();
    }
    let mut wrong = 0;
    for thing in &arguments.things {
        match starve(arguments.gluttons, thing) {
            Ok(true) => {}
            Ok(false) => wrong += 1,
            Err(e) => {
                println!("starve: {thing}: {e}");
                wrong += 1;
            }
        }
    }
    println!("starve: {wrong} of {} things wrong", arguments.things.len());
    Ok(i32::from(wrong > 0))
}
