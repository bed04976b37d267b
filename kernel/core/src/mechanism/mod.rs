//! How threads wait, run and are interrupted.

pub(crate) mod cpu;
pub mod interrupt;
pub(crate) mod sched;
pub(crate) mod timer;
pub(crate) mod wait;
pub(crate) mod watchdog;
