//! Narrowing is permanent.
#![deny(unsafe_code)]
use compile_fail::*;

fn widen(store: Lister::Imp<Lister::Start>) -> Store::Imp<Store::Start> {
    store.into()
}

fn main() {}
