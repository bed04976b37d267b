//! Arguments have the types of the contract.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: C1::Imp<C1::Start>) {
    c.send_request("one").close();
}

fn main() {}
