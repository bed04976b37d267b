//! Who serves does not know of permissions.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(store: Lister::Exp<Lister::Start>) {
    store.close();
}

fn main() {}
