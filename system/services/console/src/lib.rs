//! The console's logic without its channels: the effect of keys on a line, and of output on a
//! screen. Tested on the host.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod editor;
pub mod emulator;
pub mod grid;
pub mod history;
pub mod keys;
pub mod typing;
pub mod width;
