//! A part that allocates nothing: smooths readings in room that is there from the start.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "meter",
    description: "smooths readings",
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

/// The last readings.
#[derive(Default)]
struct Readings {
    last: [u32; 4],
    taken: usize,
}

/// Takes a reading, and returns the mean of the last ones.
#[sing_sdk::no_alloc]
fn take(readings: &mut Readings, reading: u32) -> u32 {
    readings.last[readings.taken % 4] = reading;
    readings.taken += 1;
    let count = readings.taken.min(4);
    readings.last[..count].iter().sum::<u32>() / count as u32
}

#[sing_sdk::main]
fn main() {
    let mut readings = Readings::default();
    for reading in [12, 8, 10, 30, 12] {
        println!("{reading}: {}", take(&mut readings, reading));
    }
}
