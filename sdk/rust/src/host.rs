//! The part of the kernel that conversations need, within one process of the machine that builds:
//! channels, blocks of the exchange heap, sets of endpoints and events.
//!
//! It is there for tests. A test plays the other side of a program's conversation, with the same
//! types, or gives both sides to threads; there is no system and no kernel. Everything else that a
//! program could ask a kernel for (processes, devices, trees of blocks) ends the test with a message.
//!
//! ```
//! use sing_sdk::contracts::PipeContract;
//! use sing_sdk::rt::Vector;
//!
//! // What a program does with a pipe.
//! fn shout(pipe: PipeContract::Imp<PipeContract::Start>) {
//!     pipe.send_write(Vector::from_bytes(b"HELLO").unwrap());
//! }
//!
//! let (imp, exp) = PipeContract::new_channel().unwrap();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| shout(imp));
//!     let (data, exp) = exp.recv_write().unwrap();
//!     assert_eq!(data.to_vec(), b"HELLO");
//!     // The program has ended, and so has the conversation.
//!     assert!(exp.send_ack().recv_write().is_err());
//! });
//! ```
//!
//! Beside a peer that the test plays, there are mocks, which answer as the test says ([`Script`]; each
//! contract's module has one, `Mock`), and a name space in which programs find them ([`NameSpace`]).
//!
//! Invariants:
//! - A handle names one thing until it is given up, and no other one afterwards.
//! - The types keep the order of a conversation here, as no kernel does: a message is for the state
//!   that its receiver is in.
//! - No wait is for ever: one without a time-out ends the test after [`PATIENCE`], with what it waited
//!   for.

mod entries;
mod mock;
mod names;
mod world;

pub use entries::*;
pub use mock::{Came, Next, Player, Script, debug, played, shown};
pub use names::NameSpace;
pub use world::PATIENCE;

#[cfg(test)]
mod tests;
