//! Kernel objects: what handles name (processes, threads, channels, sets, events, mutexes,
//! devices), and
//! what those are built on (accounts, the exchange heap).
//!
//! A `sweep` module checks the invariants of its kind of record, for tests.

pub(crate) mod account;
pub(crate) mod calls;
pub(crate) mod channel;
pub(crate) mod crash;
pub(crate) mod device;
pub(crate) mod exheap;
pub(crate) mod handle;
pub mod host;
pub(crate) mod queue;
pub(crate) mod selection;
pub(crate) mod set;
pub(crate) mod sip;
pub(crate) mod surplus;
pub(crate) mod sweep;
pub(crate) mod sync;
pub(crate) mod thread;
pub(crate) mod window;
