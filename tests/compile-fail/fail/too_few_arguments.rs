//! A message has all its arguments.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: C1::Imp<C1::Start>) {
    c.send_request().close();
}

fn main() {}
