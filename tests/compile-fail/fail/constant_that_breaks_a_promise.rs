//! Constants are checked against what the message requires.
#![deny(unsafe_code)]
use compile_fail::*;

pub fn ask(c: C1::Imp<C1::Start>) {
    drop(c.send_request_checked(const { C1::checked_request(0) }));
}

fn main() {
    let _ = ask as fn(_);
}
