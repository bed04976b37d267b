//! An endpoint has no second owner.
#![deny(unsafe_code)]
use compile_fail::*;

fn twice(c: &C1::Imp<C1::Start>) -> C1::Imp<C1::Start> {
    c.clone()
}

fn main() {}
