//! Clocks.

use crate::Wasi;
use crate::errno::{Errno, Result};
use crate::host::Host;

/// Time since 1970.
pub(crate) const REALTIME: u32 = 0;
/// Time since some moment.
pub(crate) const MONOTONIC: u32 = 1;
/// Processor times, which are not told.
const PROCESS: u32 = 2;
const THREAD: u32 = 3;

impl<H: Host> Wasi<H> {
    /// The time of a clock.
    pub(crate) fn now(&self, clock: u32) -> Result<u64> {
        match clock {
            REALTIME => Ok(self.host.realtime()),
            MONOTONIC => Ok(self.host.monotonic()),
            PROCESS | THREAD => Err(Errno::Badf),
            _ => Err(Errno::Inval),
        }
    }

    /// `clock_time_get`. All precision that there is, whatever is asked for.
    ///
    /// # Errors
    /// `Inval` for no clock, `Badf` for one that is not there, `Fault`.
    pub fn clock_time_get(&mut self, clock: u32, _precision: u64, out: u32) -> Result {
        let now = self.now(clock)?;
        self.store_u64(out, now)
    }

    /// `clock_res_get`: both clocks are read from the processor's counter, in nanoseconds.
    ///
    /// # Errors
    /// As [`Wasi::clock_time_get`].
    pub fn clock_res_get(&mut self, clock: u32, out: u32) -> Result {
        self.now(clock)?;
        self.store_u64(out, 1)
    }
}
