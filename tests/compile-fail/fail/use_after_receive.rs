//! A receive takes the endpoint.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: C1::Exp<C1::Start>) {
    drop(c.recv());
    drop(c.recv());
}

fn main() {}
