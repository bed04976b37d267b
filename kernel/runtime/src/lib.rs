//! Trusted run-time: the layer between compiled images and the kernel.
//!
//! - [`Template`]: an installed image made ready, once for all SIPs of it, in the steps of a
//!   [`Preparation`];
//! - [`Instance`]: the state of one SIP beside its linear memory;
//! - [`Context`], [`CtxRef`]: the context record of one thread, and the kernel's access to it;
//! - [`Table`]: a table of references;
//! - [`XTable`]: a thread's table of exchange-heap allocations, each a [`Block`];
//! - [`Charged`]: memory that a [`Payer`] pays for, used for all of the above that a SIP causes;
//! - [`SipMemory`]: a checked window on a SIP's linear memory;
//! - [`open`]: instances that share memories, tables, globals and functions, for the WebAssembly
//!   test suite.
//!
//! Invariants:
//! - An index, offset or length that comes from SIP code is checked here before it is used; an
//!   invalid one is a [`Trap`], never a panic.
//! - Everything that compiled code can reach through a context record keeps its address while the
//!   instance lives: a table that grows keeps its old elements readable.
//! - A [`Template`] refuses an image whose tables contradict each other, so that no later step
//!   needs to check them.
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
mod slot;
mod table;
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an image is made ready once, for all SIPs of it"
)]
mod template;
#[cfg(test)]
mod tests;
mod windows;
mod xtable;

pub use block::{Block, BlockCell};
pub use charged::{Charged, HEADER, Kernel, NoRoom, Payer};
pub use context::{Context, ContextParams, CtxRef, EntryPoint};
pub use copy::SipMemory;
pub use instance::{Elements, Instance, Reference};
pub use sing_abi::trap::Trap;
pub use table::Table;
pub use template::{FuncRecord, Preparation, Template, memory_cost};
pub use windows::{Window, Windows};
pub use xtable::{Entry, XTable};
