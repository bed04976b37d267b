//! In the end state, only the close is left.
#![deny(unsafe_code)]
use compile_fail::*;

fn end(c: Store::Imp<Store::Closed>) {
    let _ = c.recv();
}

fn main() {}
