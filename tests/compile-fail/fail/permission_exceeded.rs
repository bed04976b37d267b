//! A message that a permission lacks cannot be sent.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::rt::Vector;

fn put(store: Lister::Imp<Lister::Start>, data: Vector<u8>) {
    let at = Point { x: 1, y: 2, colour: Colour::Red };
    store.send_put(data, at).close();
}

fn main() {}
