//! Calls into the kernel.

use crate::stats::Row;
use crate::{Measure, cycles, timed};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hint::black_box;
use sing_sdk::Error;
use sing_sdk::time;

const CALLS: u32 = 1000;

struct Call;
struct Inlined;
struct Clock;

impl Measure for Call {
    fn burst(&mut self) -> Result<f64, Error> {
        Ok(summed(CALLS, time::cycles_per_second))
    }
}

impl Measure for Inlined {
    fn burst(&mut self) -> Result<f64, Error> {
        Ok(summed(CALLS, time::cycles_per_second_inline))
    }
}

impl Measure for Clock {
    fn burst(&mut self) -> Result<f64, Error> {
        Ok(summed(CALLS / 10, || time::uptime().as_nanos() as u64))
    }
}

/// Cycles of a call. The results are used, so that the compiler cannot omit a call.
fn summed(count: u32, call: impl Fn() -> u64) -> f64 {
    let mut sum = 0_u64;
    let took = timed(count, || sum = sum.wrapping_add(call()));
    black_box(sum);
    took
}

/// Adds the measurements of this module.
pub fn add(all: &mut Vec<(Row, Box<dyn Measure>)>) {
    all.push((
        cycles(Some("T1"), "null call into the kernel"),
        Box::new(Call),
    ));
    all.push((cycles(None, "null call, inlined"), Box::new(Inlined)));
    all.push((cycles(None, "uptime"), Box::new(Clock)));
}
