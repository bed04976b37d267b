//! An endpoint that came as one of a base must be cast before it is used as a derived one.
#![deny(unsafe_code)]
use compile_fail::*;

fn work(service: Base::Imp<Base::Start>) -> Derived::Imp<Derived::Start> {
    service.into()
}

fn main() {}
