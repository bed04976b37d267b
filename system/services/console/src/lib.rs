//! The console's logic without its channels: the effect of keys on a line. Tested on the host.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod editor;
pub mod keys;
