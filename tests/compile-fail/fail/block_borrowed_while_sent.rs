//! A view of a block cannot outlive its send.
#![deny(unsafe_code)]
use compile_fail::*;

use sing_sdk::rt::{Block, Vector};

fn put(c: Store::Imp<Store::Start>, data: Vector<u8>) -> usize {
    let view: &Block = data.block();
    c.send_put(data, Point { x: 1, y: 2, colour: Colour::Green }).close();
    view.len()
}

fn main() {}
