//! A send takes the endpoint; it lives on in its next state only.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: C1::Imp<C1::Start>) {
    c.send_request(1).close();
    c.send_request(2).close();
}

fn main() {}
