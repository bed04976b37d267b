//! Processes: their creation and end, and the memory of an idle one.

use crate::stats::Row;
use crate::{Measure, cycles, timed};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::contracts::PingContract;
use sing_sdk::inspect::{self, State};
use sing_sdk::process::{Child, Exit};
use sing_sdk::{Error, thread, time};

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

/// How many processes of one image there are, and how long they may take until they wait.
const CROWD: usize = 1000;
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that waits for a message, with the other end of its channel.
type Idle = (PingContract::Imp<PingContract::Start>, Child);

fn idle() -> Result<Idle, Error> {
    let (imp, exp) = PingContract::new_channel()?;
    let child = Child::of("pong").arg("pong").endpoint("ping", exp);
    Ok((imp, child.start()?))
}

/// Waits until these processes wait; the memory of each, in KiB.
fn settled(all: &[Idle]) -> Result<Vec<f64>, Error> {
    let until = time::uptime() + PATIENCE;
    loop {
        // They run until they wait.
        thread::sleep(Duration::from_millis(5));
        let mut ids: Vec<u32> = all.iter().map(|(_, child)| child.id()).collect();
        ids.sort_unstable();
        let mut processes = inspect::processes()?;
        processes.retain(|p| ids.binary_search(&p.id).is_ok());
        if processes.len() == all.len() && processes.iter().all(|p| p.state == State::Blocked) {
            return Ok(processes.iter().map(|p| p.pages as f64 * 4.0).collect());
        }
        if time::uptime() > until {
            return Err(Error::Timeout);
        }
    }
}

/// The memory of a process that has started and waits; and what each further one of its image costs
/// the system, all in: the kernel's records, its channel and handles, and what its parent keeps.
pub fn idle_memory() -> Result<[Row; 2], Error> {
    let mut all = Vec::with_capacity(CROWD);
    all.push(idle()?);
    let first = settled(&all)?;
    // Pages of processes, and those with the kernel's records of them.
    let in_use = |memory: &inspect::Memory| memory.used_pages + memory.record_pages;
    let before = in_use(&inspect::memory()?);
    while all.len() < CROWD {
        all.push(idle()?);
    }
    settled(&all)?;
    let more = in_use(&inspect::memory()?).saturating_sub(before) * 4;
    let row = |name: &str, unit, samples| Row {
        id: Some("T7"),
        name: name.into(),
        unit,
        samples,
    };
    let each = Vec::from([more as f64 / (CROWD - 1) as f64]);
    let name = "each further one of its image, of 1,000";
    Ok([
        row("idle process", "KiB", first),
        row(name, "KiB more", each),
    ])
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
