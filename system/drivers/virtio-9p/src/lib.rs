//! Directories of the host, as their drivers see them, without a device: a session of 9P2000.L, paths,
//! what the file contracts ask, and the channels of those who ask. Tested on the host, with servers
//! that lie.
//!
//! Invariants:
//! - The server is not trusted. What it answers is bounded and checked before it is used; an answer
//!   that cannot be one ends the session ([`Session::is_lost`]), and nothing that it says makes a
//!   client reach more than the directory that the client has.
//! - Each fid is given up exactly once.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod faults;
mod list;
mod recent;
mod serving;
mod session;
mod tree;
mod walk;

pub use list::shown;
pub use serving::{Announces, Server};
pub use session::{ANSWER, DATA, Failed, Lost, Moved, REQUEST, ROOT, Session, Transport};
pub use tree::{Opened, Wish};
pub use walk::Place;
