//! Only the importing side calls.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: C1::Exp<C1::Start_Request>) {
    let _ = c.call_reply(1);
}

fn main() {}
