//! The formats that the installer writes and the kernel reads.
//!
//! - [`limits`]: how large a module and its image may be, for verifier and kernel alike;
//! - [`meta`]: the tables that the run-time needs beside the code of a compiled module;
//! - [`manifest`]: a program's declarations;
//! - [`parameters`]: what may stand behind a program's name on a command line;
//! - [`contract`]: contract tables, which the kernel steps at every message;
//! - [`elf`]: the container of an installed image;
//! - [`lines`]: the places in a program's text that its code comes from;
//! - [`system`]: the system image that the kernel boots from;
//! - [`policy`]: the system manifest's policy for each service;
//! - [`plan`]: the order in which services start, inferred from what they serve and use;
//! - [`snapshot`]: the kernel's reports on itself;
//! - [`shown`]: how the names in all of these are shown to people.
//!
//! Invariant: everything that is decoded here is checked before use; a broken image yields an
//! [`Error`], never a panic.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod contract;
pub mod elf;
pub mod limits;
pub mod lines;
pub mod manifest;
pub mod meta;
pub mod parameters;
pub mod plan;
pub mod policy;
pub mod shown;
pub mod snapshot;
pub mod system;

use alloc::string::String;
use core::fmt;

/// The reason for which a file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The thing that was read, and its fault.
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

/// Why a step of reading or preparing has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The input is broken, and every further attempt would fail.
    Broken(Error),
    /// Memory is short; a later attempt may succeed.
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

/// For callers that read all at once and treat lack of memory as an error.
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
        // It may quote names of what was read.
        shown::Shown(&self.message).fmt(f)
    }
}

impl core::error::Error for Error {}
