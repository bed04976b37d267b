//! What a client of HTTP needs: the addresses of files, and what servers answer. Used by `get`, and by
//! the service that sends spans.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod response;
pub mod url;
