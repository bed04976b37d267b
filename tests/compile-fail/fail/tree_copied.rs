//! A value that owns blocks cannot be copied out of a block.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::rt::Record;

fn twice(tree: Record<Node>) -> Option<Node> {
    tree.get()
}

fn main() {}
