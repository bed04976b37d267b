//! To make an owner from a number is unsafe, and programs have no unsafe code.
#![deny(unsafe_code)]
use sing_sdk::rt::{Endpoint, Handle};

fn forge() -> Endpoint {
    Endpoint::from_raw(Handle::from_raw(42))
}

fn main() {}
