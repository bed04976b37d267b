//! A borrowed endpoint cannot be sent on.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: &C1::Imp<C1::Start>) {
    c.send_request(1).close();
}

fn main() {}
