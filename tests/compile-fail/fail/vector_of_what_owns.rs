//! What owns something cannot lie in a vector.
#![deny(unsafe_code)]
use sing_sdk::rt::{Text, Vector};

fn nested(v: Vector<Text>) -> Vector<Text> {
    v
}

fn main() {}
