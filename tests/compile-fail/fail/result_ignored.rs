//! Dropping the endpoint closes the channel, and must be explicit.
#![deny(unsafe_code)]
use compile_fail::*;

#[deny(unused_must_use)]
fn ask(c: C1::Imp<C1::Start>) {
    c.send_request(1);
}

fn main() {}
