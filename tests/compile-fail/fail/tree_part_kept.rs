//! A part of a tree that is read in place is lent, not given.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::rt::Record;

fn steal(mut tree: Record<Node>) -> Option<Record<Node>> {
    tree.with(|node| node.left).flatten()
}

fn main() {}
