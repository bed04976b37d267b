//! What came as a base contract must be checked before it is used as a derived one.
#![deny(unsafe_code)]
use compile_fail::*;

fn work(service: Base::Imp<Base::Start>) -> Derived::Imp<Derived::Start> {
    service.into()
}

fn main() {}
