//! The SDK for programs in Rust.
//!
//! A program is a SIP: `#![no_std]` with `alloc`, `#![no_main]`, no `unsafe` of its own, and
//! everything that it may do declared in its manifest:
//!
//! ```no_run,standalone_crate
//! #![no_std]
//! #![no_main]
//! #![forbid(unsafe_code)]
//!
//! use sing_sdk::prelude::*;
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
//! - The kernel's entry points are imported in `sys` and nowhere else; all other modules are safe
//!   to use with any argument.
//! - What owns a kernel object, an allocation or an endpoint gives it up when dropped, once.
#![no_std]

#[cfg(all(target_arch = "wasm32", not(sing_threads)))]
compile_error!(
    "this program is built without the flags that its threads need: they would share one stack and overwrite each other's \
     variables. Put these lines into `.cargo/config.toml`:\n\n\
     [target.wasm32-unknown-unknown]\n\
     rustflags = [\n    \
         \"-Ctarget-feature=+atomics\",\n    \
         \"-Clink-arg=--export=__stack_pointer\",\n    \
         \"-Clink-arg=--export-if-defined=sip_thread\",\n    \
         \"-Clink-arg=-zstack-size=16384\",\n    \
         \"-Clink-arg=--stack-first\",\n\
     ]\n\n\
     and see that no RUSTFLAGS in the environment takes their place"
);

extern crate alloc;
// Generated code names this crate from outside; the SDK's own contracts are generated code too.
extern crate self as sing_sdk;

// Builds for the host, by editors and tests, get their panic handler and their heap from there.
#[cfg(not(target_arch = "wasm32"))]
extern crate std;

#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
mod allocator;
mod compare;
#[allow(
    dead_code,
    reason = "every entry point of the kernel stands here, whoever needs it"
)]
mod sys;

pub mod args;
pub mod boot;
pub mod calendar;
pub mod client;
pub mod console;
pub mod contracts;
pub mod device;
pub mod dma;
pub mod door;
pub mod entropy;
pub mod error;
pub mod frames;
pub mod fs;
pub mod handle;
pub mod health;
pub mod heap;
#[cfg(not(target_arch = "wasm32"))]
pub mod host;
pub mod inspect;
pub mod io;
pub mod legacy;
pub mod names;
pub mod net;
pub mod panic;
pub mod path;
pub mod pattern;
pub mod plan;
pub mod process;
pub mod program;
pub mod provider;
pub mod rt;
pub mod select;
pub mod serve;
pub mod set;
pub mod share;
pub mod slots;
pub mod sync;
pub mod system;
pub mod thread;
pub mod time;
pub mod tree;
pub mod tref;
pub mod usage;
pub mod view;
pub mod walk;
pub mod watcher;
pub mod web;
#[cfg(feature = "wrong")]
pub mod wrong;

pub use allocator::reserve;
pub use error::Error;
pub use sing_macros::*;

/// The names that most programs want in scope.
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
