//! What the commands for files and directories share: paths, errors, trees that are copied or
//! removed.
//!
//! The commands ask only for a channel to the name server. A path that begins with the place of a
//! file system leads to an open directory there ([`open`]), and requests go to that, with the rest
//! of the path. What is done to trees is written against [`tree::Tree`], so that it can be tested
//! on the host.
//!
//! Invariants:
//! - Memory does not grow with the number of entries of a directory, only with its depth, which the
//!   longest path bounds.
//! - A failure says the path that it is about, and the reason.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod alone;
pub mod copy;
pub mod ends;
pub mod failure;
pub mod moving;
pub mod open;
pub mod place;
pub mod program;
pub mod remove;
pub mod tree;
pub mod volume;

#[cfg(test)]
mod model;
