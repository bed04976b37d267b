//! The shell's logic without its channels: the command language. Tested on the host.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod parse;
