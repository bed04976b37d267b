//! The formats that the installer writes and the kernel reads.
//!
//! - [`limits`]: how large a module and its image may be, for verifier and kernel alike;
//! - [`meta`]: what the run-time needs of a compiled module beside its code;
//! - [`manifest`]: what a program declares of itself;
//! - [`contract`]: contract tables, which the kernel steps at every message;
//! - [`elf`]: the container of an installed image;
//! - [`system`]: the system image that the kernel boots from;
//! - [`snapshot`]: what the kernel tells of itself.
//!
//! Invariant: everything that is decoded here is checked before use; a broken image yields an
//! [`Error`], never a panic.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod contract;
pub mod elf;
pub mod limits;
pub mod manifest;
pub mod meta;
pub mod snapshot;
pub mod system;

use alloc::string::String;
use core::fmt;

/// Why a file is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What was read, and what is wrong with it.
    pub message: String,
}

impl Error {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Error {
            message: message.into(),
        }
    }
}

/// Why something is not read on, or not made ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It is not what it should be, and never will.
    Broken(Error),
    /// There is no memory for it; later there may be.
    NoRoom,
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Broken(e)
    }
}

impl From<alloc::collections::TryReserveError> for Failure {
    fn from(_: alloc::collections::TryReserveError) -> Failure {
        Failure::NoRoom
    }
}

/// For those who read all at once, and have memory or end.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Broken(e) => e,
            Failure::NoRoom => Error::new("image: no memory to read it"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Error {}
