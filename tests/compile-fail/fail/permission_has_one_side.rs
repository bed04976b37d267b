//! A permission of one side has no endpoint for the other.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(store: Lister::Exp<Lister::Start>) {
    store.close();
}

fn main() {}
