//! Mechanisms: waiting, scheduling and interrupting threads.

pub(crate) mod cpu;
pub mod interrupt;
pub(crate) mod sched;
pub(crate) mod timer;
pub(crate) mod wait;
pub(crate) mod watchdog;
