//! A call is for states in which the other side sends next.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: Base::Exp<Base::Start>) {
    let _ = c.call_success();
}

fn main() {}
