//! Processes: their creation and end, and the memory of an idle one.

use crate::stats::Row;
use crate::{Measure, cycles, timed};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::contracts::PingContract;
use sing_sdk::process::{Child, Exit};
use sing_sdk::{Error, inspect, thread};

const PROCESSES: u32 = 20;

struct Create;
struct Thread;

impl Measure for Create {
    fn burst(&mut self) -> Result<f64, Error> {
        let mut failed = None;
        let took = timed(PROCESSES, || {
            match Child::of("hello0").start().map(|child| child.join()) {
                Ok(Ok(Exit::Code(0))) => {}
                Ok(Ok(_)) => failed = Some(Error::BadState),
                Ok(Err(e)) => failed = Some(e),
                Err(e) => failed = Some(e.into()),
            }
        });
        failed.map_or(Ok(took), Err)
    }
}

impl Measure for Thread {
    fn burst(&mut self) -> Result<f64, Error> {
        let mut failed = None;
        let took = timed(PROCESSES, || {
            if let Err(e) = thread::spawn(|| ()).and_then(thread::JoinHandle::join) {
                failed = Some(e);
            }
        });
        failed.map_or(Ok(took), Err)
    }
}

/// Adds the measurements of this module.
pub fn add(all: &mut Vec<(Row, Box<dyn Measure>)>) {
    let name = "create, run, join and reclaim a process";
    all.push((cycles(Some("T6"), name), Box::new(Create)));
    all.push((
        cycles(None, "create, run and join a thread"),
        Box::new(Thread),
    ));
}

/// The memory of a process that has started and waits.
pub fn idle_memory() -> Result<Row, Error> {
    let (_imp, exp) = PingContract::new_channel()?;
    let child = Child::of("pong")
        .arg("pong")
        .endpoint("ping", exp)
        .start()?;
    // It runs until it waits.
    thread::sleep(Duration::from_millis(5));
    let id = child.id();
    let process = inspect::processes()?
        .into_iter()
        .find(|p| p.id == id)
        .ok_or(Error::NotFound)?;
    let samples = Vec::from([process.pages as f64 * 4.0]);
    Ok(Row {
        id: Some("T7"),
        name: "idle process".into(),
        unit: "KiB",
        samples,
    })
}

/// The longest time that an interrupt has waited for the kernel since the start.
pub fn longest_wait() -> Result<Row, Error> {
    let samples = Vec::from([inspect::memory()?.held_ns as f64 / 1e3]);
    Ok(Row {
        id: Some("T22"),
        name: "longest wait of an interrupt for the kernel".into(),
        unit: "us",
        samples,
    })
}
