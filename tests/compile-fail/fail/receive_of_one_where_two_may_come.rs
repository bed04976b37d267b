//! The short form is for states in which one message may come.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: C1::Imp<C1::Start>) {
    let _ = c.send_request(1).recv_reply();
}

fn main() {}
