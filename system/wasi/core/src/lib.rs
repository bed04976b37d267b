//! WASI preview 1: what ordinary programs call, in terms of the system's contracts.
//!
//! A [`Wasi`] is one program's world: its arguments, its environment and its descriptors. Each
//! function of preview 1 is a method of the same name, in the same order of arguments; an export of
//! the adapter is nothing but a call of it.
//!
//! Invariants:
//! - No address of the program's is used before its range has been compared with the program's
//!   memory, each time anew: a call may write over the very list that it goes through.
//! - A call copies data in pieces of at most [`PIECE`] bytes, so what it takes of memory does not
//!   depend on what the program asks for.
//! - A path is a text below a directory that the program has open; that none leads out of it, the
//!   directory's server sees to. Absolute ones are refused here.
//! - There are at most [`DESCRIPTORS`] descriptors.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod abi;
pub mod cgi;
pub mod chance;
mod clock;
pub mod component;
mod data;
mod directory;
pub mod errno;
mod exports;
pub mod host;
mod memory;
mod names;
pub mod net;
mod path;
mod poll;
mod random;
pub mod running;
pub mod settings;
pub mod sing;
mod socket;
mod stat;
mod strings;
mod table;
pub mod tcp;
mod unstable;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use errno::Errno;
use host::Host;
use table::Table;

pub use table::DESCRIPTORS;

/// The largest piece in which data moves.
pub const PIECE: usize = 64 << 10;

/// A program's world.
pub struct Wasi<H: Host> {
    host: H,
    arguments: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
    table: Table<H>,
    chance: random::Pool,
    /// How many directories the program has got from outside so far: the number of the next.
    origins: u32,
}

impl<H: Host> core::fmt::Debug for Wasi<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Wasi").finish_non_exhaustive()
    }
}

impl<H: Host> Wasi<H> {
    /// A program without descriptors.
    #[must_use]
    pub fn new(host: H, arguments: Vec<Vec<u8>>, environment: Vec<Vec<u8>>) -> Self {
        Wasi {
            host,
            arguments,
            environment,
            table: Table::new(),
            chance: random::Pool::new(),
            origins: 0,
        }
    }

    /// What it runs on.
    pub const fn host(&mut self) -> &mut H {
        &mut self.host
    }

    /// `sched_yield`.
    ///
    /// # Errors
    /// None.
    pub fn sched_yield(&mut self) -> errno::Result {
        self.host.pause();
        Ok(())
    }

    /// `proc_raise`: there are no signals.
    ///
    /// # Errors
    /// Always.
    pub const fn proc_raise(&mut self, _signal: u32) -> errno::Result {
        Err(Errno::Notsup)
    }
}
