//! An endpoint has an owner and a queue: it cannot lie in a block.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::rt::Vector;

fn nested(v: Vector<Echo::Imp<Echo::Start>>) -> Vector<Echo::Imp<Echo::Start>> {
    v
}

fn main() {}
