//! The shell's logic without its channels: the command language, and what has been typed of it.
//! Tested on the host.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod glob;
pub mod nearby;
pub mod parse;
pub mod paths;
pub mod typed;
pub mod variables;
