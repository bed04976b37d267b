//! An endpoint's state cannot be set by hand.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::rt::TypedEndpoint;

fn skip(c: C1::Imp<C1::Start>) -> C1::Imp<C1::Start_Request> {
    C1::Imp::in_state(c.into_endpoint())
}

fn main() {}
