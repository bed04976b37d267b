//! A block that was sent belongs to the receiver.
#![deny(unsafe_code)]
use compile_fail::*;

use sing_sdk::rt::Vector;

fn put(c: Store::Imp<Store::Start>, data: Vector<u8>) -> usize {
    let at = Point { x: 1, y: 2, colour: Colour::Red };
    c.send_put(data, at).close();
    data.block().len()
}

fn main() {}
