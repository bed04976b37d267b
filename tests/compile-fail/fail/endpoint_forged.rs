//! Endpoints come from channels and messages only.
#![deny(unsafe_code)]
use compile_fail::*;

fn forge(endpoint: sing_sdk::rt::Endpoint) -> C1::Imp<C1::Start> {
    C1::Imp { endpoint, state: core::marker::PhantomData }
}

fn main() {}
