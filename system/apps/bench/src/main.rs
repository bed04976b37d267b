//! Measures the system from inside, as any program sees it, and prints a JSON object a line.
//!
//! Each thing is measured in short bursts, in turn with the others, so that what disturbs the machine for a while
//! disturbs all alike; a figure is the median over all bursts, per operation.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod calls;
mod channels;
mod heap;
mod processes;
mod stats;
mod switching;

use core::num::NonZeroU32;
use sing_sdk::prelude::*;
use stats::{Row, Unit};

sing_sdk::manifest! {
    name: "bench",
    description: "measures the system from inside: bench [WHICH] [BURSTS]",
    privileges: [create, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
    },
}

sing_sdk::choices! {
    /// The things that are measured.
    Which: "basic" Basic, "channels" Channels
}

/// Bursts, unless the person asks for another number.
const BURSTS: NonZeroU32 = NonZeroU32::new(100).unwrap();

sing_sdk::arguments! {
    /// Everything but idle channels, or channels beside many idle ones. Basic if left out.
    which: optional Which "WHICH";
    /// Bursts of each measurement. 100 if left out.
    bursts: optional NonZeroU32 "BURSTS";
}

/// Something that can be measured: a burst of operations, and how many cycles one took.
trait Measure {
    /// Runs a burst.
    fn burst(&mut self) -> Result<f64, Error>;
}

#[sing_sdk::main]
fn main(Arguments { which, bursts }: Arguments) -> Result<(), Error> {
    let channels = which == Some(Which::Channels);
    let mut all: Vec<(Row, Box<dyn Measure>)> = Vec::new();
    if channels {
        switching::add(&mut all)?;
    } else {
        calls::add(&mut all);
        heap::add(&mut all)?;
        channels::add(&mut all)?;
        processes::add(&mut all);
    }
    // The first burst of each touches what was never touched before, and does not count.
    for (_, measure) in &mut all {
        measure.burst()?;
    }
    for _ in 0..bursts.unwrap_or(BURSTS).get() {
        for (row, measure) in &mut all {
            row.samples.push(measure.burst()?);
        }
    }
    let mut rows: Vec<Row> = all.into_iter().map(|(row, _)| row).collect();
    if channels {
        let derived = switching::derived(&rows);
        rows.extend(derived);
    } else {
        rows.push(channels::flatness(&rows));
        rows.push(processes::idle_memory()?);
        rows.push(processes::longest_wait()?);
    }
    for row in &mut rows {
        row.print();
    }
    Ok(())
}

/// Begins a row that is measured in cycles.
fn cycles(id: Option<&'static str>, name: impl Into<String>) -> Row {
    Row {
        id,
        name: name.into(),
        unit: Unit::Cycles,
        samples: Vec::new(),
    }
}

/// Cycles that each of so many operations takes.
fn timed(count: u32, mut operation: impl FnMut()) -> f64 {
    let start = sing_sdk::time::cycle_count();
    for _ in 0..count {
        operation();
    }
    (sing_sdk::time::cycle_count() - start) as f64 / f64::from(count)
}
