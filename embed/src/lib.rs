//! The system inside a Rust program: a sealed process for each call.
//!
//! ```no_run
//! use sing_embed::{Image, System};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let system = System::start(&Image::open("plugins.img".as_ref())?)?;
//! let plugin = system
//!     .program("upper")
//!     .memory(1 << 20)
//!     .time(Duration::from_millis(20))
//!     .deadline(Duration::from_millis(50));
//! // A process of its own for this call: it can crash, loop or be hostile, and is gone afterwards.
//! assert_eq!(plugin.call(b"hello")?, b"HELLO");
//! // One that is kept, and asked twice.
//! let mut kept = plugin.open()?;
//! kept.call(b"one")?;
//! kept.call(b"two")?;
//! # Ok(())
//! # }
//! ```
//!
//! The system runs on a thread of its own and has memory of its own within this process; its
//! programs are isolated by verified code, and reach nothing of the process that they are not
//! given. It touches no standard stream, its signals stand beside the program's own handlers, and
//! all of it is given back when [`System`] is dropped.
//!
//! Layers, from top to bottom: [`System`], [`Program`] and [`Process`] here; the port of
//! `sing_hosted`, where requests wait for the kernel; in the kernel `object::calls`, which makes a
//! process for each; and the program, which serves `CallContract`.
//!
//! Invariants:
//! - A call that has returned has left nothing in the system but what it was counted for: a process
//!   of its own has ended, and all that it had is free.
//! - A process reaches of the host what its call was given ([`Program::dir`]), and has it no longer
//!   than until it is over.
//! - A future that is dropped before its call is over ends the call's process.
#![forbid(unsafe_code)]

mod call;
mod directory;
mod error;
mod system;
mod words;

pub use call::{Call, Process, Program};
pub use directory::Access;
pub use error::Error;
pub use sing_hosted::embed::Image;
pub use system::{Options, System};

/// The most bytes of a call.
pub const MOST_BYTES: usize = sing_calls::MOST;
/// The most bytes of an answer.
pub const MOST_ANSWER: usize = sing_calls::ANSWER;
