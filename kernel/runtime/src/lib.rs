//! Trusted run-time: what stands between a compiled image and the kernel.
//!
//! - [`Template`]: an installed image made ready, once for all SIPs of it, in the steps of a [`Preparation`];
//! - [`Instance`]: what one SIP has of its own beside its linear memory;
//! - [`Context`], [`CtxRef`]: the context record of one thread, and how the kernel reads it;
//! - [`Table`]: a table of references;
//! - [`XTable`]: a thread's table of exchange-heap allocations, each a [`Block`];
//! - [`Charged`]: memory that a [`Payer`] pays for, which is how all of the above that a SIP causes is allocated;
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
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_macros,
        reason = "tests allocate as they like"
    )
)]

extern crate alloc;

mod block;
mod charged;
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an image is checked once"
)]
mod check;
mod context;
mod copy;
mod instance;
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "no SIP is made of an open image"
)]
#[cfg(any(test, feature = "open"))]
pub mod open;
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an image is made ready once, for all SIPs of it"
)]
mod seal;
mod table;
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an image is made ready once, for all SIPs of it"
)]
mod template;
#[cfg(test)]
mod tests;
mod xtable;

pub use block::{Block, BlockCell};
pub use charged::{Charged, HEADER, Kernel, NoRoom, Payer};
pub use context::{Context, ContextParams, CtxRef, EntryPoint};
pub use copy::SipMemory;
pub use instance::{Elements, Instance, Reference};
pub use sing_abi::trap::Trap;
pub use table::Table;
pub use template::{FuncRecord, Preparation, Template};
pub use xtable::{Entry, XTable};
