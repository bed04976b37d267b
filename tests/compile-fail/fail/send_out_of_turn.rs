//! After a question, the next step is a receive.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: C1::Imp<C1::Start>) {
    c.send_request(1).send_request(2).close();
}

fn main() {}
