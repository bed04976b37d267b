//! What Rust programs for Singularity use.
//!
//! A program is a SIP: `#![no_std]` with `alloc`, `#![no_main]`, no `unsafe` of its own, and everything that it may do
//! declared in its manifest:
//!
//! ```no_run
//! #![deny(unsafe_code)]
//!
//! use sing_sdk::prelude::*;
//! # use sing_sdk::println;
//!
//! sing_sdk::manifest! {
//!     name: "hello",
//!     description: "says hello",
//!     endpoints: { stdout: optional PipeContract.Imp:Start },
//! }
//!
//! #[sing_sdk::main]
//! fn main() {
//!     println!("Hello from a sealed process.");
//! }
//! ```
//!
//! Invariants:
//! - The kernel's entry points are imported in `sys` and nowhere else; all other modules are safe to use
//!   with any argument.
//! - What owns a kernel object, an allocation or an endpoint gives it up when dropped, once.
#![no_std]

extern crate alloc;
// Generated code names this crate from outside; the SDK's own contracts are generated code too.
extern crate self as sing_sdk;

#[cfg(test)]
extern crate std;

#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
mod allocator;
#[allow(dead_code)]
mod sys;

pub mod args;
pub mod boot;
pub mod console;
pub mod contracts;
pub mod error;
pub mod handle;
pub mod heap;
pub mod inspect;
pub mod io;
pub mod names;
pub mod panic;
pub mod path;
pub mod process;
pub mod rt;
pub mod select;
pub mod set;
pub mod sync;
pub mod system;
pub mod thread;
pub mod time;
pub mod tree;
pub mod tref;
pub mod view;
#[cfg(feature = "wrong")]
pub mod wrong;

pub use error::Error;
pub use sing_macros::*;

/// What most programs want in scope.
pub mod prelude {
    pub use crate::contracts::*;
    pub use crate::error::Error;
    pub use crate::rt::{Block, Closed, Text, Vector, Waitable};
    pub use crate::set::EndpointSet;
    pub use crate::switch_receive;
    pub use crate::{eprintln, print, println};
    pub use alloc::borrow::ToOwned;
    pub use alloc::boxed::Box;
    pub use alloc::format;
    pub use alloc::string::{String, ToString};
    pub use alloc::vec;
    pub use alloc::vec::Vec;
}
