//! Measures the system from inside, as any program sees it, and prints a JSON object a line.
//!
//! The measurements run in short bursts, in turn, so that a temporary disturbance of the machine
//! affects all alike; a figure is the median over all bursts, per operation.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod calls;
mod channels;
mod direct;
mod disks;
mod heap;
mod processes;
mod stats;
mod switching;

use core::num::NonZeroU32;
use sing_sdk::prelude::*;
use stats::Row;

sing_sdk::manifest! {
    name: "bench",
    description: "measures the system from inside: bench [WHICH] [BURSTS]",
    privileges: [create, devices, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
    devices: {
        disk: optional ["/virtio/2", "/pci/01/00/1af4/1042", "/pci/01/00/1af4/1001"] {
            registers: [0], interrupt, queues: 1,
        },
    },
}

sing_sdk::choices! {
    /// The measurements.
    Which: "basic" Basic, "channels" Channels, "disk" Disk, "files" Files,
    "registers" Registers
}

/// Bursts, unless the person asks for another number.
const BURSTS: NonZeroU32 = NonZeroU32::new(100).unwrap();

sing_sdk::arguments! {
    /// Everything but idle channels and disks, channels beside many idle ones, disks with a file
    /// beside them, a file by itself, or a disk's registers.
    /// Basic if left out.
    which: optional Which "WHICH";
    /// Bursts of each measurement. 100 if left out.
    bursts: optional NonZeroU32 "BURSTS";
}

/// A measurement: runs a burst of operations, and returns the cycles of one.
trait Measure {
    /// Runs a burst.
    fn burst(&mut self) -> Result<f64, Error>;
}

#[sing_sdk::main]
fn main(Arguments { which, bursts }: Arguments) -> Result<i32, Error> {
    let which = which.unwrap_or(Which::Basic);
    let bursts = bursts.unwrap_or(BURSTS).get();
    let with_disk = match which {
        Which::Disk => Some("disk"),
        Which::Registers => Some("registers"),
        Which::Basic | Which::Channels | Which::Files => None,
    };
    if let Some(which) = with_disk
        && let Some(status) = direct::with_disk(which, bursts)?
    {
        return Ok(status);
    }
    let mut all: Vec<(Row, Box<dyn Measure>)> = Vec::new();
    match which {
        Which::Channels => switching::add(&mut all)?,
        Which::Disk => disks::add(&mut all)?,
        Which::Files => disks::add_file(&mut all)?,
        Which::Registers => direct::add_registers(&mut all)?,
        Which::Basic => {
            calls::add(&mut all);
            heap::add(&mut all)?;
            channels::add(&mut all)?;
            processes::add(&mut all);
        }
    }
    // The first burst of each touches memory for the first time, and does not count.
    for (_, measure) in &mut all {
        measure.burst()?;
    }
    for _ in 0..bursts {
        for (row, measure) in &mut all {
            row.samples.push(measure.burst()?);
        }
    }
    let mut rows: Vec<Row> = all.into_iter().map(|(row, _)| row).collect();
    match which {
        Which::Channels => {
            let derived = switching::derived(&rows);
            rows.extend(derived);
        }
        Which::Disk | Which::Files | Which::Registers => {}
        Which::Basic => {
            rows.push(channels::flatness(&rows));
            rows.extend(processes::idle_memory()?);
            rows.push(processes::longest_wait()?);
        }
    }
    for row in &mut rows {
        row.print();
    }
    Ok(0)
}

/// Begins a row of cycles.
fn cycles(id: Option<&'static str>, name: impl Into<String>) -> Row {
    Row {
        id,
        name: name.into(),
        unit: "cycles",
        samples: Vec::new(),
    }
}

/// Cycles of each of this many operations.
#[inline(always)] // What the operation keeps stays in registers, as in a loop that is written out.
fn timed(count: u32, mut operation: impl FnMut()) -> f64 {
    let start = sing_sdk::time::cycle_count();
    for _ in 0..count {
        operation();
    }
    (sing_sdk::time::cycle_count() - start) as f64 / f64::from(count)
}
