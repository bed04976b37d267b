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
//! Calls are bytes. With a program that speaks a contract of its own the host can talk by that, message by
//! message, over an endpoint whose type says what may be sent and what may come ([`contract!`],
//! [`Program::connect`]).
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
//! - A future that is dropped before its call is over ends the call's process; so does one of a receive, and an
//!   endpoint that is dropped.
#![forbid(unsafe_code)]

mod block;
mod call;
mod directory;
mod error;
mod link;
mod system;
mod value;
mod words;

/// The parts of which `contract!` makes a contract's types, and the functions for C what they say. Programs name none
/// of them.
#[doc(hidden)]
pub mod rt {
    pub use crate::block::Maybe;
    pub use crate::link::{Any, Contract, Incoming, Link, Outgoing, Wanted, Words};
    pub use crate::value::{Argument, Value};
    pub use sing_calls::{Endpoint as Asking, MESSAGE};
    pub use sing_hosted::Held;
}

pub use block::{Record, Text, Vector};
pub use call::{Call, Process, Program};
pub use directory::Access;
pub use error::Error;
pub use link::{Endpoint, Receiving};
pub use sing_hosted::embed::Image;
pub use system::{Options, System};
pub use value::Plain;

/// Makes Rust types of contracts, for a program that has the system inside.
///
/// ```no_run
/// use sing_embed::{Error, System};
///
/// sing_embed::contract!(
///     "
///     contract PingContract {
///         in message Ping(uint number);
///         out message Pong(uint number);
///         state Start: Ping? -> Pong! -> Start;
///     }
///     "
/// );
///
/// fn ping(system: &System) -> Result<u32, Error> {
///     let peer: PingContract::Imp<PingContract::Start> =
///         system.program("pong").connect("peer")?;
///     let (number, peer) = peer.send_ping(7)?.recv_pong()?;
///     // The next one, as a future: `peer.begin_call_ping(8).await`.
///     let PingContract::imp::Start_Ping::Pong(number, _peer) = peer.call_ping(number)?;
///     Ok(number)
/// }
/// ```
///
/// What is given is as in `sing_sdk::contract!`: paths relative to the package, or the contract itself. For each
/// contract `C` a module `C` arises, with the same names as programs of the system have:
///
/// - a type for each state: `C::Start`, and `C::Start_Ping` for the one between the steps of a sequence;
/// - `C::Imp<'s, S>` and `C::Exp<'s, S>`: the endpoints in state `S`, of which [`Program::connect`] makes one, with a
///   process at its other end. They live as long as the system is borrowed;
/// - in a state in which a side sends, `send_m(self, …)`, which returns the endpoint in its next state;
/// - in a state in which a side receives, `recv(self)`, which returns `C::imp::S` or `C::exp::S`: an enum with a
///   variant for each message that may come, holding what it brings and the endpoint in its next state. If just one
///   message may come, also `recv_m(self)`. `begin_recv(self)` is the future of the same;
/// - in a state in which a side sends and the other speaks next, `call_m(self, …)`, both in one, and
///   `begin_call_m(self, …)` as a future.
///
/// All of them fail with an [`Error`] that says what has become of the process; the endpoint is gone then, and the
/// process has ended. A message out of turn does not compile:
///
/// ```compile_fail,E0599
/// # sing_embed::contract!(
/// #     "contract PingContract { in message Ping(uint number); out message Pong(uint number);
/// #      state Start: Ping? -> Pong! -> Start; }"
/// # );
/// fn twice(peer: PingContract::Imp<'_, PingContract::Start>) -> Result<(), sing_embed::Error> {
///     peer.send_ping(1)?.send_ping(2)?;
///     Ok(())
/// }
/// ```
///
/// Numbers, enums and structures of these are sent and received as they are. `T[] in ExHeap` is sent as `&[T]`,
/// `char[]` as `&str`, `T* in ExHeap` as `&T`, and received as [`Vector`], [`Text`] and [`Record`], which are read where
/// they lie. Contracts with messages that bring endpoints, or blocks within structures, get no module.
pub use sing_macros::embed_contract as contract;

/// The most bytes of a call.
pub const MOST_BYTES: usize = sing_calls::MOST;
/// The most bytes of an answer.
pub const MOST_ANSWER: usize = sing_calls::ANSWER;
