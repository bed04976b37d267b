//! Trusted run-time: what stands between a compiled image and the kernel.
//!
//! - [`Template`]: an installed image made ready, once for all SIPs of it;
//! - [`Instance`]: what one SIP has of its own beside its linear memory;
//! - [`Context`], [`CtxRef`]: the context record of one thread, and how the kernel reads it;
//! - [`Table`]: a table of references;
//! - [`XTable`]: a thread's table of exchange-heap allocations;
//! - [`SipMemory`]: a checked window on a SIP's linear memory;
//! - [`open`]: instances that share memories, tables, globals and functions, for the WebAssembly test suite.
//!
//! Invariants:
//! - An index, offset or length that comes from SIP code is checked here before it is used; what does not
//!   fit is a [`Trap`], never a panic.
//! - Whatever compiled code can reach through a context record stays where it is until the instance goes:
//!   a table that grows keeps its old elements readable.
//! - A [`Template`] refuses an image whose tables contradict each other, so that nothing after it needs to.
#![no_std]

extern crate alloc;

mod check;
mod context;
mod copy;
mod instance;
pub mod open;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod xtable;

pub use context::{Context, ContextParams, CtxRef};
pub use copy::SipMemory;
pub use instance::Instance;
pub use sing_abi::trap::Trap;
pub use table::Table;
pub use template::{FuncRecord, Template};
pub use xtable::{Entry, XTable};
